# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Each tar file of a stranger is read whole, or refused in one line with nothing written."""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from common.errors import UserError
from doctor.facts.archive import LISTS, read_host, read_tar
from doctor_tree import Machine, Task, build, collect, packed


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A tar file of the collector."""
    directory = tmp_path_factory.mktemp("made")
    tree = build(directory / "root", Machine(cpus=8, tasks=[Task(50, "caf\u00e9")]))
    assert collect(tree, "-o", directory / "host.tar").returncode == 0
    return (directory / "host.tar").read_bytes()


def lists_of(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        files = {Path(member.name).name: tar.extractfile(member) for member in tar}
        return {name: file.read() for name, file in files.items() if file is not None}


def names_of(path: Path) -> list[str]:
    """The names in a tar file, as tar prints them: those of folders end with a slash."""
    listed = subprocess.run(["tar", "-tf", path], check=True, capture_output=True, text=True)
    return listed.stdout.splitlines()


def member(name: str, kind: bytes, link: str = "") -> Callable[[tarfile.TarFile], None]:
    """Adds an entry without content."""
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = link
    return lambda tar: tar.addfile(info)


def refused(tmp_path: Path, data: bytes, *words: str) -> None:
    path = tmp_path / "host.tar"
    path.write_bytes(data)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError) as caught:
        read_tar(path)
    assert caught.value.status == 2
    for word in (*words, "host.tar"):
        assert word in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_plain_and_gzip_are_read(made: bytes, tmp_path: Path) -> None:
    plain = tmp_path / "host.tar"
    plain.write_bytes(made)
    packed = tmp_path / "host.tar.gz"
    packed.write_bytes(gzip.compress(made))
    assert read_tar(plain) == read_tar(packed)
    assert set(read_tar(plain)) == set(LISTS)
    assert "caf\u00e9" in read_tar(plain)["threads"]


@pytest.mark.parametrize("what", ["schedshard-doctor", "."])
def test_packed_again_by_tar(made: bytes, tmp_path: Path, what: str) -> None:
    plain = tmp_path / "host.tar"
    plain.write_bytes(made)
    inside = tmp_path / "inside"
    inside.mkdir()
    subprocess.run(["tar", "-xf", plain, "-C", inside], check=True)
    again = tmp_path / "again.tar.gz"
    subprocess.run(["tar", "-czf", again, "-C", inside, what], check=True)
    assert any(name.endswith("/") for name in names_of(again))
    assert read_tar(again) == read_tar(plain)


def test_another_folder_is_refused(made: bytes, tmp_path: Path) -> None:
    for name in ("elsewhere", "schedshard-doctor/cpus", "schedshard-doctor/..", "..", "/"):
        refused(tmp_path, packed(lists_of(made), member(name, tarfile.DIRTYPE)), "not a regular")


def test_every_truncation_is_refused(made: bytes, tmp_path: Path) -> None:
    whole = len(made.rstrip(b"\0")) + 511
    for length in range(0, whole - whole % 512, 512):
        refused(tmp_path, made[:length])
    packed = gzip.compress(made)
    for length in (2, 10, 40, len(packed) // 2, len(packed) - 1):
        refused(tmp_path, packed[:length])


def test_links_and_paths_that_lead_out(made: bytes, tmp_path: Path) -> None:
    files = lists_of(made)
    inside = "schedshard-doctor/cpus"
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
        refused(tmp_path, packed({}, member(inside, kind, "/etc/passwd")), "not a regular file")
    for name in ("../cpus", "/etc/cpus", "schedshard-doctor/../../x", "schedshard-doctor/a/b"):
        refused(tmp_path, packed(files, member(name, tarfile.REGTYPE)), "does not write")
    refused(tmp_path, packed(files, member(inside, tarfile.REGTYPE)), "twice")
    refused(tmp_path, packed(files, member("schedshard-doctor/\x1b[2J", tarfile.REGTYPE)), "?[2J")


def test_a_list_that_is_missing(made: bytes, tmp_path: Path) -> None:
    for name in LISTS:
        files = {key: text for key, text in lists_of(made).items() if key != name}
        refused(tmp_path, packed(files), f"lacks '{name}'")


def test_other_formats_and_encodings(made: bytes, tmp_path: Path) -> None:
    files = lists_of(made)
    newer = {**files, "format": b"schedshard-doctor 2\n"}
    refused(tmp_path, packed(newer), "schedshard-doctor 2", "schedshard-doctor 1")
    wide = {**files, "threads": "1 1 1 1 1 1 a\n".encode("utf-16")}
    refused(tmp_path, packed(wide), "'threads' is not text")
    refused(tmp_path, b"PK\x03\x04" + bytes(2000))
    refused(tmp_path, b"\xff\xfe" + "text".encode("utf-16-le"))


def test_no_place_for_the_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(UserError, match="cannot make a temporary directory"):
        read_host(0)
