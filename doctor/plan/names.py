# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Checks and escapes a host's names in files that people run, paste or read.

Only a name of ordinary characters may appear in a file that is run. The plan leaves out cgroups
with other names. Where a text mentions such a name, each other character is escaped as systemd does
it, so that it has no meaning in a shell, XML or YAML.
"""

from __future__ import annotations

import re
import shlex

_PLAIN = re.compile(r"[A-Za-z0-9:_.\\@/+,=~-]+")
_LONGEST = 512
_OTHER = re.compile(r"[^A-Za-z0-9:_.\\@/+,=~-]")


def plain(name: str) -> bool:
    """Whether a name may appear in a file that is run."""
    parts = name.split("/")
    return _PLAIN.fullmatch(name) is not None and "." not in parts and ".." not in parts


def shown(name: str) -> str:
    """Return any name, escaped for prose, and cut if it is very long."""
    text = _OTHER.sub(
        lambda match: "".join(f"\\x{byte:02x}" for byte in match[0].encode("utf-8", "replace")),
        name[:_LONGEST],
    )
    return text if len(name) <= _LONGEST and len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def in_comment(name: str) -> str:
    """Return any name, escaped for an XML comment, in which two hyphens are not allowed."""
    return shown(name).replace("--", r"-\x2d")


def quoted(name: str) -> str:
    """Return a plain name, quoted for a shell."""
    return shlex.quote(name)


def in_unit(path: str) -> str:
    """Return a plain path, escaped for a quoted word of systemd's ExecStart=."""
    return path.replace("\\", "\\\\")
