# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Output to devices, pipes and links is written to them, and replaces none of them."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from common.errors import UserError
from common.output import make_directory, write_atomic


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_atomic(pipe, "whole")
    reader.join()
    assert read == ["whole"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("before", ["before, and longer", None])
def test_a_link_stays(tmp_path: Path, before: str | None) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    if before is not None:
        target.write_text(before)
    link.symlink_to("target")
    write_atomic(link, "after")
    assert link.is_symlink()
    assert target.read_text() == "after"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]


def test_a_link_of_another_user_is_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who may write to the directory can replace the temporary file by a link."""
    (tmp_path / "victim").write_text("before")
    change = os.fchmod

    def swap(fd: int, mode: int) -> None:
        (temp,) = tmp_path.glob(".file.*")
        temp.unlink()
        temp.symlink_to("victim")
        change(fd, mode)

    monkeypatch.setattr(os, "fchmod", swap)
    write_atomic(tmp_path / "file", "after")
    assert (tmp_path / "victim").read_text() == "before"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes links of other users")
def test_a_link_that_another_user_planted_is_refused(tmp_path: Path) -> None:
    shared, victim = tmp_path / "shared", tmp_path / "victim"
    shared.mkdir()
    shared.chmod(0o1777)
    victim.write_text("before")
    link = shared / "out.json"
    link.symlink_to(victim)
    os.chown(link, 65534, 65534, follow_symlinks=False)
    with pytest.raises(UserError, match="another user's link"):
        write_atomic(link, "after")
    with pytest.raises(UserError, match="another user's link"):
        make_directory(link)
    assert victim.read_text() == "before"
    os.chown(link, 0, 0, follow_symlinks=False)
    write_atomic(link, "after")
    assert victim.read_text() == "after"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_stays_one(tmp_path: Path) -> None:
    null = tmp_path / "null"
    try:
        os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        null.open("wb").close()
    except PermissionError:
        pytest.skip("no devices here")
    write_atomic(null, "gone")
    assert stat.S_ISCHR(null.stat().st_mode)


def test_a_plain_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    before = path.stat().st_ino
    write_atomic(path, "after")
    assert path.read_text() == "after"
    assert path.stat().st_ino != before


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="it is a directory"):
        write_atomic(tmp_path, "x")
