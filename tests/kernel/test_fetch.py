# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The base: one version, byte for byte, whole or absent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fake_kernel import BASE_FILES, contents, make_fetched, make_project, say_version, write_base

from schedshard.errors import UserError
from schedshard.kernel import base as base_module
from schedshard.kernel.base import fetch, require_base
from schedshard.kernel.layout import Layout


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    return make_project(tmp_path, monkeypatch)


def refused(layout: Layout, pattern: str) -> None:
    """The stage fails with these words and leaves nothing that could pass for a base."""
    with pytest.raises(UserError, match=pattern) as caught:
        fetch(layout)
    assert caught.value.status == 2
    assert "\n" not in str(caught.value)
    sources = layout.work / "src"
    assert not sources.exists() or list(sources.iterdir()) == []
    with pytest.raises(UserError, match="kernel fetch"):
        require_base(layout)


def test_unpacks_once(layout: Layout) -> None:
    assert fetch(layout)
    assert contents(layout.base) == {name: text.encode() for name, text in BASE_FILES.items()}
    assert not fetch(layout)


def test_package_of_another_version(layout: Layout, tmp_path: Path) -> None:
    say_version(tmp_path / "bin", version="1.0-2")
    refused(layout, r"linux-fake is version 1\.0-2, the series is for 1\.0-1")


def test_package_that_was_removed(layout: Layout, tmp_path: Path) -> None:
    say_version(tmp_path / "bin", status="config-files")
    refused(layout, "linux-fake is not installed")


def test_package_that_dpkg_does_not_know(layout: Layout, tmp_path: Path) -> None:
    (tmp_path / "bin/dpkg-query").write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    refused(layout, "linux-fake is not installed")


def test_tarball_with_another_hash(layout: Layout, tmp_path: Path) -> None:
    write_base(layout, tmp_path / "linux-fake.tar.xz", sha256="0" * 64)
    refused(layout, r"has sha256 [0-9a-f]{16}\.\.\., expected 0000000000000000\.\.\.")


def test_tarball_that_is_missing(layout: Layout, tmp_path: Path) -> None:
    (tmp_path / "linux-fake.tar.xz").unlink()
    refused(layout, r"cannot read .*linux-fake\.tar\.xz: no such file")


def test_tarball_that_is_cut_off(layout: Layout, tmp_path: Path) -> None:
    tarball = tmp_path / "linux-fake.tar.xz"
    tarball.write_bytes(tarball.read_bytes()[:100])
    write_base(layout, tarball)
    refused(layout, r"unpacking .*linux-fake\.tar\.xz: ")


def test_tarball_of_something_else(layout: Layout, tmp_path: Path) -> None:
    path = layout.inputs / "base.toml"
    path.write_text(
        re.sub('top = ".*"', 'top = "other"', path.read_text(encoding="ascii")), encoding="ascii"
    )
    refused(layout, "has no other/Makefile")


def test_no_disk_space(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_module, "free_mb", lambda path: 1)
    refused(layout, "no room to unpack the kernel: 1 MB free in .*, 2 MB needed")


def test_no_xz(layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tar", "find"):
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    refused(layout, r"xz not found: run 'scripts/bootstrap kernel' \(Debian's xz-utils\)")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("schema = 2", "schema 2, known is 1"),
        ("unpacked_mb = true", "'unpacked_mb' must be given, as int"),
        ('unpacked_mb = "1"', "'unpacked_mb' must be given, as int"),
        ("sha256 = 3", "'sha256' must be given, as str"),
        ("colour = 1", "unknown key 'colour'"),
        ("package = ", "is no TOML"),
    ],
)
def test_broken_base_toml(layout: Layout, line: str, words: str) -> None:
    path = layout.inputs / "base.toml"
    key = line.split(" ", maxsplit=1)[0]
    old = path.read_text(encoding="ascii").splitlines()
    kept = [one for one in old if not one.startswith(key)]
    path.write_text("\n".join([*kept, line, ""]), encoding="ascii")
    with pytest.raises(UserError, match=words):
        fetch(layout)
    assert not layout.work.joinpath("src").exists()


def test_base_that_somebody_wrote_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = make_fetched(tmp_path, monkeypatch)
    (layout.base / "kernel/sched/rt.c").write_text("int mine;\n", encoding="ascii")
    with pytest.raises(UserError, match=r"kernel/sched/rt\.c was written to"):
        require_base(layout)


def test_another_version_replaces_the_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = make_fetched(tmp_path, monkeypatch)
    tarball = tmp_path / "linux-fake.tar.xz"
    tarball.write_bytes(tarball.read_bytes() + b"\0" * 4)  # padding that xz allows
    write_base(layout, tarball)
    with pytest.raises(UserError, match="kernel fetch"):
        require_base(layout)
    assert fetch(layout)
    assert not fetch(layout)
