# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The steady part of a run: where accesses wait at one rate, after the start and before the end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from schedshard.c2c.report.replaying import Job, Source, Trace
from schedshard.common.errors import UserError
from schedshard.show.format import percent

# A rate within this factor of the typical one is steady.
_NEAR = 2.0
_FEWEST = 8  # parts of the run (plugin/feed_time.h), of which it has 128 at most
# Waits that are outside of the steady part, at most: with more, the run has several phases.
_OUTSIDE = 0.5
# What takes less of all cycles is not looked at; a part that is nearly all of the run is the run.
_LEAST, _ALL = 0.005, 0.9


@dataclass(frozen=True)
class Part:
    """Instructions of all CPUs together, and the share of cycles in accesses: there, and in all."""

    begin: int
    end: int
    instructions: int
    share: float
    share_of_run: float

    def to_json(self, only: bool) -> dict[str, Any]:
        """The same in a report; ``only``: the report is of nothing else."""
        return {
            "begin": self.begin,
            "end": self.end,
            "instructions": self.instructions,
            "share": self.share,
            "share_of_run": self.share_of_run,
            "only": only,
        }


def steady_words(report: Mapping[str, Any]) -> str | None:
    """Where a report's run is steady, and what differs there."""
    part = report.get("steady")
    if part is None:
        return None
    begin, end = part["begin"] / part["instructions"], part["end"] / part["instructions"]
    if part["only"] and part["end"] - part["begin"] == part["instructions"]:
        return "no part of the run is steady by itself: all of it is reported"
    if part["only"]:
        return f"of the steady part alone, {begin:.0%} to {end:.0%} of the instructions"
    return (
        f"steady from {begin:.0%} to {end:.0%} of the instructions, where waits for lines take "
        f"{percent(part['share'])} of the cycles ({percent(part['share_of_run'])} in the whole "
        "run): --steady reports that part"
    )


def is_steady(report: Mapping[str, Any]) -> bool:
    """Whether a report is of the steady part alone."""
    return bool((report.get("steady") or {}).get("only"))


def steady_source(source: Source, job: Job) -> tuple[Trace, Part]:
    """The same trace, cut to its steady part on a machine; all of it, if it has none."""
    if not isinstance(source, Trace):
        raise UserError("--steady: a program that runs exactly has no trace; leave it out")
    raw = source.all([job])[0]
    whole = int(raw["time"]["instructions"])
    part = steady_part(raw)
    if part is None:
        return source, Part(0, whole, whole, 0.0, 0.0)
    return replace(source, part=(part.begin, part.end)), part


def steady_part(raw: Mapping[str, Any]) -> Part | None:
    """The longest part with one rate, from a replay's result; None: none, or nearly all."""
    if "time" not in raw:
        return None
    width, instructions = int(raw["time"]["width"]), int(raw["time"]["instructions"])
    took = [float(each) for each in raw["time"]["took_ps"]]
    cycle = 1000 / float(raw["machine"]["clock_ghz"])  # picoseconds, in which one is executed
    whole = _share(sum(took), instructions * cycle)
    if whole < _LEAST or len(took) < _FEWEST:
        return None
    first, last = _longest(_smooth(took), _typical(took))
    begin, end = first * width, min(last * width, instructions)
    inside = sum(took[first:last])
    if last - first < _FEWEST or inside < (1 - _OUTSIDE) * sum(took):
        return None
    if end - begin >= _ALL * instructions:
        return None
    return Part(begin, end, instructions, _share(inside, (end - begin) * cycle), whole)


def _share(took: float, executed: float) -> float:
    return took / (took + executed) if took else 0.0


def _smooth(took: Sequence[float]) -> list[float]:
    """Without single outliers."""
    return [median(took[max(n - 1, 0) : n + 2]) for n in range(len(took))]


def _typical(took: Sequence[float]) -> float:
    """Half of all waiting happens in parts that wait at least as long."""
    left = sum(took) / 2
    for each in sorted(took, reverse=True):
        left -= each
        if left <= 0:
            return each
    return 0.0


def _longest(took: Sequence[float], typical: float) -> tuple[int, int]:
    """The first and one past the last of the parts in a row that are near the typical one."""
    best = begin = 0
    length = 0
    for n, each in enumerate([*took, -1.0]):
        if typical / _NEAR <= each <= typical * _NEAR:
            continue
        if n - begin > length:
            best, length = begin, n - begin
        begin = n + 1
    return best, best + length
