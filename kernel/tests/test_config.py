# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A configuration merges its fragments in order, and an option without effect is an error."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from fake_kernel import LINUX, make_fetched, write

from common.errors import UserError
from kernel.arch import ARM64
from kernel.build import config
from kernel.build.config import configure, fragment_names, ineffective, options, resolve
from kernel.layout import Layout
from kernel.source.apply import apply


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    made = make_fetched(tmp_path, monkeypatch)
    apply(made, "stock")
    return made


def test_options_of_a_fragment() -> None:
    text = '# comment\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C="x=y"\nCONFIG_A=m\n\nA=y\n'
    assert options(text) == {"CONFIG_A": "m", "CONFIG_B": "n", "CONFIG_C": '"x=y"'}


def test_what_did_not_take_effect() -> None:
    asked = {"CONFIG_A": "y", "CONFIG_B": "n", "CONFIG_C": "512", "CONFIG_D": "n"}
    outcome = {"CONFIG_B": "y", "CONFIG_C": "64"}
    assert ineffective(asked, outcome) == [
        "CONFIG_A=y, is n",
        "CONFIG_B=n, is y",
        "CONFIG_C=512, is 64",
    ]


def test_order_of_fragments(layout: Layout) -> None:
    for name in ("shard", "kasan", "no-numa"):
        write(layout.inputs / f"config/{name}.config", "")

    def names(text: str) -> list[str]:
        return [path.stem for path in resolve(layout, text, ("shard",)).fragments]

    assert names("lab") == ["lab", "shard"]
    assert names("kasan") == ["lab", "shard", "kasan"]
    assert names("lab+kasan+no-numa") == ["lab", "shard", "kasan", "no-numa"]


def test_a_series_of_linux_has_options_of_its_own(layout: Layout) -> None:
    old = write(layout.inputs / f"config/linux-{LINUX}/lab.config", "CONFIG_OLD=y\n")
    write(layout.inputs / "config/linux-2.1/lab.config", "CONFIG_NEW=y\n")
    assert resolve(layout, "lab").fragments == (layout.inputs / "config/lab.config", old)
    assert fragment_names(layout) == ["lab"]


def test_an_architecture_has_options_and_build_trees_of_its_own(layout: Layout) -> None:
    write(layout.inputs / "config/x86/lab.config", "CONFIG_X86=y\n")
    own = write(layout.inputs / "config/arm64/lab.config", "CONFIG_ARM=y\n")
    configuration = resolve(replace(layout, arch=ARM64), "lab")
    assert configuration.fragments == (layout.inputs / "config/lab.config", own)
    assert (configuration.name, resolve(layout, "lab").name) == ("lab-arm64", "lab")


def test_fragments_are_merged_in_order(layout: Layout) -> None:
    write(layout.inputs / "config/no-smp.config", "# CONFIG_SMP is not set\n")
    path = configure(layout, "stock", resolve(layout, "no-smp"))
    assert options(path.read_text(encoding="utf-8"))["CONFIG_SMP"] == "n"
    assert layout.objects_link("stock", "no-smp").resolve() == path.parent.resolve()


def test_option_that_the_kernel_drops(layout: Layout) -> None:
    write(layout.inputs / "config/more.config", "CONFIG_UNKNOWN=y\n")
    with pytest.raises(UserError, match="the kernel does not take CONFIG_UNKNOWN=y, is n"):
        configure(layout, "stock", resolve(layout, "more"))
    assert not layout.objects("stock", "more").exists()
    assert configure(layout, "stock", resolve(layout, "more"), strict=False).is_file()


def test_compressor_of_the_image_is_missing(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "lzop" else f"/bin/{name}")
    write(layout.inputs / "config/lab.config", "CONFIG_SMP=y\nCONFIG_KERNEL_LZO=y\n")
    with pytest.raises(UserError, match=r"^lzop not found: run 'scripts/bootstrap kernel'"):
        configure(layout, "stock", resolve(layout, "lab"))
    assert not layout.objects("stock", "lab").exists()


def test_same_configuration_keeps_its_time(layout: Layout) -> None:
    path = configure(layout, "stock", resolve(layout, "lab"))
    before = path.stat().st_mtime_ns
    assert configure(layout, "stock", resolve(layout, "lab")).stat().st_mtime_ns == before
    write(layout.inputs / "config/lab.config", "CONFIG_SMP=y\nCONFIG_MORE=y\n")
    assert configure(layout, "stock", resolve(layout, "lab")).stat().st_mtime_ns != before


def test_users_file_is_taken_as_it_is(layout: Layout, tmp_path: Path) -> None:
    file = write(tmp_path / "config-6.1.0-40-amd64", "CONFIG_A=y\nCONFIG_UNKNOWN=y\n")
    configuration = resolve(layout, str(file), ("shard",))
    assert configuration.name == "user-config-6.1.0-40-amd64"
    path = configure(layout, "stock", configuration)
    assert path.read_text(encoding="utf-8") == "CONFIG_A=y\n"


def test_only_the_modules_that_a_machine_has_loaded(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's own localmodconfig reads the list."""
    makefile = layout.source("stock") / "Makefile"
    makefile.chmod(0o644)
    makefile.write_text(makefile.read_text() + "localmodconfig:\n\t@cat $(LSMOD) >>$(O)/.config\n")
    write(layout.inputs / "config/host.config", 'CONFIG_NAMELESS=""\n')
    loaded = write(tmp_path / "lsmod", "CONFIG_XFS=m\n")
    file = write(tmp_path / "config-6.1.0-40-amd64", "CONFIG_A=y\nCONFIG_XFS=m\nCONFIG_UNKNOWN=m\n")
    path = configure(layout, "stock", resolve(layout, str(file), modules=loaded))
    assert path.read_text() == 'CONFIG_A=y\nCONFIG_XFS=m\n\nCONFIG_NAMELESS=""\nCONFIG_XFS=m\n'
    monkeypatch.setattr(config, "_LOADED", tmp_path / "none")
    monkeypatch.setattr("platform.release", lambda: "0.0")
    with pytest.raises(UserError, match=r"--modules|--config"):
        resolve(layout, "host")
    with pytest.raises(UserError, match="--modules is for --config host or a file, not lab"):
        resolve(layout, "lab", modules=loaded)
    with pytest.raises(UserError, match=r"no file .*/none with the modules"):
        resolve(layout, "host", modules=tmp_path / "none")
