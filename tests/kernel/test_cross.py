# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Kernels for architectures that nobody boots here: what is compiled, with which options."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_kernel import VARIANTS, fake_program, make_fetched, write, write_series

from schedshard.common.errors import UserError
from schedshard.kernel.arch import Target
from schedshard.kernel.build import cross as module
from schedshard.kernel.build.config import options
from schedshard.kernel.build.cross import (
    CROSS,
    Cross,
    Sections,
    compile_cross,
    configuration_of,
    parse_size,
)
from schedshard.kernel.build.make import Make
from schedshard.kernel.layout import Layout
from schedshard.kernel.source.recipe import load_recipe

SIZE = "   text\t   data\t    bss\t    dec\t    hex\tfilename\n 100\t 20\t 3\t 123\t 7b\tvmlinux\n"


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    made = make_fetched(tmp_path, monkeypatch)
    write_series(made, variants=f'{VARIANTS}config = ["shard"]\n', steps=STEP_WITH_LIBRARY)
    write(made.inputs / "config/cross.config", "CONFIG_WERROR=y\nCONFIG_KUNIT=y\n")
    write(made.inputs / "config/shard.config", "CONFIG_TESTS=y\n")
    for tool, says in (("gcc", "echo 12.2.0"), ("ld", ""), ("size", f"printf '{SIZE}'")):
        fake_program(tmp_path / "bin", f"pdp-linux-gnu-{tool}", says)
    kernels = {
        "pdp": Cross("36 bit", Target("pdp", "pdp-linux-gnu-")),
        "pdp-tiny": Cross("one CPU", Target("pdp", "pdp-linux-gnu-"), "tinyconfig", linked=True),
    }
    monkeypatch.setattr(module, "CROSS", kernels)
    return made


STEP_WITH_LIBRARY = """\
[[step]]
name = "01-shard"
changelog = "changelog/01.txt"
overlay = ["lib/schedshard/Makefile"]
"""


def _made(layout: Layout, tree: str) -> list[str]:
    text = layout.log(tree).read_text(encoding="utf-8")
    return [line.split()[1] for line in text.splitlines() if line.startswith("  CC ")]


def test_objects_that_the_series_touches(layout: Layout) -> None:
    done = compile_cross(layout, "pdp", "shard")
    assert (done.compiler, done.made.files, done.sections) == ("pdp-linux-gnu-gcc 12.2.0", 1, None)
    assert _made(layout, "shard-cross-pdp") == ["kernel/sched/"]
    command = layout.log("shard-cross-pdp").read_text(encoding="utf-8").splitlines()[0]
    assert "ARCH=pdp CROSS_COMPILE=pdp-linux-gnu- " in command
    chosen = options((layout.objects("shard", "cross-pdp") / ".config").read_text(encoding="utf-8"))
    assert chosen == {
        "CONFIG_USUAL_pdp": "y", "CONFIG_WERROR": "y", "CONFIG_KUNIT": "y", "CONFIG_TESTS": "y",
    }  # fmt: skip


def test_small_kernels_are_linked_and_measured(layout: Layout) -> None:
    done = compile_cross(layout, "pdp-tiny", "shard")
    assert done.sections == Sections(100, 20, 3)
    assert "vmlinux" in _made(layout, "shard-cross-pdp-tiny")


def test_a_kernel_takes_options_back(layout: Layout) -> None:
    own = write(layout.inputs / "config/cross/pdp.config", "# CONFIG_TESTS is not set\n")
    variant = load_recipe(layout).variant("shard")
    found = configuration_of(layout, "pdp", variant).fragments
    assert (found[-1], len(found)) == (own, 3)
    compile_cross(layout, "pdp", "shard")


def test_a_warning_is_an_error(layout: Layout) -> None:
    write(layout.inputs / "overlay/kernel/new.c", "")
    append = 'append = [{ file = "kernel/sched/rt.c", lines = ["warns"] }]'
    write_series(layout, f'[[step]]\nname = "01"\nchangelog = "changelog/01.txt"\n{append}\n')
    with pytest.raises(UserError, match=r"building shard-cross-pdp failed: .*rt\.c:1:1: error:"):
        compile_cross(layout, "pdp", "shard")


def test_no_cross_compiler(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Cross("", Target("pdp", "pdp11-linux-gnu-"))
    monkeypatch.setattr(module, "CROSS", {"pdp11": missing})
    words = (
        "pdp11-linux-gnu-gcc, pdp11-linux-gnu-size not found: run 'scripts/bootstrap kernel cross' "
        r"\(Debian's binutils-pdp11-linux-gnu, gcc-pdp11-linux-gnu\)"
    )
    with pytest.raises(UserError, match=words):
        compile_cross(layout, "pdp11", "shard")
    assert not layout.source("shard").exists()


def test_what_size_says() -> None:
    assert parse_size(SIZE) == Sections(100, 20, 3)


def test_make_is_told_an_architecture_of_this_hosts_compiler() -> None:
    argv = Make(Path("s"), Path("o"), "log", arch=Target("i386", "")).argv(["vmlinux"])
    assert {"ARCH=i386", "CROSS_COMPILE=", "CC=ccache gcc"} < {*argv}


def test_every_kernel_of_the_project_has_options_that_say_what_for() -> None:
    folder = Layout().inputs / "config" / "cross"
    files = sorted(folder.glob("*.config"))
    assert {path.stem for path in files} <= set(CROSS)
    for path in files:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[1].startswith("# "), path.name
        assert options("\n".join(lines)), path.name


def test_kernels_with_one_cpu_take_back_what_needs_several() -> None:
    folder = Layout().inputs / "config"
    needs = options((folder / "shard.config").read_text(encoding="utf-8"))
    alone = [name for name, one in CROSS.items() if "one CPU" in one.words]
    assert {"m68k", "i386-tiny"} <= set(alone)
    for path in (folder / "no-smp.config", *(folder / f"cross/{name}.config" for name in alone)):
        taken = options(path.read_text(encoding="utf-8"))
        assert {name: taken.get(name) for name in needs} == dict.fromkeys(needs, "n"), path.name
