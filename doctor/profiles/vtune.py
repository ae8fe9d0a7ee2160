# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Parses VTune's table of hot functions as CSV (`vtune -report hotspots -format csv`)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator

from common.errors import UserError
from doctor.facts.values import clean
from doctor.profiles.plain import odd_rows
from doctor.profiles.profile import Hit, Sampled

_FUNCTIONS = ("function", "function / call stack", "function stack")
_SHARE = re.compile(
    r"^(?:% of )?(?:cpu time|clockticks)(?::self)?\s*\(?%\)?$|^% of (?:cpu time|clockticks)"
)
_TIME = re.compile(
    r"^(?:cpu time|cpu time:self|clockticks|clockticks:self)$|cpu_clk_unhalted\.\w+(?::self)?$"
)
_KERNEL = re.compile(r"^(?:vmlinux|\[?kernel|.*\.ko)")
_NUMBER = re.compile(r"[0-9]{1,18}(?:[.,][0-9]{0,18})?(?:[eE][-+]?[0-9]{1,2})?")
_MOST = 1e18
# Without hardware events VTune samples every 10 ms, so this gives the least number of samples.
_INTERVAL_S = 0.01


def _value(text: str) -> float | None:
    text = text.strip().rstrip("%s").strip()
    if not text:
        return 0.0
    value = float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else _MOST
    return value if value < _MOST else None


def _header(line: str) -> tuple[str, list[str]] | None:
    """Return the delimiter and the names of the columns, or None."""
    for delimiter in ("\t", ";", ",", "|"):
        names = [name.strip().strip('"').lower() for name in line.split(delimiter)]
        timed = [name for name in names if _TIME.search(name) or _SHARE.search(name)]
        if len(names) > 1 and (names[0] in _FUNCTIONS or timed):
            return delimiter, names
    return None


def _rows(lines: Iterable[str], delimiter: str, source: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(lines, delimiter=delimiter)
    except csv.Error as error:
        raise UserError(
            f"profile {source} looks like VTune's CSV, but is damaged: {error}"
        ) from error


def parse_vtune(lines: Iterable[str], source: str) -> Sampled | None:
    """Return the hits, or None if this is not VTune's table. A missing column is a UserError."""
    found = None
    rest = iter(lines)
    for number, line in enumerate(rest):
        found = _header(line) if number < 20 else None
        if found is not None or number >= 20:
            break
    if found is None:
        return None
    delimiter, names = found
    where = next((at for at, name in enumerate(names) if name in _FUNCTIONS), None)
    share = next((at for at, name in enumerate(names) if _SHARE.search(name)), None)
    time = next((at for at, name in enumerate(names) if _TIME.search(name)), None)
    if where is None or (share is None and time is None):
        lacking = "Function" if where is None else "CPU Time"
        raise UserError(
            f"profile {source} looks like VTune's CSV, but has no column '{lacking}': "
            "give 'vtune -report hotspots -group-by function -format csv'"
        )
    module = names.index("module") if "module" in names else None
    process = names.index("process") if "process" in names else None
    hits, spent, odd = [], 0.0, 0
    for row in _rows(rest, delimiter, source):
        if len(row) <= max(where, share or 0, time or 0) or not row[where].strip():
            continue
        seconds = _value(row[time]) if time is not None else None
        value = _value(row[share]) if share is not None else seconds
        if value is None:
            odd += 1
            continue
        spent += seconds or 0.0
        name = clean(row[where].strip())
        inside = row[module].strip() if module is not None and module < len(row) else ""
        who = clean(row[process].strip()) if process is not None and process < len(row) else ""
        nameless = name.startswith(("[", "func@", "0x"))
        hits.append(
            Hit("" if nameless else name, value, who, bool(_KERNEL.match(inside or name[1:])))
        )
    total = 100.0 if share is not None else sum(hit.weight for hit in hits)
    if not hits or total <= 0:
        return None
    seconds_named = time is not None and names[time].startswith("cpu time")
    samples = round(spent / _INTERVAL_S) if seconds_named else None
    return Sampled(
        "VTune's CSV of hot functions", tuple(hits), "", samples, said=odd_rows(odd, source),
        total=total,
    )  # fmt: skip
