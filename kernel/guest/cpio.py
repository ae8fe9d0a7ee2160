# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes archives in cpio's newc format, which the kernel unpacks as its first root file system.

Owner, time and inode numbers are fixed, so equal contents give equal bytes, and root is not needed.
"""

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from common.errors import telling

_TRAILER = "TRAILER!!!"


@dataclass(frozen=True)
class Entry:
    """The entry at one path of the guest: bytes, a file of the host, or a device."""

    mode: int
    data: bytes | Path = b""
    device: tuple[int, int] = (0, 0)


def plain(data: bytes | Path, executable: bool = False) -> Entry:
    """Return the entry of a regular file with this content."""
    return Entry(stat.S_IFREG | (0o755 if executable else 0o644), data)


def link(target: str) -> Entry:
    """Return the entry of a symbolic link."""
    return Entry(stat.S_IFLNK | 0o777, target.encode())


def character_device(major: int, minor: int) -> Entry:
    """Return the entry of a character device."""
    return Entry(stat.S_IFCHR | 0o600, b"", (major, minor))


def content(entry: Entry) -> bytes:
    """Return the bytes of an entry."""
    if isinstance(entry.data, bytes):
        return entry.data
    with telling(f"cannot read {entry.data} for the guest", status=1):
        return entry.data.read_bytes()


def _folders(paths: Mapping[str, Entry]) -> set[str]:
    above = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
    return above - {".", "/"} - set(paths)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _record(inode: int, path: str, entry: Entry) -> Iterator[bytes]:
    data = content(entry)
    name = path.lstrip("/").encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    owner = group = time = checksum = 0
    on_device = (0, 0)
    fields = (
        inode, entry.mode, owner, group, links, time, len(data), *on_device, *entry.device,
        len(name), checksum,
    )  # fmt: skip
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    yield _padded(header + name)
    yield _padded(data)


def archive(files: Mapping[str, Entry]) -> Iterator[bytes]:
    """Yield the archive of these files and of their folders, piece by piece.

    The archive may follow another one: its length is a multiple of four, and later entries replace
    earlier ones.
    """
    entries = {path: Entry(stat.S_IFDIR | 0o755) for path in _folders(files)} | dict(files)
    # Sorted: a folder comes before its contents.
    for inode, path in enumerate(sorted(entries), 1):
        yield from _record(inode, path, entries[path])
    yield from _record(0, _TRAILER, Entry(0))
