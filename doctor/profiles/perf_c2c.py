# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Parses the output of `perf c2c report --stdio`, complete or as people cut it for a mail.

The table of a cache line starts with that line's counts and its address. One row per function and
offset follows:

        0      353       44       62        0        0  0xff14d42c400e3880
           34.56%   29.55%    0.00% ...               0x38     0       1  0xffffffff811a6b1c  25509
     353       44       62    0xff14d42c400e3880
    34.56%   29.55%    0.00%  0x38     25509   527     cpupri_find_fitness

The columns depend on the version of perf, on its options and on the architecture. The name of a
column decides its meaning. If the names were cut off, the number of figures decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from common.errors import UserError
from doctor.facts.values import clean
from doctor.profiles.plain import PERCENT, share_of
from doctor.profiles.profile import Access, CacheLine, base_name

_HEAD = re.compile(
    r"^[+\-|\s]*((?:[0-9]+\s+){1,8}[0-9]+|(?:[0-9]+\s+){2,8}(?P<at>0x[0-9a-f]{8,16})(?:\s+\S+)*)$"
)
_ROW = re.compile(rf"^[+\-|\s]*((?:{PERCENT}\s+){{2,8}})(?:(0x[0-9a-f]{{1,3}})\s+)?(\S.*)$")
# A row of two or more shares, one of which is nan% or inf%.
_ODD_ROW = re.compile(
    rf"^[+\-|\s]*(?=(?:\S{{1,9}}%\s+){{2}})(?:{PERCENT}\s+){{0,7}}[-+]?(?:nan|inf)%\s"
)
_MARK = re.compile(r"\[([k.ugH])\]\s+(\S+)")
_NAME = re.compile(r"[A-Za-z_][\w.$]*")
_NUMBER = re.compile(r"[0-9]{1,15}")
_CODE = re.compile(r"^0x[0-9a-f]{6,16}$")
_RULE = re.compile(r"^[\s|]*-{5,}(?:\s+-{3,})*\s*$")
_NAMES = re.compile(r"^[#\s]*Num\s{2,}.*\b(?:Symbol|Offset|cnt)\b")
# The meaning of the figures after the code address, by how many there are: cycles of remote, local
# and other loads, and of loads that another cache answered; records; CPUs.
_FIGURES = {
    6: ("rmt", "lcl", "load", "peer", "records", "cnt"),
    5: ("rmt", "lcl", "load", "records", "cnt"),
    4: ("rmt", "lcl", "load", "cnt"),
    2: ("load", "records"),
}
# The shares of one column, each rounded to two digits, may sum up to this.
_WHOLE = 1.02


class C2c(NamedTuple):
    """The cache lines with a table of accesses, hottest first, and the text outside the tables."""

    lines: tuple[CacheLine, ...]
    rest: tuple[str, ...]


@dataclass
class _Columns:
    """The names of the columns, if the text has them: of the percentages, and of the figures."""

    shares: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    numbered: bool = False

    def peer(self, count: int) -> int | None:
        """Return the index of the percentage of loads that another cache answered, or None."""
        columns = [at for at, name in enumerate(self.shares) if name.lower().endswith("peer")]
        if columns or self.shares:
            return columns[0] if columns and columns[0] > 1 else None
        return 2 if count == 6 else None


@dataclass
class _Table:
    address: int
    remote: int
    local: int
    peer: int
    stores: int
    accesses: list[Access] = field(default_factory=list)


def _names(line: str) -> _Columns:
    names = re.split(r"\s{2,}", line.lstrip("# ").rstrip())[1:]
    symbol = names.index("Symbol") if "Symbol" in names else len(names)
    offset = names.index("Offset") if "Offset" in names else symbol
    return _Columns(tuple(names[: min(offset, symbol)]), tuple(names[offset + 1 : symbol]), True)


def _columns_figures(columns: _Columns, words: Sequence[str]) -> dict[str, int]:
    """Return a row's figures by name. Without column names their number decides."""
    if columns.figures and len(columns.figures) == len(words):
        return {
            columns.figures[at].split()[0]: int(word)
            for at, word in enumerate(words) if _NUMBER.fullmatch(word)
        }  # fmt: skip
    code = next((at for at, word in enumerate(words) if _CODE.match(word)), -1)
    figures = [int(word) for word in words[code + 1 :] if _NUMBER.fullmatch(word)]
    names = _FIGURES.get(len(figures), ())
    return {name: figures[at] for at, name in enumerate(names)}


def _place(words: str) -> tuple[str, list[str]] | None:
    """Return a row's symbol and the words before it. A symbol without a mark is the last word."""
    mark = _MARK.search(words)
    if mark is not None:
        # The catalogue's functions are the host's, so a function of a guest matches none.
        where = "guest:" if mark[1] in "gu" else ""
        return where + clean(mark[2]), words[: mark.start()].split()
    *before, last = words.split()
    return (last, before) if before and _NAME.fullmatch(last) else None


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.columns = _Columns()
        self.tables: dict[tuple[int, int, int], _Table] = {}
        self.current: _Table | None = None
        self.ruled = False
        self.rest: list[str] = []
        self.nameless = 0

    def _head(self, head: re.Match[str]) -> bool:
        """Begin the table of a cache line, if this is its line of counts.

        Counts without an address must follow a horizontal rule.
        """
        if head["at"] is None and not self.ruled:
            return False
        words = head[1].split()
        counts = [int(word) for word in words if _NUMBER.fullmatch(word)]
        # perf numbers the cache lines, but a mail may leave that column out. The summary before the
        # tables has more columns after the address, and no rows below.
        if self.columns.numbered or len(counts) > 3:
            counts = counts[1:]
        if not counts:
            return False
        at = self.columns.peer(len(counts))
        peer = counts.pop(at) if at is not None and at < len(counts) else 0
        remote, local = counts[0], counts[1] if len(counts) > 1 else 0
        address = int(head["at"], 16) if head["at"] else 0
        table = _Table(address, remote, local, peer, sum(counts[2:]))
        key = (address, remote + peer, local)
        known = self.tables.get(key)
        self.current = None if known is not None and known.accesses else table
        if known is None or not known.accesses:
            self.tables[key] = table
        return True

    def _access(self, table: _Table, row: re.Match[str]) -> None:
        shares = [share_of(percent) for percent in re.findall(PERCENT, row[1])]
        if max(shares) > 1:
            raise UserError(
                f"profile {self.source} was misread: '{' '.join(row[0].split()[:4])}' has a share "
                "above 100% of a cache line"
            )
        place = _place(row[3])
        if place is None:
            self.nameless += 1
            return
        at = self.columns.peer(len(shares))
        peer = shares.pop(at) if at is not None and at < len(shares) else 0.0
        figures = _columns_figures(self.columns, place[1])
        remote = shares[0]
        if table.peer:
            remote = (remote * table.remote + peer * table.peer) / (table.remote + table.peer)
        local, store = shares[1], max([0.0, *shares[2:]])
        records = round(
            remote * (table.remote + table.peer) + local * table.local + store * table.stores
        )
        cycles = [figures.get(name, 0) for name in ("rmt", "lcl", "load", "peer")]
        offset = int(row[2], 16) if row[2] else None
        table.accesses.append(
            Access(offset, base_name(place[0]), remote, local, store, float(max(cycles)),
                   figures.get("records", records))
        )  # fmt: skip

    def line(self, line: str) -> None:
        if _NAMES.match(line):
            self.columns = _names(line)
        elif _RULE.match(line):
            self.ruled = True
            return
        elif self.current is not None and _ODD_ROW.match(line):
            raise UserError(
                f"profile {self.source} was misread: '{clean(' '.join(line.split()[:4]))}' has a "
                "share that is not a number"
            )
        elif self.current is not None and (row := _ROW.match(line)):
            self._access(self.current, row)
        elif not ((head := _HEAD.match(line)) and self._head(head)) and line.strip():
            self.rest.append(line)
        if line.strip():
            self.ruled = False

    def lines(self) -> tuple[CacheLine, ...]:
        lines = []
        for table in self.tables.values():
            for name in ("remote", "local"):
                total = sum(getattr(access, name) for access in table.accesses)
                if total > _WHOLE:
                    raise UserError(
                        f"profile {self.source} was misread: the {name} shares of the line with "
                        f"{table.remote + table.peer} remote and {table.local} local hits sum up "
                        f"to {total:.1%}"
                    )
            if table.accesses:
                lines.append(
                    CacheLine(table.address, table.remote + table.peer, table.local, table.stores,
                              tuple(table.accesses))
                )  # fmt: skip
        return tuple(sorted(lines, key=lambda line: -(line.remote + line.local)))


def parse_c2c(lines: Iterable[str], source: str) -> C2c | None:
    """Return the contended lines, or None if there are none. A repeated line counts once.

    A text of perf c2c without tables of accesses, or without symbols, is a UserError.
    """
    reader = _Reader(source)
    own = False
    for line in lines:
        own = own or "Shared Data Cache Line Table" in line or "Line Distribution Pareto" in line
        reader.line(line)
    hot_lines = reader.lines()
    if hot_lines:
        return C2c(hot_lines, tuple(reader.rest))
    if own or reader.nameless > 1:
        lacking = "column 'Symbol'" if reader.nameless else "table of the lines' accesses (Pareto)"
        raise UserError(
            f"profile {source} looks like perf c2c, but has no {lacking}: "
            "give the whole text of 'perf c2c report --stdio'"
        )
    return None
