# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Decides which lines appeared or grew, and how sure that is.

All lines of baseline and recording with a name in common form one row. So a line that was split in
two is compared with both parts. A row fails if it grew by more than the limit in HITM per
operation, or in its share of all cycles. A share may also grow because other lines shrank, so the
cycles per operation must have grown as well. With several runs the low end of the growth's interval
decides. The interval covers 99.8%, because each of many rows may raise a false alarm. A row has
appeared if every run contains it, but no run of the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from model.results.c2c import Cost, Place, Run
from model.results.lines import part_of
from record.gate.baseline import Side, check_same

APPEARED, GREW, UNSURE, SAME = "appeared", "grew", "unsure", "same"
# Rows below this share of all cycles are noise, as in the report.
FLOOR = 0.005
# Student's t, one-sided, by degrees of freedom from 1 on. The last value also serves for more
# degrees.
LEVEL = 0.999
STUDENT = (
    318.3, 22.33, 10.21, 7.173, 5.893, 5.208, 4.785, 4.501, 4.297, 4.144, 4.025, 3.930, 3.852,
    3.787, 3.733, 3.686, 3.646, 3.610, 3.579, 3.552, 3.527, 3.505, 3.485, 3.467, 3.450, 3.435,
    3.421, 3.408, 3.396, 3.385,
)  # fmt: skip


@dataclass(frozen=True)
class Growth:
    """A figure before and after: means, and the interval of its relative growth."""

    before: float
    after: float
    low: float
    high: float
    sure: bool  # whether there is an interval at all

    @property
    def relative(self) -> float:
        """Return the change relative to the figure before."""
        return _relative(self.after - self.before, self.before)


@dataclass(frozen=True)
class Row:
    """The lines of one object on one machine, in the baseline and in the recording."""

    machine: str
    object: str
    names: frozenset[str]
    place: Place | None
    verdict: str
    hitm: Growth  # per operation, or per run if the program did not count operations
    share: Growth  # of all cycles


@dataclass(frozen=True)
class Judged:
    """The verdict: all rows. ``per`` is the unit of HITM, ``runs`` the runs of both sides.

    ``whole`` is a sentence on the whole program, if that decides instead of the rows.
    """

    baseline: str
    limit: float
    per: str
    runs: tuple[int, int]
    rows: tuple[Row, ...]
    whole: str = ""
    slower: bool = False

    def those(self, *verdicts: str) -> list[Row]:
        """Return the rows with these verdicts."""
        return [row for row in self.rows if row.verdict in verdicts]

    @property
    def failed(self) -> bool:
        """Whether the gate closes."""
        return self.slower if self.whole else bool(self.those(APPEARED, GREW))


def _relative(change: float, before: float) -> float:
    if before:
        return change / before
    return math.inf if change > 0 else 0.0


def growth(before: Sequence[float], after: Sequence[float]) -> Growth:
    """Return the growth with Welch's interval. A single run gets the other side's variance."""
    a, b = fmean(before), fmean(after)
    known = [variance(side) if len(side) > 1 else None for side in (before, after)]
    if known == [None, None]:
        change = _relative(b - a, a)
        return Growth(a, b, change, change, sure=False)
    either = next(spread for spread in known if spread is not None)
    parts: list[float] = [
        (either if spread is None else spread) / len(side)
        for spread, side in zip(known, (before, after), strict=True)
    ]
    squared = math.fsum(parts)
    degrees = float(max(len(before), len(after)) - 1)
    if None not in known and squared:
        shares = zip(parts, (before, after), strict=True)
        degrees = squared**2 / math.fsum(part**2 / (len(side) - 1) for part, side in shares)
    margin = STUDENT[min(max(int(degrees), 1), len(STUDENT)) - 1] * math.sqrt(squared)
    return Growth(a, b, _relative(b - a - margin, a), _relative(b - a + margin, a), sure=True)


def judge(before: Side, after: Side, limit: float) -> Judged:
    """Compare two sides. Raise a UserError if they cannot be compared."""
    check_same(before, after)
    counted = all(
        run.operations
        for side in (before, after)
        for machine in after.runs
        for run in side.runs[machine]
    )
    rows = [
        row
        for machine in after.runs
        for row in _rows(machine, before.runs[machine], after.runs[machine], limit, counted)
    ]
    rows.sort(key=lambda row: -(row.share.after - row.share.before))
    first = next(iter(after.runs))
    runs = len(before.runs[first]), len(after.runs[first])
    return Judged(before.name, limit, "operation" if counted else "run", runs, tuple(rows))


def _groups(lines: Iterable[Cost]) -> list[frozenset[str]]:
    """Return sets of names that belong together, because lines have them in common."""
    groups: list[set[str]] = []
    for names in {frozenset(line.names) for line in lines}:
        apart = [group for group in groups if not group & names]
        groups = [*apart, set(names).union(*(group for group in groups if group & names))]
    return [frozenset(group) for group in groups]


def _rows(
    machine: str, before: Sequence[Run], after: Sequence[Run], limit: float, counted: bool
) -> list[Row]:
    rows = []
    for names in _groups(line for run in (*before, *after) for line in run.lines):
        row = _row(machine, names, before, after, limit, counted)
        if row is not None:
            rows.append(row)
    return rows


def _row(
    machine: str, names: frozenset[str], before: Sequence[Run], after: Sequence[Run], limit: float,
    counted: bool,
) -> Row | None:  # fmt: skip
    def of(run: Run) -> list[Cost]:
        return [line for line in run.lines if names.intersection(line.names)]

    def growth_of(measure: Callable[[Run], float]) -> Growth:
        return growth([measure(run) for run in before], [measure(run) for run in after])

    def operations(run: Run) -> int:
        return run.operations if counted else 1

    share = growth_of(lambda run: part_of(sum(line.cycles for line in of(run)), run.work_cycles))
    if max(share.before, share.after) < FLOOR:
        return None
    hitm = growth_of(lambda run: sum(line.hitm for line in of(run)) / operations(run))
    cycles = growth_of(lambda run: sum(line.cycles for line in of(run)) / operations(run))
    lines = [line for run in after for line in of(run)] or [
        line for run in before for line in of(run)
    ]
    worst = max(lines, key=lambda line: (line.cycles, line.object))
    placed = [line for line in lines if line.place is not None]
    place = max(placed, key=lambda line: line.cycles).place if placed else None
    verdict = SAME
    if share.after >= FLOOR:
        verdict = _verdict(
            hitm, share, cycles, limit, known=any(of(run) for run in before),
            everywhere=all(of(run) for run in after),
        )  # fmt: skip
    return Row(machine, worst.object, names, place, verdict, hitm, share)


def _verdict(
    hitm: Growth, share: Growth, cycles: Growth, limit: float, *, known: bool, everywhere: bool
) -> str:
    if not known:
        return APPEARED if everywhere else UNSURE
    if hitm.low > limit or (share.low > limit and cycles.low > limit):
        return GREW
    if hitm.relative > limit or (share.relative > limit and cycles.relative > limit):
        return UNSURE
    return SAME
