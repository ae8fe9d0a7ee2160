# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The comparison that the kernel test robot mails: the profile of the kernel it started from."""

from __future__ import annotations

import re

from schedshard.doctor.profiles.profile import base_name

_ROW = re.compile(
    r"^[>|\s]*(\d{1,3}\.\d+)(?:\s*±\s*\d+%)?\s+[-+]\d.*\sperf-profile\.self\.(\S+?)\.([A-Za-z_][\w.]*)$"
)


def parse_lkp(text: str) -> tuple[str, dict[str, float]] | None:
    """Return the event and each function's own share in the first column, or None."""
    functions: dict[str, float] = {}
    event = ""
    for line in text.split("\n"):
        row = _ROW.match(line.rstrip())
        if row is not None and float(row[1]) <= 100:
            event = event or row[2]
            functions[base_name(row[3])] = float(row[1]) / 100
    return (event, functions) if functions else None
