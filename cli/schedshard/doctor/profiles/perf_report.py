# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The text of `perf report --stdio`, and of `perf top --stdio`: one line a function."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from schedshard.doctor.facts.values import clean
from schedshard.doctor.profiles.profile import base_name

_ROW = re.compile(
    r"^\s*(\d{1,3}\.\d+)%(?:\s+(\d{1,3}\.\d+)%)?\s.*\[[kug.Hv]\]\s+([A-Za-z_.$][\w.$@:~<>-]*)"
)
_EVENT = re.compile(r"^#\s*Samples:.* of event '([^']+)'")


@dataclass
class _Section:
    event: str
    functions: dict[str, float] = field(default_factory=dict)


def _counts_time(event: str) -> bool:
    return "cycles" in event or "clock" in event


def parse_report(text: str) -> tuple[str, dict[str, float]] | None:
    """Return the event and each function's own share, or None: there is no row.

    Of several events the first one that counts cycles or time has priority, else the first one.
    With two columns of percentages (children and self) the second one is the function's own.
    """
    sections = [_Section("")]
    for line in text.split("\n"):
        if event := _EVENT.match(line):
            sections.append(_Section(clean(event[1])))
        elif line[:1] != "#" and (row := _ROW.match(line)):
            share = float(row[2] if row[2] is not None else row[1])
            if share <= 100:
                name = base_name(row[3])
                held = sections[-1].functions
                held[name] = held.get(name, 0.0) + share / 100
    filled = [section for section in sections if section.functions]
    if not filled:
        return None
    chosen = next((each for each in filled if _counts_time(each.event)), filled[0])
    return chosen.event, chosen.functions
