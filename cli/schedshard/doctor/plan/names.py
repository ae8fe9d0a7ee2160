# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Names of a host in files that people run, paste or read.

A name that consists of ordinary characters alone may stand in such a file. Any other one is
refused: nothing that the plan runs has it. Where the text must speak of it, each other character is
escaped as systemd does it, so that no line of a file means anything to a shell, XML or YAML.
"""

from __future__ import annotations

import re
import shlex

_PLAIN = re.compile(r"[A-Za-z0-9:_.\\@/+,=~-]+")
_LONGEST = 512
_OTHER = re.compile(r"[^A-Za-z0-9:_.\\@/+,=~-]")


def plain(name: str) -> bool:
    """Whether a name may stand in a file of the plan."""
    parts = name.split("/")
    return _PLAIN.fullmatch(name) is not None and "." not in parts and ".." not in parts


def shown(name: str) -> str:
    """Return any name for prose, a very long one cut short."""
    text = _OTHER.sub(
        lambda match: "".join(f"\\x{byte:02x}" for byte in match[0].encode("utf-8", "replace")),
        name[:_LONGEST],
    )
    return text if len(name) <= _LONGEST and len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def in_comment(name: str) -> str:
    """Return any name for a comment in XML, which ends at two hyphens."""
    return shown(name).replace("--", r"-\x2d")


def quoted(name: str) -> str:
    """Return a plain name as a word of a shell."""
    return shlex.quote(name)


def in_unit(path: str) -> str:
    """Return a plain path for a quoted word of systemd's ExecStart=."""
    return path.replace("\\", "\\\\")
