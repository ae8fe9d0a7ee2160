# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Parses perf report, perf top and perf diff: one row per function, columns in any order.

A row starts with percentages, and its symbol follows a mark such as [k]. The line of column names
says which percentage is the function's own, and which field is the process. Mails often lack that
line. Then two percentages, of which the first is never smaller, are "children" and "self". A second
percentage with a sign is the change that perf diff prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from common.errors import UserError
from doctor.facts.values import clean
from doctor.profiles.plain import PERCENT, odd_rows, rounded_count, share_of
from doctor.profiles.profile import Hit, Sampled, Tally

_ROW = re.compile(rf"^\s*(?:[+-]\s+)?((?:[+-]?{PERCENT}[\s,;|]*)+)(.*)$")
_SHARE = re.compile(rf"([+-]?){PERCENT}")
# Such as nan% or inf%.
_ODD_ROW = re.compile(r"^\s*[^\s#%]{1,20}%\s.*\[[kugHv.]\]\s+\S")
_GUEST = re.compile(r"\[guest[./]")
_MARK = re.compile(r"\[([kugHv.])\]\s+(\S+)")
_SAMPLES = re.compile(r"Samples:\s*([0-9][0-9.,' ]*[KMG]?)\s*of events? '([^']{1,200})'")
_DIFF_EVENT = re.compile(r"^#?\s*Event '([^']{1,200})'")
_TOP = re.compile(r"PerfTop:\s*([0-9]{1,18}) irqs/sec.*\[[0-9]+\w?Hz ([^\]]{1,100})\]")
_RECORDED = re.compile(r"^#\s*cmdline\s*:.*\brecord\b.*\s(?:-a|--all-cpus|-[A-Za-z]*a)(?:\s|$)")
_FIRST = ("Overhead", "Children", "Self", "Baseline")
_NAMELESS = re.compile(r"(?:0x)?[0-9a-f]{6,16}$|\[unknown\]$")


class _Row(NamedTuple):
    shares: tuple[float, ...]
    signed: bool
    hit: Hit
    key: str


@dataclass
class _Table:
    """One table. ``label`` is the text above it; ``columns`` are the column names, if given."""

    label: str = ""
    event: str = ""
    samples: int | None = None
    everything: bool = False
    columns: tuple[str, ...] = ()
    rows: list[_Row] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    odd: int = 0

    @property
    def timed(self) -> bool:
        return "cycles" in self.event or "clock" in self.event or not self.event

    @property
    def compares(self) -> bool:
        """Whether this is a table of perf diff."""
        return "Baseline" in self.columns or any(row.signed for row in self.rows)

    def again(self, row: _Row) -> bool:
        """Whether a row begins another table: it repeats an earlier row, and the share rises.

        A repeated row alone proves nothing: two programs of one name may have the same function.
        """
        return row.key in self.keys and row.shares[0] > self.rows[-1].shares[0]

    def add(self, row: _Row) -> None:
        """Add a row. Rows beyond Tally.MOST, which are the smallest, become one without a name."""
        if len(self.rows) < Tally.MOST:
            self.rows.append(row)
            self.keys.add(row.key)
            return
        shares = row.shares
        if len(self.rows) > Tally.MOST:
            shares = tuple(map(sum, zip(self.rows.pop().shares, shares)))
        self.rows.append(row._replace(shares=shares, hit=Hit("", 0.0), key=""))


def _columns(line: str) -> tuple[str, ...]:
    """Return the column names in a line, or () if it does not contain them."""
    line = line.lstrip("# ").rstrip()
    names = tuple(re.split(r"\s{2,}|\s*[,;|]\s*", line)) if line.startswith(_FIRST) else ()
    columns = tuple(name.partition("/")[0] for name in names)
    return columns if columns and columns[0] in _FIRST else ()


def _process(columns: tuple[str, ...], before: list[str]) -> str:
    """Return the process of a row, from the fields ``before`` its symbol, or ""."""
    named = [name for name in columns if name not in ("Children", "Self", "Overhead", "Baseline")]
    named = named[: named.index("Symbol")] if "Symbol" in named else named
    if "Command" in named:
        at = named.index("Command") - len(named)
        return before[at] if -at <= len(before) else ""
    # Without column names the last two fields are the process and the object file.
    return before[-2] if not columns and len(before) >= 2 else ""


def _row(line: str, columns: tuple[str, ...]) -> _Row | None:
    start = _ROW.match(line)
    if start is None:
        return None
    marks = list(_MARK.finditer(start[2]))
    if not marks:
        return None
    # A process name may look like a mark. So the order of the columns decides.
    first = start[2].lstrip().startswith("[") and marks[0].start() < 2
    if "Symbol" in columns and "Command" in columns:
        first = columns.index("Symbol") < columns.index("Command")
    mark = marks[0] if first or "Data Symbol" in columns else marks[-1]
    matches = list(_SHARE.finditer(start[1]))
    before = [part for part in re.split(r"\s{2,}|\s*[,;|\t]\s*", start[2][: mark.start()]) if part]
    name = clean(mark[2])
    guest = mark[1] in "gu" or bool(_GUEST.search(start[2], 0, mark.start()))
    name = "" if _NAMELESS.match(name) else name
    hit = Hit(name, 0.0, _process(columns, before), mark[1] == "k" and not guest, guest)
    shares = tuple(share_of(match[0].lstrip("+-")) for match in matches)
    return _Row(shares, any(match[1] for match in matches), hit, " ".join(start[2].split()))


def _tables(lines: Iterable[str]) -> Iterator[_Table]:
    """Yield the tables of a text. A new one begins at headers, and where rows start over."""
    table = _Table()
    label = ""
    everything = False
    for line in lines:
        row = _row(line, table.columns) if line[:1] != "#" else None
        if row is not None:
            if table.again(row):
                yield table
                table = _Table(label, table.event, None, everything, table.columns)
            elif not table.rows:
                table.label = table.label or label
            table.add(row)
            continue
        if _ODD_ROW.match(line):
            table.odd += 1
            continue
        samples, top = _SAMPLES.search(line), _TOP.search(line)
        event = _DIFF_EVENT.match(line)
        if samples or top or event:
            if table.rows:
                yield table
            table = _Table(label, everything=everything)
            if samples:
                table.samples, table.event = rounded_count(samples[1]), clean(samples[2])
            elif top:
                table.samples, table.event = int(top[1]), clean(top[2])
                table.everything = "(all" in line
            elif event:
                table.event = clean(event[1])
        elif columns := _columns(line):
            if table.rows:
                yield table
                table = _Table(label, everything=everything)
            table.columns = columns
        elif _RECORDED.match(line):
            everything = table.everything = True
        elif line.strip(" #|.-=+") and line[:1] not in ("#", " ", "\t"):
            label = clean(line.strip())[:60]
    yield table


def _own(table: _Table) -> int:
    """Return the index of the percentage that is the function's own."""
    if "Self" in table.columns:
        return table.columns.index("Self")
    if table.columns or table.compares:
        return 0
    pairs = [row.shares for row in table.rows if len(row.shares) > 1]
    inside = all(shares[0] >= shares[1] for shares in pairs)
    return 1 if len(pairs) == len(table.rows) and inside else 0


def _hits(table: _Table) -> tuple[Hit, ...]:
    own = _own(table)
    hits = []
    for row in table.rows:
        missing = row.signed and len(row.shares) == 1  # perf diff: only in the second file
        share = row.shares[own] if own < len(row.shares) and not missing else 0.0
        hits.append(row.hit._replace(weight=share))
    return tuple(hits)


def _kind(table: _Table, top: bool) -> str:
    return "perf diff" if table.compares else "perf top" if top else "perf report"


def _lacks(tables: list[_Table], source: str) -> None:
    """Raise a UserError for a table without a column of symbols or of the functions' own shares."""
    for table in tables:
        if not table.columns:
            continue
        lacking = "Symbol" if "Symbol" not in table.columns else ""
        if "Children" in table.columns and "Self" not in table.columns:
            lacking = "Self"
        if lacking:
            raise UserError(
                f"profile {source} looks like {_kind(table, False)}, but has no column "
                f"'{lacking}': give the text of "
                "'perf report --stdio --no-children --sort comm,dso,symbol'"
            )


def parse_table(lines: Iterable[str], source: str) -> Sampled | None:
    """Return the hits of one table, or None if there is no row.

    Of several tables the first that counts cycles or time is chosen, or else the first; of several
    screens of perf top, the last such screen. A table without a necessary column is a UserError.
    """
    tables = list(_tables(lines))
    filled = [table for table in tables if table.rows]
    if not filled:
        _lacks(tables, source)
        return None
    top = any("[kernel]" in row.key for row in filled[0].rows[:50])
    timed = [table for table in filled if table.timed] or filled
    chosen = timed[-1] if top and timed[-1].samples else timed[0]
    _lacks([chosen], source)
    notes = [*odd_rows(chosen.odd, source)]
    if len(filled) > 1:
        which = ("first", "second", "third")
        number = filled.index(chosen)
        words = which[number] if number < len(which) else f"number {number + 1}"
        named = f" ('{chosen.label}')" if chosen.label else ""
        event = f", event {chosen.event}" if chosen.event else ""
        notes.append(f"{len(filled)} tables in {source}: the {words} one{named}{event} is judged")
    if chosen.compares:
        notes.append(f"{source} compares two profiles: the first one ('Baseline') is judged")
    return Sampled(
        _kind(chosen, top), _hits(chosen), chosen.event, chosen.samples, chosen.everything,
        tuple(notes),
    )  # fmt: skip
