# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes the report of a recorded program's lines on each machine, their owners, and remedies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from common.errors import UserError
from common.provenance import tool_versions
from model.machines.presets import Machine
from model.results import raw
from model.results.c2c import Advice, Described, Drawn, Gain, Program, Waited
from model.results.c2c import Recorded as Report
from model.results.lines import part_of
from model.results.saved import Count, Few, Saved, absent
from model.run.model_error import validation
from model.run.uncertain.inputs import machine_inputs
from model.run.whole import WORKLOAD
from record.names.guest_names import GuestMemory, guest_nodes, guest_places, guest_words
from record.names.memory import Memory
from record.program.machine_view import cpus_in_order
from record.report.callers import Sites
from record.report.moving import Move, moves
from record.report.notes import notes
from record.report.replaying import WINDOW, Job, Source
from record.report.uncertain import SEED, Draws, draws_of, gain_interval, replay_draws, seed_draws
from record.report.variant import Named, make_variant, name_lines, threads
from record.report.waits import waits

NAMES = "schedshard/record-names/1"
LIMITS = (
    "predicted, not measured: read the ranking first, cycles second",
    WINDOW,
    "modelled: which core has a line, how far it is away, and queues at lines",
    "not modelled: the capacity of caches, prefetchers, the width of links, page walks",
    "intervals: 90%, from the ranges in the machine file; they do not cover what is not modelled",
    "an instruction takes one cycle",
    "other machines replay the first machine's accesses: loops that wait make as many rounds",
)
WITHOUT_GUEST = "the kernel is not modelled: a system call takes 300 cycles plus its wait"
# A gain below this share of the cycles is not worth a sentence.
_WORTH = 0.005
# How much more a complex edit must gain than the simpler edit for the same object, and how many
# times as much if nobody knows how to make it, unlike the simpler one.
_SIMPLER, _UNKNOWN = 0.02, 1.25
_SENTENCES = 3
# If threads execute fewer quanta, two recordings of a program differ by more than 3 points.
_QUANTA = 6
# Ranges of bytes that a result keeps of an edit, for its picture.
_SHOWN = 64


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
    flags: str = absent("")
    meta: dict[str, Any]
    stepping: raw.Stepping

    def to_data(self) -> dict[str, Any]:
        """Return the content of the file of names."""
        return {"format": NAMES, **super().to_data()}


def places(recorded: Recorded, machines: Sequence[Machine]) -> list[tuple[int, ...]]:
    """Return for each machine the CPUs that the recording's CPUs stand for."""
    if "guest" in recorded.meta:
        return guest_places(recorded.meta["guest"], machines)
    used = max((int(thread[2]) + 1 for thread in threads(recorded.meta)), default=1)
    by_machine = []
    for machine in machines:
        cpus = cpus_in_order(machine, recorded.placement)
        if len(cpus) < used:
            raise UserError(
                f"the threads ran on {used} CPUs, but {machine.name} has {len(cpus)}: record with "
                f"--cpus {len(cpus)}"
            )
        # The trace may contain more CPUs than the threads used; these stay idle.
        if len(cpus) < recorded.cpus:
            raise UserError(
                f"the trace has {recorded.cpus} CPUs, but {machine.name} has {len(cpus)}: record "
                f"with --cpus {len(cpus)}"
            )
        by_machine.append(tuple(cpus[: recorded.cpus]))
    return by_machine


def _worth_it(
    source: Source, jobs: Sequence[Job], tried: Sequence[Move], base: Sequence[raw.Run]
) -> list[tuple[Move, list[raw.Run]]]:
    """Return the moves that gain enough, best first, each with its replay on every machine.

    Of alternatives for one object a later one counts if it gains clearly more.
    """
    after = iter(source.all([replace(job, moved=m.ranges) for m in tried for job in jobs]))
    gains: dict[str, tuple[float, Move, list[raw.Run]]] = {}
    for move in tried:
        apart = [next(after) for _ in jobs]
        gain = max(_fewer(*pair) for pair in zip(base, apart, strict=True))
        least = _WORTH
        if move.name in gains:
            before, simpler, _ = gains[move.name]
            least = before * (_UNKNOWN if simpler.edit and not move.edit else 1) + _SIMPLER
        if gain >= least:
            gains[move.name] = gain, move, apart
    best = sorted(gains.values(), key=lambda entry: -entry[0])[:_SENTENCES]
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
    jobs: Sequence[Job], best: Sequence[tuple[Move, list[raw.Run]]], base: Sequence[raw.Run],
    draws: Sequence[Sequence[Draws]],
) -> list[Advice]:  # fmt: skip
    """Return what each move saves on each machine, as the report's advice, the best one first.

    If each interval of a move contains 0, its savings cannot be distinguished from chance.
    """
    advice = []
    for number, (move, after) in enumerate(best, 1):
        gains = {}
        for job, before, apart, drawn in zip(jobs, base, after, draws, strict=True):
            gains[job.machine.name] = Gain(
                cycles_before=before.work_cycles, cycles_after=apart.work_cycles,
                fewer=_fewer(before, apart), interval=gain_interval(drawn[0], drawn[number]),
                hitm_before=before.hitm, hitm_after=apart.hitm,
            )  # fmt: skip
        if all(gain.interval is not None and gain.interval.low <= 0 for gain in gains.values()):
            continue
        moved = sum(high - low for low, high in move.ranges)
        advice.append(
            Advice(
                object=move.name, words=move.words, edit=move.edit, bytes_moved=moved,
                moved=list(move.ranges[:_SHOWN]), machines=gains,
            )
        )  # fmt: skip
    advice.sort(key=lambda entry: -max(gain.shown for gain in entry.machines.values()))
    return advice


def _without_intervals(machines: Sequence[Machine], count: int, source: Source) -> list[str]:
    if not count:
        return [f"no intervals: {source.intervals_by}"]
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


@dataclass(frozen=True)
class Wanted:
    """What a report shows.

    ``uncertainty``: the number of draws of the machine's ranged numbers; None: the default where
    replays are cheap. ``seeds``: the number of orders of threads, instead of draws.
    """

    lines: int
    advise: bool
    uncertainty: int | None
    seed: int = 1
    seeds: int = 0
    recorder: str = "emulator"


@dataclass(frozen=True)
class _Advised:
    """The advice, the objects that no move helps, and the draws that the intervals come from."""

    advice: list[Advice]
    waits: list[Waited]
    draws: Sequence[Sequence[Draws]]
    count: int


def _advise(
    source: Source, jobs: Sequence[Job], base: Sequence[raw.Run], named: Named, wanted: Wanted
) -> _Advised:
    """Try the moves, on every machine and in every draw."""
    machines = [job.machine for job in jobs]
    worst = max(range(len(base)), key=lambda i: sum(line.heat for line in base[i].lines))
    tried = moves(named.lines[worst], named.objects.name_of) if wanted.advise else []
    count = draws_of(wanted.uncertainty, named.accesses_reported)
    if not wanted.seeds and not (count and any(map(machine_inputs, machines))):
        tried = [move for move in tried if _is_felt(move, base[worst])]
    best = _worth_it(source, jobs, tried, base)
    moved = [move.ranges for move, _ in best]
    if wanted.seeds:
        draws = seed_draws(source, jobs, moved, wanted.seeds)
    else:
        draws = replay_draws(source, jobs, moved, count)
    advice = _gains(jobs, best, base, draws)
    names = [machine.name for machine in machines]
    waited = waits(
        dict(zip(names, named.lines, strict=True)),
        {name: run.work_cycles for name, run in zip(names, base, strict=True)},
        {entry.object: {m: gain.shown for m, gain in entry.machines.items()} for entry in advice},
    )
    return _Advised(advice, waited if wanted.advise else [], draws, count)


def make_report(
    recorded: Recorded, source: Source, machines: Sequence[Machine], wanted: Wanted
) -> Report:
    """Return the report of a recording, with a variant per machine."""
    cpus = places(recorded, machines)
    homes = guest_nodes(recorded.meta.get("guest"), machines, cpus)
    jobs = [
        Job(m, c, nodes=n, seed=wanted.seed) for m, c, n in zip(machines, cpus, homes, strict=True)
    ]
    sites = Sites(recorded.meta)
    base = [_ranked(sites.apply(run)) for run in source.all(jobs)]
    guest = "guest" in recorded.meta
    recorder = "guest" if guest else wanted.recorder
    objects = (GuestMemory if guest else Memory)(recorded.meta)
    try:
        named = name_lines(base, objects, wanted.lines, recorded.stepping.accesses_reported)
        advised = _advise(source, jobs, base, named, wanted)
        variants = [
            make_variant(
                job, run, named, index, advised.draws[index][0], threads(recorded.meta),
                seeds=bool(wanted.seeds), operations=recorded.operations,
            )
            for index, (job, run) in enumerate(zip(jobs, base, strict=True))
        ]  # fmt: skip
    finally:
        objects.close()
    single = machines[0].name if len(machines) == 1 else "each machine"
    intervals = () if wanted.seeds else _without_intervals(machines, advised.count, source)
    return Report(
        experiment=recorded.words,
        machine=Described(name=single, cpus=recorded.cpus, clock_ghz=machines[0].clock_ghz),
        guest=_guest(recorded),
        recorder=recorder,
        partial=recorded.partial or any(run.partial for run in base),
        program=Program.made_from(
            recorded,
            threads=recorded.meta["nr_threads"],
            processes=len({pid for pid, *_ in recorded.meta["images"]}),
        ),
        recording=recorded.stepping,
        uncertainty=Drawn(samples=advised.count, seed=SEED) if advised.count else None,
        seeds=wanted.seeds or None,
        notes=[
            *notes(recorded.dynamic, recorded.meta, objects, base[0].lines),
            *_short(recorded.stepping.quantum, recorded.meta["nr_threads"], base[0]),
            *(() if guest else as_many(recorded.meta["nr_threads"], recorded.cpus)),
            *intervals,
        ],
        limits=[*source.limits, *(() if guest else (WITHOUT_GUEST,))],
        model_error=[validation(WORKLOAD, machine.name, recorder=recorder) for machine in machines],
        advised=wanted.advise,
        advice=advised.advice,
        waits=advised.waits,
        variants=variants,
        provenance={
            **tool_versions(),
            "program_sha256": recorded.program_sha256,
            **source.provenance,
        },
    )


def _short(quantum: int | None, count: int, run: raw.Run) -> list[str]:
    """Return a note if ``count`` threads executed so little that their order is due to chance."""
    executed = [times[1] for times in run.cpu_times]
    if quantum is None or count < 2 or not executed:
        return []
    mean = (sum(executed) - max(executed)) // (count - 1)
    if mean >= _QUANTA * quantum:
        return []
    return [
        f"threads other than the busiest executed {mean:,} instructions on average, only a few "
        f"quanta of {quantum:,}: so the host decides how threads overlap; let them work longer"
    ]


def as_many(threads: int, cpus: int) -> list[str]:
    """Return a note if a program started about as many threads as there are CPUs.

    On another machine it may start another number, so its figures cannot be compared.
    """
    if cpus < 8 or not cpus <= threads <= cpus + 2:
        return []
    return [
        f"{threads} threads on {cpus} CPUs: the program seems to ask how many CPUs there are; to "
        "compare machines, give the same --cpus N for each"
    ]


def _ranked(run: raw.Run) -> raw.Run:
    return structs.replace(run, lines=sorted(run.lines, key=lambda line: -line.heat))
