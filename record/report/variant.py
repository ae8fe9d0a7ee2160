# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes the variant of a report: the lines on one machine, with their objects and accesses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from msgspec import structs

from model.results import raw
from model.results.c2c import Allocated, RecordedAccess, RecordedLine, RecordedVariant
from model.results.c2c import Frame as Shown
from model.results.lines import part_of
from record.lines.symbols import Frame
from record.names.memory import Memory, field_of, others_of
from record.names.things import Thing, used_by
from record.report.callers import callers, calls_of
from record.report.costs import runs_of, with_names
from record.report.replaying import Job
from record.report.sharing import joined, kind_of
from record.report.uncertain import Draws, line_interval, totals
from record.report.waits import at_lines


def threads(meta: Mapping[str, Any]) -> list[list[int]]:
    """Return number, kernel's thread ID and CPU of each thread of each process."""
    return [thread for process in meta["processes"] for thread in process["threads"]]


def _threads_of(of_threads: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    """Return the numbers of the threads on each CPU."""
    by_cpu: dict[int, list[int]] = {}
    for number, _, cpu in of_threads:
        by_cpu.setdefault(int(cpu), []).append(int(number))
    return by_cpu


@dataclass(frozen=True)
class _Context:
    """What a report's lines of one machine are made from, besides the results of the run."""

    frames: Mapping[int, tuple[Frame, ...]]
    threads: Mapping[int, list[int]]
    cpus: Sequence[int]
    objects: Memory

    def operation(self, pc: int) -> object:
        """Return the functions and source lines of an instruction, or the instruction itself.

        Copies that the compiler made of one source line, as of an unrolled loop, are the same.
        """
        frames = self.frames.get(pc, ())
        known = bool(frames) and frames[0].source[-1:].isdigit()
        return frames if known else self.objects.instruction(pc)

    def threads_of(self, *accesses: raw.Access) -> list[int]:
        """Return the numbers of the threads that made these accesses."""
        return sorted({t for a in accesses for n in a.by for t in self.threads.get(n, [])})


def _access(
    access: raw.Access, line: raw.Line, thing: Thing | None, context: _Context
) -> RecordedAccess:
    frames = context.frames.get(access.instruction, ())
    address = line.start + access.offset
    return RecordedAccess.named(
        access, line, [f.shown for f in frames], on_cpus=[context.cpus[n] for n in access.by],
        threads=context.threads_of(access),
        own=next((number for number, f in enumerate(frames) if f.own), None),
        callers=callers(access, context.frames),
        field=field_of(context.objects.name_of(address), address, thing),
    )  # fmt: skip


def _allocated(thing: Thing) -> list[Shown]:
    return [structs.replace(frame.shown, own=frame.own) for frame in thing.frames]


def _line(
    line: raw.Line, run: raw.Run, thing: Thing | None, context: _Context, draws: Draws
) -> RecordedLine:
    offset = line.start - thing.address if thing is not None else 0
    accesses = joined(line.accesses, context.operation)
    accesses.sort(key=lambda a: (-a.heat, -a.records, a.offset, a.pc))
    line = structs.replace(line, accesses=accesses)
    return RecordedLine.made_from(
        line,
        object=f"{thing.name}{thing.owner}" if thing is not None else line.address,
        kind=thing.kind if thing is not None else "unknown",
        type=thing.type if thing is not None else "",
        offset=offset,
        process=context.objects.process(line.start),
        line=offset // 64,
        hitm_share=part_of(line.hitm, run.hitm),
        sharing=kind_of(line),
        locked=sum(a.records for a in accesses if a.kind == "rmw"),
        cycles=line.waited,
        cycle_share=part_of(line.waited, run.work_cycles),
        threads=context.threads_of(*accesses),
        allocated=_allocated(thing) if thing is not None else [],
        beside=[
            Allocated(object=other.name, allocated=_allocated(other))
            for other in others_of(
                thing, (context.objects.name_of(line.start + a.offset) for a in accesses)
            )
        ],
        accesses=[_access(a, line, thing, context) for a in accesses],
        interval=line_interval(line, draws),
    )


def _uses(hot: Sequence[Sequence[raw.Line]], lines: int) -> dict[int, frozenset[int]]:
    """Return the bytes to name, each with the sizes of the accesses that begin there."""
    sizes: dict[int, set[int]] = {}
    for ranked in hot:
        for byte in bytes_named(ranked, lines):
            sizes.setdefault(byte, set())
        for line in ranked:
            for access in line.accesses:
                byte = line.start + access.offset
                if byte in sizes:
                    sizes[byte].add(access.size)
    return {byte: frozenset(widths) for byte, widths in sizes.items()}


def _accesses(
    hot: Sequence[Sequence[raw.Line]], named: Mapping[int, frozenset[int]]
) -> list[tuple[int, int]]:
    """Return pairs of instruction and accessed byte to name, those with most accesses first."""
    counts: Counter[tuple[int, int]] = Counter()
    for line in chain.from_iterable(hot):
        for access in line.accesses:
            byte = line.start + access.offset
            if byte in named:
                counts[access.instruction, byte] += access.hitm + access.records
    return [pair for pair, _ in counts.most_common()]


def bytes_named(ranked: Sequence[raw.Line], lines: int) -> set[int]:
    """Return every byte whose name one machine's report shows.

    The hottest byte of a line can differ between machines. If only that byte had a name, the fields
    that one machine's report names would depend on the other machines of the request.
    """
    return {
        line.start + offset
        for number, line in enumerate(ranked)
        if number < lines or line.heat
        for offset in (0, *(access.offset for access in line.accesses))
    }


def _hottest(line: raw.Line) -> int:
    """Return the address of a line's hottest byte, whose object names the line."""
    access = max(line.accesses, key=lambda a: (a.heat, a.records), default=None)
    return line.start + (access.offset if access is not None else 0)


@dataclass(frozen=True)
class Named:
    """The lines of each machine with their objects, and the numbers of those to show."""

    lines: list[list[tuple[raw.Line, Thing | None]]]
    shown: list[list[int]]
    most: int
    frames: Mapping[int, tuple[Frame, ...]]
    objects: Memory
    accesses_reported: int


def name_lines(
    base: Sequence[raw.Run], objects: Memory, most: int, accesses_reported: int
) -> Named:
    """Name the lines of each machine; a report shows ``most`` of them."""
    hot = [run.lines for run in base]
    shown = [with_names(run, most) for run in base]
    frames = objects.frames(
        {
            pc
            for ranked, numbers in zip(hot, shown, strict=True)
            for wanted in ([ranked[n] for n in numbers],)
            for pc in calls_of(wanted).union(
                a.instruction for line in wanted for a in line.accesses
            )
        }
    )
    sizes = _uses(hot, most)
    objects.learn(sizes, _accesses(hot, sizes))
    lines = [
        [(line, used_by(objects.name_of(_hottest(line)), line, frames)) for line in ranked]
        for ranked in hot
    ]
    return Named(lines, shown, most, frames, objects, accesses_reported)


def _ns_each(run: raw.Run, operations: int) -> float:
    """Return the nanoseconds, of work and waiting, that an operation takes in its thread."""
    return part_of(run.work_cycles, run.machine.clock_ghz) / operations


def make_variant(
    job: Job, run: raw.Run, named: Named, index: int, draws: Draws,
    of_threads: Sequence[Sequence[int]], *, seeds: bool, operations: int,
) -> RecordedVariant:  # fmt: skip
    """Return a report's variant: the lines of the machine with number ``index``."""
    context = _Context(named.frames, _threads_of(of_threads), job.cpus, named.objects)
    lines = [
        _line(line, run, thing, context, draws)
        for line, thing in (named.lines[index][n] for n in named.shown[index])
    ]
    runs = runs_of(
        lines, draws if seeds else [run], named.frames,
        threads=len(of_threads), operations=operations,
    )  # fmt: skip
    return RecordedVariant(
        name=job.machine.name, cpus=len(run.cpu_times), lines_total=run.nr_lines,
        hitm_total=run.hitm, hitm_remote=run.hitm_remote, hitm_local=run.hitm_local,
        work_cycles=run.work_cycles,
        ns_per_operation=_ns_each(run, operations) if operations else None, at_lines=at_lines(run),
        model=run.model, interval=totals(draws), lines=lines[: named.most],
        machine_sha256=job.machine.sha256, runs=runs,
    )  # fmt: skip
