# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Opens all files that a user names: only regular files, up to a size limit."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from common.errors import UserError, telling

# For JSON, TOML and tables. Readers of larger files pass another limit.
LIMIT = 1 << 30
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a directory",
    stat.S_IFSOCK: "a socket",
}


def open_input(path: Path, what: str, limit: int = LIMIT, *, links: bool = True) -> BinaryIO:
    """Open a regular file of at most ``limit`` bytes. Without ``links`` refuse a symbolic link.

    A FIFO without a writer would block, and a device may never end, so both are refused.
    """
    name = f"{what} {path}".lstrip()
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW)
    with telling(f"cannot read {name}"):
        file = os.open(path, flags)
    facts = os.fstat(file)
    kind = stat.S_IFMT(facts.st_mode)
    wrong = None
    if kind != stat.S_IFREG:
        wrong = f"cannot read {name}: it is {_KINDS.get(kind, 'special')}, not a regular file"
    elif facts.st_size > limit:
        wrong = f"{name} is larger than {max(limit >> 20, 1)} MiB"
    if wrong is not None:
        os.close(file)
        raise UserError(wrong)
    return os.fdopen(file, "rb")


def read_input(path: Path, what: str, limit: int = LIMIT, *, links: bool = True) -> bytes:
    """Return the bytes of a regular file, which open_input() opens.

    Files of /proc report size 0, so reading has a limit too.
    """
    name = f"{what} {path}".lstrip()
    with open_input(path, what, limit, links=links) as file, telling(f"cannot read {name}"):
        data = file.read(limit + 1)
    if len(data) > limit:
        raise UserError(f"{name} is larger than {max(limit >> 20, 1)} MiB")
    return data
