# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads /tmp/perf-PID.map, in which a program describes code that it generated, for 'perf'.

The program writes it on request. Anybody may write into /tmp, so a file that another user owns, or
that is older than the program, is ignored.
"""

import contextlib
import os
import re
from pathlib import Path

from common.errors import UserError
from common.inputs import open_input

FOLDER = Path("/tmp")
_LIMIT = 64 << 20
_MOST = 1 << 18
# Begin, size, name. Java writes 0x before the numbers.
_ENTRY = re.compile(rb"(?:0x)?([0-9a-f]{1,16}) (?:0x)?([0-9a-f]{1,16}) (.{1,512})")

Code = list[tuple[int, int, str]]


def perf_map(pid: int, began: float) -> Code:
    """Return begin, size and name of each piece of code; none without a valid file."""
    code: Code = []
    path = FOLDER / f"perf-{pid}.map"
    with contextlib.suppress(UserError, OSError), open_input(path, "", _LIMIT, links=False) as file:
        facts = os.fstat(file.fileno())
        if facts.st_uid != os.geteuid() or facts.st_mtime < began:
            return []
        for line in file:
            entry = _ENTRY.match(line)
            if entry is not None and len(code) < _MOST:
                name = entry[3].decode("utf-8", "replace")
                code.append((int(entry[1], 16), int(entry[2], 16), name))
    return code
