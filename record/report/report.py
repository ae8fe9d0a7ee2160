# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes the report of a recorded program: the lines on each machine, their owners, remedies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from msgspec import structs

from common.errors import UserError
from common.formats import C2C
from common.provenance import sha256_file, tool_versions
from model.machines.presets import Machine, machine_topology
from model.results import raw
from model.results.c2c import Advice, Gain, RecordedLine
from model.results.lines import part_of
from model.results.saved import Count, Few, Saved, absent
from model.run.model_error import validation
from model.run.uncertain.inputs import machine_inputs
from record.lines.symbols import Frame
from record.names.guest_names import GuestMemory, guest_nodes, guest_places, guest_words
from record.names.memory import Memory, field_of, others_of
from record.names.things import Thing, used_by
from record.program.machine_view import cpus_in_order
from record.report.callers import Sites, callers, calls_of
from record.report.costs import runs_of, with_names
from record.report.moving import Move, moves
from record.report.notes import notes
from record.report.replaying import WINDOW, Job, Source
from record.report.sharing import hitm_of_false_sharing, joined, kind_of, shares_truly
from record.report.taken import caches, taken
from record.report.uncertain import (
    SEED,
    Draws,
    draws_of,
    gain_interval,
    line_interval,
    replay_draws,
    seed_draws,
    totals,
)
from record.report.waits import at_lines, waits

NAMES = "schedshard/record-names/1"
LIMITS = (
    "predicted, not measured: read the ranking first, cycles second",
    WINDOW,
    "modelled: which core has a line, how far it is away, and queues at lines",
    "not modelled: the capacity of caches, prefetchers, the width of links, page walks",
    "intervals: 90%, of the ranged numbers in the machine's file, not of what is not modelled",
    "an instruction takes one cycle",
    "other machines replay the first one's accesses: waiting loops have the same number of rounds",
)
WITHOUT_GUEST = "the kernel is not modelled: a system call takes 300 cycles, and its wait"
# A gain below this share of the cycles is not worth a sentence.
_WORTH = 0.005
# What a more complex edit for the same object must gain beyond the simpler one.
_SIMPLER = 0.02
_SENTENCES = 3


class Recorded(Saved, kw_only=True):
    """The parts of a recording besides the trace. A kept trace has them in its file of names."""

    words: str
    status: int
    signal: str | None
    placement: str
    cpus: Few
    operations: Count
    partial: bool
    program_sha256: str
    path: str
    dynamic: bool
    debug: bool
    compiler: str = absent("")
    meta: dict[str, Any]
    stepping: raw.Stepping

    def to_data(self) -> dict[str, Any]:
        """Return the content of the file of names."""
        return {"format": NAMES, **super().to_data()}


def _threads(recorded: Recorded) -> list[list[int]]:
    """Return number, kernel's thread ID and CPU of each thread of each process."""
    return [thread for each in recorded.meta["processes"] for thread in each["threads"]]


def places(recorded: Recorded, machines: Sequence[Machine]) -> list[tuple[int, ...]]:
    """Return for each machine the CPUs that the recording's CPUs stand for."""
    if "guest" in recorded.meta:
        return guest_places(recorded.meta["guest"], machines)
    used = max((int(thread[2]) + 1 for thread in _threads(recorded)), default=1)
    found = []
    for machine in machines:
        cpus = cpus_in_order(machine, recorded.placement)
        if len(cpus) < used:
            raise UserError(
                f"the threads ran on {used} CPUs, {machine.name} has {len(cpus)}: "
                f"record with --cpus {len(cpus)}"
            )
        # The trace may contain more CPUs than the threads used; these stay idle.
        if len(cpus) < recorded.cpus:
            raise UserError(
                f"the trace has {recorded.cpus} CPUs, {machine.name} has {len(cpus)}: "
                f"record with --cpus {len(cpus)}"
            )
        found.append(tuple(cpus[: recorded.cpus]))
    return found


def _threads_of(recorded: Recorded) -> dict[int, list[int]]:
    """Return the numbers of the threads on each CPU."""
    found: dict[int, list[int]] = {}
    for number, _, cpu in _threads(recorded):
        found.setdefault(int(cpu), []).append(int(number))
    return found


@dataclass(frozen=True)
class _Context:
    """The inputs for the lines of one machine, besides its results."""

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


def _without(part: Saved, *names: str) -> dict[str, Any]:
    """Return the members of a part but those with ``names``."""
    return {name: getattr(part, name) for name in part.__struct_fields__ if name not in names}


def _access(
    access: raw.Access, line: raw.Line, thing: Thing | None, context: _Context
) -> dict[str, Any]:
    frames = context.frames.get(access.instruction, ())
    address = line.start + access.offset
    return {
        **_without(access, "by", "ways"),
        "hitm_remote_share": part_of(access.hitm_remote, line.hitm_remote),
        "hitm_local_share": part_of(access.hitm_local, line.hitm_local),
        "store_share": part_of(access.stores, sum(a.stores for a in line.accesses)),
        "on_cpus": [context.cpus[n] for n in access.by],
        "threads": sorted({t for n in access.by for t in context.threads.get(n, [])}),
        "shared_truly": shares_truly(access, line.accesses),
        "symbol": " < ".join(f.function for f in frames) or access.pc,
        "source": frames[0].source if frames else "?",
        "frames": [f.to_json() for f in frames],
        "own": next((number for number, f in enumerate(frames) if f.own), None),
        "callers": callers(access, context.frames),
        "field": field_of(context.objects.name_of(address), address, thing),
    }


def _allocated(thing: Thing) -> list[dict[str, Any]]:
    return [{**frame.to_json(), "own": frame.own} for frame in thing.frames]


def _line(
    line: raw.Line, run: raw.Run, thing: Thing | None, context: _Context, draws: Draws
) -> dict[str, Any]:
    offset = line.start - thing.address if thing is not None else 0
    accesses = joined(line.accesses, context.operation)
    accesses.sort(key=lambda a: (-a.heat, -a.records, a.offset, a.pc))
    line = structs.replace(line, accesses=accesses)
    return {
        **_without(line, "accesses", "pairs"),
        "taken": [each.to_data() for each in taken(line)],
        "object": f"{thing.name}{thing.owner}" if thing is not None else line.address,
        "kind": thing.kind if thing is not None else "unknown",
        "type": thing.type if thing is not None else "",
        "offset": offset,
        "process": context.objects.process(line.start),
        "line": offset // 64,
        "hitm_share": part_of(line.hitm, run.hitm),
        "sharing": kind_of(line),
        "hitm_false": hitm_of_false_sharing(line),
        "locked": sum(a.records for a in accesses if a.kind == "rmw"),
        "cycles": line.waited,
        "cycle_share": part_of(line.waited, run.work_cycles),
        "threads": sorted({t for a in accesses for n in a.by for t in context.threads.get(n, [])}),
        "allocated": _allocated(thing) if thing is not None else [],
        "beside": [
            {"object": other.name, "allocated": _allocated(other)}
            for other in others_of(
                thing, (context.objects.name_of(line.start + a.offset) for a in accesses)
            )
        ],
        "accesses": [_access(a, line, thing, context) for a in accesses],
        "interval": line_interval(line, draws),
    }


def _worth_it(
    source: Source, jobs: Sequence[Job], tried: Sequence[Move], base: Sequence[raw.Run]
) -> list[tuple[Move, list[raw.Run]]]:
    """Return the moves that gain enough, best first, each with its replay on every machine.

    Of alternatives for one object a later one counts if it gains clearly more.
    """
    after = iter(source.all([replace(job, moved=m.ranges) for m in tried for job in jobs]))
    found: dict[str, tuple[float, Move, list[raw.Run]]] = {}
    for move in tried:
        apart = [next(after) for _ in jobs]
        gain = max(_fewer(*each) for each in zip(base, apart, strict=True))
        least = found[move.name][0] + _SIMPLER if move.name in found else _WORTH
        if gain >= least:
            found[move.name] = gain, move, apart
    best = sorted(found.values(), key=lambda each: -each[0])[:_SENTENCES]
    return [(move, apart) for _, move, apart in best]


def _is_felt(move: Move, base: raw.Run) -> bool:
    """Whether a gain can be more than chance, for want of an interval.

    A line that costs next to nothing may come out cheaper because the threads take another order.
    """
    return move.cycles >= _WORTH * base.work_cycles


def _fewer(before: raw.Run, after: raw.Run) -> float:
    """Return the share of all cycles that ``after`` saves."""
    return part_of(before.work_cycles - after.work_cycles, before.work_cycles)


def _gains(
    jobs: Sequence[Job],
    found: Sequence[tuple[Move, list[raw.Run]]],
    base: Sequence[raw.Run],
    draws: Sequence[Sequence[Draws]],
) -> list[Advice]:
    """Return what each move saves on each machine, as the report's advice, the best one first.

    A move whose every interval contains 0 saves nothing that can be told from chance.
    """
    advice = []
    for number, (move, after) in enumerate(found, 1):
        gains = {}
        for job, before, apart, drawn in zip(jobs, base, after, draws, strict=True):
            gains[job.machine.name] = Gain(
                cycles_before=before.work_cycles,
                cycles_after=apart.work_cycles,
                fewer=_fewer(before, apart),
                interval=gain_interval(drawn[0], drawn[number]),
                hitm_before=before.hitm,
                hitm_after=apart.hitm,
            )
        if all(each.interval is not None and each.interval.low <= 0 for each in gains.values()):
            continue
        moved = sum(high - low for low, high in move.ranges)
        advice.append(
            Advice(
                object=move.name, words=move.words, edit=move.edit, bytes_moved=moved,
                machines=gains,
            )
        )  # fmt: skip
    advice.sort(key=lambda one: -max(gain.shown for gain in one.machines.values()))
    return advice


def _without_intervals(machines: Sequence[Machine], count: int, how: str) -> list[str]:
    if not count:
        return [f"no intervals: {how}"]
    return [
        f"no intervals on {machine.name}: no number of its file has a range"
        for machine in machines
        if not machine_inputs(machine)
    ]


def _guest(recorded: Recorded) -> str:
    """Return the guest's shape, or the number of threads, in words."""
    if "guest" in recorded.meta:
        return guest_words(recorded.meta["guest"])
    threads, processes = recorded.meta["nr_threads"], {pid for pid, *_ in recorded.meta["images"]}
    many = f" of {len(processes)} processes" if len(processes) > 1 else ""
    return f"{threads} thread{'s' if threads != 1 else ''}{many}"


def make_report(
    recorded: Recorded,
    source: Source,
    machines: Sequence[Machine],
    *,
    lines: int,
    advise: bool,
    uncertainty: int | None,
    seed: int = 1,
    seeds: int = 0,
    recorder: str = "emulator",
) -> dict[str, Any]:
    """Return the report of a recording, with a variant per machine.

    ``uncertainty``: the number of draws of the machine's ranged numbers; None: the default where
    replays are cheap. ``seeds``: the number of orders of
    threads, instead of draws.
    """
    cpus = places(recorded, machines)
    homes = guest_nodes(recorded.meta.get("guest"), machines, cpus)
    jobs = [Job(m, c, nodes=n, seed=seed) for m, c, n in zip(machines, cpus, homes, strict=True)]
    sites = Sites(recorded.meta)
    base = [_ranked(sites.apply(each)) for each in source.all(jobs)]
    objects = (GuestMemory if "guest" in recorded.meta else Memory)(recorded.meta)
    hot = [each.lines for each in base]
    named = [with_names(each, lines) for each in base]
    pcs = set().union(
        *(
            _instructions(wanted) | calls_of(wanted)
            for found, numbers in zip(hot, named, strict=True)
            for wanted in ([found[n] for n in numbers],)
        )
    )
    frames = objects.frames(pcs)
    worst = _worst(hot)
    try:
        sizes = _uses(hot, lines)
        objects.learn(sizes, _accesses(hot, sizes))
        things = [
            [used_by(objects.name_of(_hottest(line)), line, frames) for line in found]
            for found in hot
        ]
        costly = list(zip(hot[worst], things[worst], strict=True))
        tried = moves(costly, objects.name_of) if advise else []
        count = draws_of(uncertainty, recorded.stepping.accesses_reported)
        if not seeds and not (count and any(map(machine_inputs, machines))):
            tried = [each for each in tried if _is_felt(each, base[worst])]
        found = _worth_it(source, jobs, tried, base)
        moved = [move.ranges for move, _ in found]
        if seeds:
            draws = seed_draws(source, jobs, moved, seeds)
        else:
            draws = replay_draws(source, jobs, moved, count)
        advice = _gains(jobs, found, base, draws)
        names = [machine.name for machine in machines]
        waited = waits(
            {
                name: list(zip(lines_of, named_as, strict=True))
                for name, lines_of, named_as in zip(names, hot, things, strict=True)
            },
            {name: each.work_cycles for name, each in zip(names, base, strict=True)},
            {each.object: {m: gain.shown for m, gain in each.machines.items()} for each in advice},
        )
        variants = []
        for index, machine in enumerate(machines):
            context = _Context(frames, _threads_of(recorded), cpus[index], objects)
            pairs = [(hot[index][n], things[index][n]) for n in named[index]]
            variants.append(_variant(machine, base[index], pairs, context, draws[index][0]))
            found_caches = caches(machine_topology(machine), cpus[index])
            variants[-1]["caches"] = [each.to_data() for each in found_caches]
            told = variants[-1]["lines"]
            variants[-1]["lines"] = told[:lines]
            runs = runs_of(
                [RecordedLine.of(each) for each in told],
                draws[index][0] if seeds else base[index : index + 1], frames,
                threads=recorded.meta["nr_threads"], operations=recorded.operations,
            )  # fmt: skip
            variants[-1]["runs"] = [each.to_data() for each in runs]
    finally:
        objects.close()
    return {
        **_head(recorded, machines),
        "recorder": "guest" if "guest" in recorded.meta else recorder,
        "partial": recorded.partial or any(each.partial for each in base),
        "program": _program(recorded),
        "recording": recorded.stepping.to_data(),
        "uncertainty": {"samples": count, "seed": SEED} if count else None,
        "seeds": seeds or None,
        "notes": [
            *notes(recorded.dynamic, recorded.meta, objects, hot[0]),
            *(() if seeds else _without_intervals(machines, count, source.intervals_by)),
        ],
        "limits": [*source.limits, *(() if "guest" in recorded.meta else (WITHOUT_GUEST,))],
        "model_error": [validation("workload", one.name, one.title) for one in machines],
        "advised": advise,
        "advice": [each.to_data() for each in advice],
        "waits": [each.to_data() for each in waited] if advise else [],
        "variants": variants,
        "provenance": {
            **tool_versions(),
            "program_sha256": recorded.program_sha256,
            **source.provenance,
        },
    }


def _ranked(run: raw.Run) -> raw.Run:
    return structs.replace(run, lines=sorted(run.lines, key=lambda line: -line.heat))


def _head(recorded: Recorded, machines: Sequence[Machine]) -> dict[str, Any]:
    """Return the members on what was recorded, and for which machine."""
    return {
        "format": C2C,
        "experiment": recorded.words,
        "machine": {
            "name": machines[0].name if len(machines) == 1 else "each machine",
            "cpus": recorded.cpus,
            "clock_ghz": machines[0].clock_ghz,
        },
        "guest": _guest(recorded),
        "names_resolved": True,
    }


def _program(recorded: Recorded) -> dict[str, Any]:
    return {
        "status": recorded.status,
        "signal": recorded.signal,
        "threads": recorded.meta["nr_threads"],
        "processes": len({pid for pid, *_ in recorded.meta["images"]}),
        "placement": recorded.placement,
        "operations": recorded.operations,
        "compiler": recorded.compiler,
    }


def _worst(hot: Sequence[Sequence[raw.Line]]) -> int:
    """Return the number of the machine on which the lines cost most."""
    return max(range(len(hot)), key=lambda i: sum(line.heat for line in hot[i]))


def _instructions(lines: Sequence[raw.Line]) -> set[int]:
    """Return the addresses of all instructions that access these lines."""
    return {access.instruction for line in lines for access in line.accesses}


def _uses(hot: Sequence[Sequence[raw.Line]], lines: int) -> dict[int, frozenset[int]]:
    """Return the bytes to name, each with the sizes of the accesses that begin there."""
    sizes: dict[int, set[int]] = {}
    for found in hot:
        for byte in bytes_named(found, lines):
            sizes.setdefault(byte, set())
        for line in found:
            for access in line.accesses:
                byte = line.start + access.offset
                if byte in sizes:
                    sizes[byte].add(access.size)
    return {byte: frozenset(found) for byte, found in sizes.items()}


def _accesses(
    hot: Sequence[Sequence[raw.Line]], named: Mapping[int, frozenset[int]]
) -> list[tuple[int, int]]:
    """Return pairs of instruction and accessed byte to name, those with most accesses first."""
    found: Counter[tuple[int, int]] = Counter()
    for line in chain.from_iterable(hot):
        for access in line.accesses:
            byte = line.start + access.offset
            if byte in named:
                found[access.instruction, byte] += access.hitm + access.records
    return [each for each, _ in found.most_common()]


def bytes_named(found: Sequence[raw.Line], lines: int) -> set[int]:
    """Return every byte whose name one machine's report shows.

    The hottest byte of a line can differ between machines. If only that byte had a name, the fields
    that one machine's report names would depend on the other machines of the request.
    """
    return {
        line.start + offset
        for number, line in enumerate(found)
        if number < lines or line.heat
        for offset in (0, *(access.offset for access in line.accesses))
    }


def _hottest(line: raw.Line) -> int:
    """Return the address of a line's hottest byte, whose object names the line."""
    access = max(line.accesses, key=lambda a: (a.heat, a.records), default=None)
    return line.start + (access.offset if access is not None else 0)


def _variant(
    machine: Machine,
    run: raw.Run,
    named: Sequence[tuple[raw.Line, Thing | None]],
    context: _Context,
    draws: Draws,
) -> dict[str, Any]:
    return {
        "name": machine.name,
        "cpus": len(run.cpu_times),
        "lines_total": run.nr_lines,
        "hitm_total": run.hitm,
        "hitm_remote": run.hitm_remote,
        "hitm_local": run.hitm_local,
        "work_cycles": run.work_cycles,
        "at_lines": at_lines(run),
        "partial": run.partial,
        "model": run.model.to_data(),
        "interval": totals(draws),
        "lines": [_line(line, run, thing, context, draws) for line, thing in named],
        "machine_sha256": sha256_file(machine.path),
    }
