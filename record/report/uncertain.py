# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows how a recording's figures depend on uncertain numbers of the machine.

Replays run on machines whose ranged numbers were drawn together, as for ``run --uncertainty``. The
gain of advice is computed within each draw, before and after the edit.
"""

from collections.abc import Sequence
from dataclasses import replace

from model.machines.presets import Machine
from model.results.raw import Line, Run
from model.results.saved import Interval
from model.run.uncertain import intervals
from model.run.uncertain.draws import draw, sampled_machine
from model.run.uncertain.inputs import machine_inputs
from model.run.uncertain.uncertainty import LEAST
from record.report.replaying import Job, Range, Source

# The default: as many draws as an interval needs, if the trace has at most this many accesses.
DEFAULT = LEAST
MOST_ACCESSES = 100_000
SEED = 1

Draws = list[Run]


def draws_of(asked: int | None, accesses: int) -> int:
    """Return the number of draws: the request's, or the default where replays are cheap."""
    if asked is not None:
        return asked
    return DEFAULT if accesses <= MOST_ACCESSES else 0


def _sampled(machine: Machine, count: int) -> list[Machine]:
    inputs = machine_inputs(machine)
    if not inputs or not count:
        return []
    drawn = draw(inputs, machine.data, count, SEED)
    return [sampled_machine(machine, values) for values in drawn]


def replay_draws(
    source: Source, base: Sequence[Job], moved: Sequence[Sequence[Range]], count: int
) -> list[list[Draws]]:
    """Return for each job the draws with nothing moved, then those with each of ``moved``.

    A machine without a ranged number has no draws.
    """
    every = [_sampled(job.machine, count) for job in base]
    jobs = [
        replace(job, machine=machine, moved=tuple(ranges))
        for sampled, job in zip(every, base, strict=True)
        for ranges in ((), *moved)
        for machine in sampled
    ]
    raws = iter(source.all(jobs))
    return [[[next(raws) for _ in sampled] for _ in ((), *moved)] for sampled in every]


def seed_draws(
    source: Source, base: Sequence[Job], moved: Sequence[Sequence[Range]], count: int
) -> list[list[Draws]]:
    """Return the result of replay_draws() with seeds as draws. A seed gives an order of threads."""
    jobs = [
        replace(job, moved=tuple(ranges), seed=seed)
        for job in base
        for ranges in ((), *moved)
        for seed in range(1, count + 1)
    ]
    raws = iter(source.all(jobs))
    return [[[next(raws) for _ in range(count)] for _ in ((), *moved)] for _ in base]


def line_interval(line: Line, draws: Draws) -> Interval | None:
    """Return the interval of the cycles per load of one line; None unless all draws have it."""
    costs = [
        float(other.avg_load_cycles)
        for raw in draws
        for other in raw.lines
        if other.address == line.address
    ]
    return intervals.interval(costs) if costs and len(costs) == len(draws) else None


def gain_interval(before: Draws, after: Draws) -> Interval | None:
    """Return the interval of a move's gain, a share of all cycles; None without draws."""
    gains = [
        1 - moved.work_cycles / raw.work_cycles
        for raw, moved in zip(before, after, strict=True)
        if raw.work_cycles
    ]
    return intervals.interval(gains) if gains else None


def totals(draws: Draws) -> dict[str, Interval] | None:
    """Return the intervals of HITM and of all cycles; None without draws."""
    if not draws:
        return None
    return {
        "hitm_total": intervals.interval([raw.hitm for raw in draws]),
        "work_cycles": intervals.interval([raw.work_cycles for raw in draws]),
    }
