# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The collector's output, as text by list; nothing from a tar file reaches the disk.

A tar file may come from anywhere. It is read in memory, up to fixed sizes. A member that is no
regular file, or whose name is not one of the collector's, is an error. A user may unpack a tar
file, read it and pack it again. Then it has the folder as well, and may have "./" before its names.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
import zlib
from pathlib import Path

from schedshard.common.errors import UserError, telling
from schedshard.common.paths import typed
from schedshard.doctor.facts.script import run_collector
from schedshard.doctor.facts.values import clean

LISTS = (
    "cpus", "settings", "cmdline", "config", "mounts", "cgroups", "threads", "reading-1", "places",
    "affinities", "reading-2", "format",
)  # fmt: skip
FORMAT = "schedshard-doctor 1"
# 100,000 real-time threads make 30 MB of lists.
FILE_LIMIT = 64 << 20
TOTAL_LIMIT = 128 << 20
_FOLDER = "schedshard-doctor"
_HINT = f"make it with '{typed('doctor collect')}'"


def _limited(path: Path, what: str) -> bytes:
    """Read a file of at most FILE_LIMIT bytes."""
    with telling(f"cannot read {what} {path}"):
        if not path.is_file():
            reason = "is a directory" if path.is_dir() else "no such file"
            reason = "is no regular file" if path.exists() and not path.is_dir() else reason
            raise UserError(f"cannot read {what} {path}: {reason}")
        with path.open("rb") as file:
            data = file.read(FILE_LIMIT + 1)
    if len(data) > FILE_LIMIT:
        raise UserError(f"{what} {path} is larger than {FILE_LIMIT >> 20} MiB")
    return data


def unpacked(path: Path, data: bytes) -> bytes:
    """Return the content of a gzip file, or the bytes themselves when they are not gzip's."""
    if data[:2] != b"\x1f\x8b":
        return data
    stream = zlib.decompressobj(wbits=31)
    try:
        plain = stream.decompress(data, TOTAL_LIMIT + 1)
    except zlib.error as error:
        raise UserError(f"{path} is damaged: gzip says {error}") from error
    if len(plain) > TOTAL_LIMIT:
        raise UserError(f"{path} unpacks to more than {TOTAL_LIMIT >> 20} MiB")
    if not stream.eof:
        raise UserError(f"{path} is truncated: copy it again")
    return plain


def _is_folder(member: tarfile.TarInfo) -> bool:
    """Whether this is the entry of the folder itself, or of the one that holds it."""
    return member.isdir() and member.name.removeprefix("./") in (".", _FOLDER)


def _member(path: Path, tar: tarfile.TarFile, member: tarfile.TarInfo) -> tuple[str, bytes]:
    folder, _, name = member.name.removeprefix("./").partition("/")
    if not member.isreg():
        shown = clean(member.name)
        raise UserError(f"{path} holds '{shown}', which is no regular file: {_HINT}")
    if folder != _FOLDER or name not in LISTS:
        shown = clean(member.name)
        raise UserError(f"{path} holds '{shown}', which the collector does not write: {_HINT}")
    file = tar.extractfile(member)
    data = file.read() if file is not None else b""
    if len(data) != member.size:
        raise UserError(f"{path} is truncated in '{name}': copy it again")
    return name, data


def _decoded(source: Path, name: str, data: bytes) -> str:
    if b"\0" in data:
        raise UserError(f"{source}: '{name}' is no text: {_HINT}")
    # Names of threads may hold any byte.
    return data.decode("utf-8", "replace")


def _checked(source: Path, lists: dict[str, str]) -> dict[str, str]:
    missing = [name for name in LISTS if name not in lists]
    if missing:
        raise UserError(f"{source} lacks '{missing[0]}': it is truncated, or {_HINT}")
    said = lists["format"].strip()
    if said != FORMAT:
        shown = clean(said[:40])
        raise UserError(f"{source} has format '{shown}', this program reads '{FORMAT}'")
    return lists


def read_tar(path: Path) -> dict[str, str]:
    """Return the lists in a tar file of the collector, or raise a UserError."""
    data = unpacked(path, _limited(path, "host file"))
    lists: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                if _is_folder(member):
                    continue
                name, content = _member(path, tar, member)
                if name in lists:
                    raise UserError(f"{path} holds '{name}' twice: {_HINT}")
                lists[name] = _decoded(path, name, content)
    except (tarfile.TarError, ValueError, EOFError, OSError, OverflowError) as error:
        raise UserError(f"{path} is no whole tar file of the collector: {_HINT}") from error
    return _checked(path, lists)


def read_directory(directory: Path) -> dict[str, str]:
    """Return the lists that the collector left in a directory."""
    lists = {}
    for name in LISTS:
        file = directory / name
        lists[name] = _decoded(directory, name, _limited(file, "list"))
    return _checked(directory, lists)


def read_host(seconds: int, root: Path | None = None) -> dict[str, str]:
    """Run the collector on this host, and return its lists; the readings are ``seconds`` apart."""
    with tempfile.TemporaryDirectory(prefix="schedshard-doctor-") as made:
        run_collector(Path(made), seconds, root)
        return read_directory(Path(made))
