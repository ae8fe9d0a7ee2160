# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Parses the kernel test robot's mail, which compares two kernels' profiles. The first counts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from doctor.profiles.profile import Hit, Sampled

_ROW = re.compile(
    r"^\s*([0-9]{1,3}\.[0-9]+)(?:\s*±\s*[0-9]+%)?\s+[-+][0-9].*\sperf-profile\.self\.(\S+?)\.([A-Za-z_][\w.]*)$"
)


def parse_lkp(lines: Iterable[str], source: str) -> Sampled | None:
    """Return each function's own share on the first kernel, or None if the text has no such row."""
    hits: dict[str, Hit] = {}
    event = ""
    for line in lines:
        row = _ROW.match(line)
        if row is not None and float(row[1]) <= 100:
            event = event or row[2]
            hits.setdefault(row[3], Hit(row[3], float(row[1]) / 100))
    said = (f"{source} compares two kernels: the first one is judged",)
    kind = "report of the kernel test robot"
    return Sampled(kind, tuple(hits.values()), event, said=said) if hits else None
