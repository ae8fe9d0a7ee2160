# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Packages: how they are told apart, built, installed and removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fake_kernel import BASE_FILES, MAKEFILE, fake_program, make_fetched, write

from schedshard.common.errors import UserError
from schedshard.kernel.build import deb as deb_module
from schedshard.kernel.build.deb import DebRequest, Packages, deb, package_version, sort_packages
from schedshard.kernel.build.deb_try import (
    debootstrap,
    expected_files,
    mirror_of,
    package_name,
    try_install,
)
from schedshard.kernel.layout import Layout

IMAGE = Path("linux-image-6.12.117-schedshard_6.12.117-1_amd64.deb")
HEADERS = Path("linux-headers-6.12.117-schedshard_6.12.117-1_amd64.deb")
LIBC = Path("linux-libc-dev_6.12.117-1_amd64.deb")

# Like the kernel's packaging: files beside the build folder, with the built contents.
BINDEB = """\
bindeb-pkg:
	@echo "  CC      a.o"
	@for name in linux-image-1$(LOCALVERSION) linux-headers-1$(LOCALVERSION) linux-libc-dev; do \\
		echo $(DPKG_FLAGS) > $(O)/../$$name\\_$(KDEB_PKGVERSION)_amd64.deb; done
	@echo > $(O)/../linux-schedshard_amd64.changes
"""


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setitem(BASE_FILES, "Makefile", MAKEFILE + BINDEB)
    made = make_fetched(tmp_path, monkeypatch)
    for name in deb_module._TOOLS:
        fake_program(tmp_path / "bin", name, "exit 1")
    return made


def test_which_is_which() -> None:
    assert sort_packages([HEADERS, IMAGE, LIBC], 1.0) == Packages(IMAGE, HEADERS, (LIBC,), 1.0)
    debug = Path("linux-image-6.12.117-schedshard-dbg_6.12.117-1_amd64.deb")
    assert sort_packages([debug, IMAGE], 1.0) == Packages(IMAGE, None, (debug,), 1.0)


@pytest.mark.parametrize("paths", [[], [HEADERS], [IMAGE, IMAGE]])
def test_no_image_or_two(paths: list[Path]) -> None:
    with pytest.raises(UserError, match="expected one linux-image"):
        sort_packages(paths, 1.0)


def test_name_and_release() -> None:
    assert package_name(IMAGE) == ("linux-image-6.12.117-schedshard", "6.12.117-schedshard")
    with pytest.raises(UserError, match="is not a package of a kernel"):
        package_name(LIBC)


def test_version_is_the_bases() -> None:
    assert package_version("6.12.117-1~deb12u1") == "6.12.117-1"


def test_packages_go_to_their_folder(layout: Layout, tmp_path: Path) -> None:
    made = deb(layout, DebRequest("shard", "lab", tmp_path / "out"))
    assert made.image == tmp_path / "out/linux-image-1-schedshard_1.0.4-1_amd64.deb"
    assert made.headers == tmp_path / "out/linux-headers-1-schedshard_1.0.4-1_amd64.deb"
    assert [path.name for path in made.others] == ["linux-libc-dev_1.0.4-1_amd64.deb"]
    # Nothing stays in the source, which would no longer be the series' tree.
    assert not list(layout.source("shard-deb").glob("linux-*"))
    assert not layout.source("shard").exists()


def test_users_configuration(layout: Layout, tmp_path: Path) -> None:
    file = write(tmp_path / "config-6.1", "CONFIG_MODULES=y\n")
    deb(layout, DebRequest("shard", str(file)))
    config = layout.objects("shard-deb", "user-config-6.1") / ".config"
    assert config.read_text(encoding="ascii") == "CONFIG_MODULES=y\n"


def test_missing_tool(layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin/dh_builddeb").unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(UserError, match=r"dh_builddeb not found: .*\(Debian's debhelper\)"):
        deb(layout, DebRequest("shard", "lab"))


def test_mirror_of_this_host() -> None:
    said = "http://a.example/debian bookworm main DEP-11\nhttp://b.example/x trixie main Packages\n"
    assert mirror_of(said) is None
    said += "http://c.example/debian bookworm main Packages\n"
    assert mirror_of(said) == "http://c.example/debian"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_what_debootstrap_mounts_ends_with_it(layout: Layout, tmp_path: Path) -> None:
    """A killed debootstrap leaves no mount: removing its folder must not reach the host's /proc."""
    root = layout.work / "root"
    (root / "proc").mkdir(parents=True)
    script = 'mount -t proc proc "$3/proc" && cp "$3/proc/self/stat" "$3/seen"; kill -9 $$'
    fake_program(tmp_path / "bin", "debootstrap", script)
    with pytest.raises(UserError, match="debootstrap of bookworm"):
        debootstrap("bookworm", root)
    assert (root / "seen").exists()
    assert not list((root / "proc").iterdir())


def trial(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, install: str, purge: str
) -> None:
    """A trial with stand-ins: chroot runs one script at the installation and one at the end."""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    fake_program(tmp_path / "bin", "unshare", 'shift; exec "$@"')  # which only root may
    fake_program(tmp_path / "bin", "debootstrap", 'mkdir -p "$3/boot" "$3/tmp"')
    script = f'cd "$1"; case " $* " in *" -i "*) {install};; *" --purge "*) {purge};; esac'
    fake_program(tmp_path / "bin", "chroot", script)
    image = write(tmp_path / IMAGE, "")
    try_install(layout, Packages(image, None, (), 0.0))


FILES = " ".join(expected_files("6.12.117-schedshard", headers=False))


def test_installed_and_removed(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial(layout, tmp_path, monkeypatch, f"touch {FILES}", f"rm {FILES}")
    assert [path.name for path in layout.work.glob("*root*")] == ["root-bookworm"]
    assert not list(layout.work.glob(".trial*"))


@pytest.mark.parametrize(
    ("install", "purge", "words"),
    [
        ("true", "true", "installed there is no /boot/vmlinuz-6.12.117-schedshard"),
        (f"touch {FILES}", "true", "removed there still is /boot/vmlinuz-6.12.117-schedshard"),
        ("echo no such section >&2; exit 1", "true", "installing the packages: no such section"),
    ],
)
def test_trial_that_goes_wrong(
    layout: Layout,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    install: str,
    purge: str,
    words: str,
) -> None:
    with pytest.raises(UserError, match=words):
        trial(layout, tmp_path, monkeypatch, install, purge)
    assert not list(layout.work.glob(".trial*"))


def test_trial_needs_root(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(UserError, match="needs root"):
        try_install(layout, Packages(IMAGE, None, (), 0.0))
