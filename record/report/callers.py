# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the calls that led to accesses.

When stacks are recorded, an access contains a site's number instead of its instruction
(record/program/sites.h). Sites.apply() puts the instruction back and adds "ways": the cost of each
way to the access. A way contains the addresses of the calls, innermost first.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from common.errors import UserError
from model.results.c2c import Caller, RecordedLine
from model.results.raw import Access, Line, Run, Way
from record.lines.symbols import Frame
from record.report.sharing import joined

AnyRun = TypeVar("AnyRun", bound=Run)
# Ways that a report keeps per access: those with most cycles.
_KEPT = 8
_DAMAGED = "the names of the trace are damaged"
# The ways shown per line, the least share of the line's cycles for a way, and the calls of a way.
_SHOWN, _LEAST, _CALLS = 3, 0.05, 6


class Sites:
    """The sites of a recording: each is an instruction, and the site of the call before it."""

    def __init__(self, meta: Mapping[str, Any]) -> None:
        try:
            self._of = {int(site): (int(pc), int(of)) for site, pc, of in meta.get("sites", ())}
        except (TypeError, ValueError, OverflowError) as error:
            raise UserError(f"{_DAMAGED}: a site is not three numbers ({error})") from error
        self._ways: dict[int, Way] = {}

    def _way(self, site: int) -> Way:
        calls: list[int] = []
        at = self._of[site][1]
        while at in self._of:
            pc, at = self._of[at]
            calls.append(pc)
            if len(calls) > len(self._of):
                raise UserError(f"{_DAMAGED}: a call led to itself")
        return tuple(calls)

    def _split(self, access: Access) -> Access:
        site = access.instruction
        if site not in self._of:
            return replace(access, ways={(): _cost(access)})
        if site not in self._ways:
            self._ways[site] = self._way(site)
        pc = f"{self._of[site][0]:#x}"
        return replace(access, pc=pc, ways={self._ways[site]: _cost(access)})

    def apply(self, raw: AnyRun) -> AnyRun:
        """Return a result with instructions instead of sites; unchanged if none were recorded."""
        if not self._of:
            return raw
        lines = [
            replace(line, accesses=joined(map(self._split, line.accesses), lambda pc: pc))
            for line in raw.lines
        ]
        return replace(raw, lines=lines)


def _cost(access: Access) -> tuple[int, float]:
    """Return the HITM and the cycles of an access."""
    return access.hitm, access.waited


def ways_of(access: Access) -> Iterator[tuple[Way, int, float]]:
    """Yield each way to an access with its HITM and cycles. Without stacks, yield an empty way."""
    ways = access.ways if access.ways is not None else {(): _cost(access)}
    for way, (hitm, cycles) in ways.items():
        yield way, hitm, cycles


def calls_of(lines: Sequence[Line]) -> set[int]:
    """Return the addresses of all calls on the ways to these lines."""
    return {
        call for line in lines for access in line.accesses for way, *_ in ways_of(access)
        for call in way
    }  # fmt: skip


def callers(access: Access, frames: Mapping[int, tuple[Frame, ...]]) -> list[Caller]:
    """Return the cost of each way to an access, most cycles first, with the frames of its calls."""
    ways = sorted(ways_of(access), key=lambda entry: (-entry[2], -entry[1], entry[0]))
    return [
        Caller(
            hitm=count,
            cycles=cycles,
            calls=[f"{call:#x}" for call in way],
            frames=[frame.shown for call in way for frame in frames.get(call, ())],
        )
        for way, count, cycles in ways[:_KEPT]
        if way
    ]


def dearest_ways(line: RecordedLine) -> list[tuple[float, str]]:
    """Return the call paths that cost a line the most: the share of its cycles, and the calls.

    The list is empty for a report without call stacks.
    """
    cycles: dict[str, float] = {}
    for access in line.accesses:
        for caller in access.callers:
            frames = [*access.frames, *caller.frames[:_CALLS]]
            way = " < ".join(frame.words for frame in frames)
            way += " < ..." if len(caller.frames) > _CALLS else ""
            cycles[way] = cycles.get(way, 0.0) + caller.cycles
    shares = sorted(((cost / (line.cycles or 1.0), way) for way, cost in cycles.items()))
    shown = [entry for entry in reversed(shares) if entry[0] >= _LEAST][:_SHOWN]
    rest = 1.0 - sum(share for share, _ in shown)
    return [*shown, (rest, "other ways")] if shares and rest >= _LEAST else shown
