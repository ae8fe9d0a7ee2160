# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads the collector's lists from a tar file, a directory or this host.

A tar file may come from anywhere. It is read in memory, and nothing of it is written to disk. Size
limits keep the memory for any archive below 256 MB. A member is an error if it is not a regular
file, if it is sparse, or if the collector writes no file of its name. A tar file that a user
unpacked and packed again is accepted: it also contains the folder, and "./" may precede its names.
"""

from __future__ import annotations

import io
import re
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import BinaryIO

from common.errors import UserError, telling
from common.inputs import open_input
from common.paths import typed
from doctor.collector.script import run_collector
from doctor.facts.values import clean

LISTS = (
    "cpus", "settings", "cmdline", "config", "mounts", "cgroups", "threads", "reading-1", "places",
    "reading-2", "format",
)  # fmt: skip
# For people, and what earlier collectors wrote.
_OTHERS = ("README", "affinities")
FORMAT = "schedshard-doctor 1"
# With 90,000 real-time threads all lists take 48 MB, and the longest one, a reading, 20 MB.
FILE_LIMIT = 64 << 20
TOTAL_LIMIT = 48 << 20
LIST_LIMIT = 20 << 20
# The interrupts of 8,192 CPUs are the longest line: 90 KB.
LINE_LIMIT = 128 << 10
# Twelve files and some folders, each with the headers that tar programs add.
_MEMBERS = 64
_HEADERS = 256 << 10
_CHUNK = 1 << 20
_WIDE = re.compile("[\U00010000-\U0010ffff]")
_FOLDER = "schedshard-doctor"
_HINT = f"make it with '{typed('doctor collect')}'"


def _opened(path: Path, what: str) -> BinaryIO:
    """Open a regular file of at most FILE_LIMIT bytes."""
    return open_input(path, what, FILE_LIMIT)


def _unpacked(path: Path, file: BinaryIO, head: bytes) -> bytearray:
    """Return the content of a gzip file, whose first bytes, ``head``, were read already."""
    stream = zlib.decompressobj(wbits=31)
    plain = bytearray()
    chunk = head
    try:
        while chunk and not stream.eof:
            plain += stream.decompress(chunk, TOTAL_LIMIT + 1 - len(plain))
            if len(plain) > TOTAL_LIMIT:
                raise UserError(f"{path} unpacks to more than {TOTAL_LIMIT >> 20} MiB")
            chunk = stream.unconsumed_tail or file.read(_CHUNK)
    except zlib.error as error:
        raise UserError(f"{path} is damaged: gzip says {error}") from error
    if not stream.eof:
        raise UserError(f"{path} is truncated: copy it again")
    return plain


def _plain(path: Path) -> bytes | bytearray:
    """Return the bytes of a tar file, which gzip may have packed."""
    with telling(f"cannot read host file {path}"), _opened(path, "host file") as file:
        head = file.read(_CHUNK)
        if head[:2] == b"\x1f\x8b":
            return _unpacked(path, file, head)
        data = head + file.read(TOTAL_LIMIT + 1 - len(head))
    if len(data) > TOTAL_LIMIT:
        raise UserError(f"{path} holds more than {TOTAL_LIMIT >> 20} MiB")
    return data


class _Headers(io.BytesIO):
    """A tar file that refuses to read more than a few headers, which may claim any size."""

    left = _HEADERS

    def read(self, size: int | None = -1, /) -> bytes:
        """Read, or raise a ReadError when more than _HEADERS bytes would have been read."""
        size = self.left + 1 if size is None or size < 0 else size
        if size > self.left:
            raise tarfile.ReadError("too many headers")
        self.left -= size
        return super().read(size)


def _is_folder(member: tarfile.TarInfo) -> bool:
    """Whether this is the entry of the collector's folder itself, or of the folder around it."""
    return member.isdir() and member.name.removeprefix("./") in (".", _FOLDER)


def _member(path: Path, member: tarfile.TarInfo) -> str:
    """Return the name of the list in a member."""
    folder, _, name = member.name.removeprefix("./").partition("/")
    shown = clean(member.name[:80])
    if not member.isreg():
        raise UserError(f"{path} holds '{shown}', which is not a regular file: {_HINT}")
    if folder != _FOLDER or name not in (*LISTS, *_OTHERS):
        raise UserError(f"{path} holds '{shown}', which the collector does not write: {_HINT}")
    if member.issparse():
        raise UserError(
            f"{path} holds '{shown}' as a sparse file, as the collector never writes: {_HINT}"
        )
    if member.size > LIST_LIMIT:
        raise UserError(f"{path} holds '{shown}' of more than {LIST_LIMIT >> 20} MiB: {_HINT}")
    return name


def _decoded(source: Path, name: str, data: bytes | bytearray) -> str:
    if b"\0" in data:
        raise UserError(f"{source}: '{name}' is not text: {_HINT}")
    # Names of threads may hold any byte. One character beyond 16 bits doubles a whole text.
    text = data.decode("utf-8", "replace")
    text = text if text.isascii() or len(text) < _CHUNK else _WIDE.sub("\ufffd", text)
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if end - start > LINE_LIMIT:
            raise UserError(f"{source}: '{name}' has a line of more than {LINE_LIMIT >> 10} KiB")
        # Skip to the last newline that the longest allowed line could reach.
        start = max(end, text.rfind("\n", start, start + LINE_LIMIT)) + 1
    return text


def _checked(source: Path, lists: dict[str, str]) -> dict[str, str]:
    missing = [name for name in LISTS if name not in lists]
    if missing:
        raise UserError(f"{source} lacks '{missing[0]}': it is truncated, or {_HINT}")
    written = lists["format"].strip()
    if written != FORMAT:
        shown = clean(written[:40])
        raise UserError(f"{source} has format '{shown}', but this program reads '{FORMAT}'")
    return lists


def read_tar(path: Path) -> dict[str, str]:
    """Return the lists in a tar file of the collector, or raise a UserError."""
    data = _plain(path)
    lists: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=_Headers(data), mode="r:") as tar:
            for number, member in enumerate(tar):
                if number >= _MEMBERS:
                    raise UserError(f"{path} holds more than {_MEMBERS} members: {_HINT}")
                if _is_folder(member):
                    continue
                name = _member(path, member)
                if name in lists:
                    raise UserError(f"{path} holds '{name}' twice: {_HINT}")
                content = data[member.offset_data : member.offset_data + member.size]
                if len(content) != member.size:
                    raise UserError(f"{path} is truncated in '{name}': copy it again")
                lists[name] = _decoded(path, name, content)
    except (tarfile.TarError, ValueError, EOFError, OSError, OverflowError) as error:
        raise UserError(f"{path} is not a complete tar file of the collector: {_HINT}") from error
    for name in _OTHERS:
        lists.pop(name, None)
    return _checked(path, lists)


def read_directory(directory: Path) -> dict[str, str]:
    """Return the lists that the collector left in a directory."""
    lists = {}
    for name in LISTS:
        file = directory / name
        with telling(f"cannot read list {file}"), _opened(file, "list") as opened:
            lists[name] = _decoded(directory, name, opened.read(FILE_LIMIT))
    return _checked(directory, lists)


def read_host(seconds: int) -> dict[str, str]:
    """Run the collector on this host, and return its lists; the readings are ``seconds`` apart."""
    with telling("cannot make a temporary directory"):
        temporary = tempfile.TemporaryDirectory(prefix="schedshard-doctor-")
    with temporary as made:
        run_collector(Path(made), seconds)
        return read_directory(Path(made))
