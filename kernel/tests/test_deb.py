# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Packages have names that tell them apart, the base's version, and their own folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_kernel import BASE_FILES, MAKEFILE, fake_program, make_fetched

from common.errors import UserError
from kernel.build import deb as deb_module
from kernel.build.deb import DebRequest, Packages, deb, package_version, sort_packages
from kernel.layout import Layout

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
