# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Latent false sharing: lines that would be contended if an object began at another address.

A compiler, a linker or an allocator may move objects. A recorder therefore also reports accesses
to lines beside those of another CPU. They are replayed here in other layouts: with lines that
begin elsewhere, and with lines of 128 bytes. Some processors have such lines, and others fetch
lines in pairs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from model.results.c2c import Latent
from model.results.raw import Line, Stepping
from record.names.things import Thing
from record.report.replaying import Job, Source

LINE = 64
_PAIR = 2 * LINE
# An allocator aligns to 16 bytes, compilers align large variables to 32.
_LAYOUTS = (*((shift, LINE) for shift in (16, 32, 48)), (0, _PAIR))
# The least growth of all cycles that the report mentions.
_WORTH = 0.02
_SENTENCES = 3
_MOVABLE = ("variable", "local", "heap")


def _hottest(line: Line) -> int:
    """Return the offset of the byte with most accesses."""
    hottest = max(line.accesses, key=lambda access: access.records, default=None)
    return hottest.offset if hottest is not None else 0


def _cpus(line: Line) -> set[int]:
    return {cpu for access in line.accesses for cpu in access.by}


def _may_meet(lines: Sequence[Line]) -> bool:
    """Whether any two adjacent lines, one of them written, have different users."""
    by_address = {line.start: line for line in lines}
    for address, line in by_address.items():
        beside = by_address.get(address + LINE)
        if beside is None or not line.stores + beside.stores:
            continue
        if _cpus(line) != _cpus(beside):
            return True
    return False


@dataclass(frozen=True)
class _Rise:
    """The additional cost of an object in a layout, as a share of all cycles."""

    thing: Thing
    shift: int
    size: int
    more: float


class Beside:
    """The results of replaying a trace on one machine: in its own layout, and in others.

    ``cut``: some accesses are not in the trace.
    """

    def __init__(self, source: Source, job: Job, *, cut: bool) -> None:
        whole = source.all([replace(job, lines=each) for each in ((0, LINE), *_LAYOUTS)])
        self._machine, self._cut = job.machine.name, cut
        self._before, self._after = whole[0], dict(zip(_LAYOUTS, whole[1:], strict=True))
        self._lines = {line.start: line for line in self._before.lines}
        # By byte: the cycles of the accesses that begin there.
        self._waited: dict[int, float] = {}
        for at, line in self._lines.items():
            for access in line.accesses:
                byte = at + access.offset
                self._waited[byte] = self._waited.get(byte, 0.0) + access.waited

    def _byte(self, line: Line, size: int) -> tuple[int, Line]:
        """Return a line's hottest byte, and the line that contains it in the present layout."""
        address = line.start
        if size == _PAIR:
            # The offsets do not say which half they belong to, but the present lines do.
            halves = [self._lines[at] for at in (address, address + LINE) if at in self._lines]
            line = max(halves, key=lambda each: each.records, default=line)
        return line.start + _hottest(line), line

    def _joins(self, line: Line, size: int) -> bool:
        """Whether a line of a layout joins CPUs that use separate lines in the present layout."""
        low = line.start
        covered = range(low // LINE * LINE, low + size, LINE)
        parts = [_cpus(self._lines[at]) for at in covered if at in self._lines]
        return len(parts) > 1 and any(_cpus(line) != each for each in parts)

    def _slower(self, line: Line, size: int) -> float:
        """Return the cycles that a line takes beyond those of its bytes in the present layout."""
        low = line.start
        if size == _PAIR:
            halves = [self._lines[at] for at in (low, low + LINE) if at in self._lines]
            return line.waited - sum(half.waited for half in halves)
        return line.waited - sum(
            self._waited.get(low + offset, 0.0)
            for offset in {access.offset for access in line.accesses}
        )

    def _joined(self) -> Iterator[tuple[tuple[int, int], Line, int, Line]]:
        """Yield each line that joins CPUs, with its layout and the results of _byte()."""
        for layout, raw in self._after.items():
            for line in raw.lines:
                if line.stores and self._joins(line, layout[1]):
                    yield layout, line, *self._byte(line, layout[1])

    def uses(self) -> dict[int, frozenset[int]]:
        """Return the bytes that need names, with the sizes of the accesses there."""
        found: dict[int, set[int]] = {}
        for _, _, byte, line in self._joined():
            sizes = found.setdefault(byte, set())
            offset = byte - line.start
            sizes |= {access.size for access in line.accesses if access.offset == offset}
        return {byte: frozenset(sizes) for byte, sizes in found.items()}

    def _rises(self, at: Callable[[int], Thing | None]) -> list[_Rise]:
        """Return the additional cost of each object in each layout.

        The additional cycles of a layout are divided in proportion to those of each object's lines
        that join CPUs. Transfers would not measure this: they do not count stores that wait.
        """
        cycles = self._before.work_cycles
        found: dict[tuple[int, int], dict[tuple[str, str], tuple[Thing, float]]] = {}
        total: dict[tuple[int, int], float] = {}
        for layout, line, byte, _ in self._joined():
            slower = self._slower(line, layout[1])
            if slower <= 0:
                continue
            total[layout] = total.get(layout, 0.0) + slower
            thing = at(byte)
            if thing is not None:
                known = found.setdefault(layout, {}).get((thing.kind, thing.name), (thing, 0.0))
                found[layout][thing.kind, thing.name] = (known[0], known[1] + slower)
        return [
            _Rise(thing, *layout, min(part / cycles, more * part / total[layout]))
            for layout, things in found.items()
            if (more := self._after[layout].work_cycles / cycles - 1 if cycles else 0.0) > 0
            for thing, part in things.values()
            if _may_lie_so(thing, layout[0])
        ]

    def found(self, at: Callable[[int], Thing | None]) -> list[Latent]:
        """Return the objects that may suffer latent false sharing, the most expensive first."""
        worst: dict[tuple[str, str, int], _Rise] = {}
        for rise in self._rises(at):
            key = (rise.thing.kind, rise.thing.name, rise.size)
            if rise.more >= _WORTH and (key not in worst or rise.more > worst[key].more):
                worst[key] = rise
        dearest = sorted(worst.values(), key=lambda rise: -rise.more)[:_SENTENCES]
        return [
            Latent(
                object=rise.thing.name,
                words=_words(rise, self._machine, "at least " if self._cut else ""),
                machine=self._machine,
                bytes_later=rise.shift,
                line_bytes=rise.size,
                more=rise.more,
            )
            for rise in dearest
        ]


def beside_of(source: Source, job: Job, lines: Sequence[Line], stepping: Stepping) -> Beside | None:
    """Replay in other layouts, or return None if no lines could meet in one."""
    near = stepping.accesses_near or 0
    if not near and not stepping.lines_near and not _may_meet(lines):
        return None
    return Beside(source, job, cut=near > (stepping.accesses_near_told or 0))


def _may_lie_so(thing: Thing, shift: int) -> bool:
    """Whether the object could begin ``shift`` bytes later, by its alignment and its kind."""
    if thing.kind not in _MOVABLE or thing.foreign:
        return False
    return not shift or (thing.alignment is not None and shift % thing.alignment == 0)


def _words(rise: _Rise, machine: str, least: str) -> str:
    thing = rise.thing
    more = f"{rise.more:.1%} more cycles on"
    if rise.size == _PAIR:
        what = "each element" if thing.element is not None else "each thread's part"
        return (
            f"latent false sharing: {thing.name} takes up to {more} a machine like {machine} with "
            f"lines of {_PAIR} bytes, as Apple's, or in pairs, as Intel's prefetcher fetches them: "
            f"give {what} {_PAIR} bytes"
        )
    return (
        f"latent false sharing: {thing.name} takes {least}{more} {machine} if it begins "
        f"{rise.shift} bytes later in a line: align it to {LINE} bytes"
    )
