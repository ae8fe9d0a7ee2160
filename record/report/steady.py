# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the steady part of a run, in which accesses wait at one rate: between start and end."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from common.errors import UserError
from common.show.format import percent
from model.results.c2c import Steady
from model.results.raw import Run
from record.report.replaying import Job, Source, Trace

# A rate within this factor of the typical one is steady.
_NEAR = 2.0
_FEWEST = 8  # parts in a steady part, of at most 128 in a run (record/plugin/feed_time.h)
# The largest share of waits outside of the steady part. With more, the run has several phases.
_OUTSIDE = 0.5
# The least share of cycles in waits for a run to have a steady part. A part with the second share
# of all instructions counts as the whole run.
_LEAST, _ALL = 0.005, 0.9


def steady_words(part: Steady | None) -> str | None:
    """Return a sentence on where a run is steady, and what differs there; None without a part."""
    if part is None:
        return None
    begin, end = part.begin / part.instructions, part.end / part.instructions
    if part.only and part.end - part.begin == part.instructions:
        return "no part of the run is steady by itself: all of it is reported"
    if part.only:
        return f"of the steady part alone, {begin:.0%} to {end:.0%} of the instructions"
    return (
        f"steady from {begin:.0%} to {end:.0%} of the instructions, where waits for lines take "
        f"{percent(part.share)} of the cycles ({percent(part.share_of_run)} in the whole "
        "run): --steady reports that part"
    )


def steady_source(source: Source, job: Job) -> tuple[Trace, Steady]:
    """Return the trace cut to its steady part on a job's machine, whole if it has none."""
    if not isinstance(source, Trace):
        raise UserError("--steady needs a trace, and --exact makes none: leave --steady out")
    raw = source.all([job])[0]
    part = steady_part(raw, only=True)
    if part is not None:
        return replace(source, part=(part.begin, part.end)), part
    whole = raw.time.instructions if raw.time is not None else 0
    return source, Steady(
        begin=0, end=whole, instructions=whole, share=0.0, share_of_run=0.0, only=True
    )


def steady_part(raw: Run, *, only: bool = False) -> Steady | None:
    """Return the longest part of a result with one rate; None: there is none, or it is the run."""
    if raw.time is None:
        return None
    width, instructions = raw.time.width, raw.time.instructions
    took = [float(each) for each in raw.time.took_ps]
    cycle = 1000 / raw.machine.clock_ghz  # picoseconds per instruction
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
    return Steady(
        begin=begin, end=end, instructions=instructions, only=only,
        share=_share(inside, (end - begin) * cycle), share_of_run=whole,
    )  # fmt: skip


def _share(took: float, executed: float) -> float:
    return took / (took + executed) if took else 0.0


def _smooth(took: Sequence[float]) -> list[float]:
    """Return the running median of three, which removes single outliers."""
    return [median(took[max(n - 1, 0) : n + 2]) for n in range(len(took))]


def _typical(took: Sequence[float]) -> float:
    """Return the typical wait of a part: half of all waiting is in parts with at least as much."""
    left = sum(took) / 2
    for each in sorted(took, reverse=True):
        left -= each
        if left <= 0:
            return each
    return 0.0


def _longest(took: Sequence[float], typical: float) -> tuple[int, int]:
    """Return the longest row of parts near the typical one: its first, and one past its last."""
    best = begin = 0
    length = 0
    for n, each in enumerate([*took, -1.0]):
        if typical / _NEAR <= each <= typical * _NEAR:
            continue
        if n - begin > length:
            best, length = begin, n - begin
        begin = n + 1
    return best, best + length
