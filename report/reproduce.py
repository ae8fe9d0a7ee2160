# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage reproduce: simulates everything that a newcomer should see, from one command.

The plans run one after the other, and the points of a plan share the CPUs. So each result can be
saved before the next plan begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from common.progress import Ticker
from common.show.format import nanoseconds, times
from model.lines.dwarf import Layouts
from model.lines.fields import layouts_of
from model.machines.presets import cpu_count, load_machine, preset_names
from model.results.rows import Bar
from model.results.run import Bars, Result
from model.run.experiment import Experiment, experiment_names, load_experiment
from model.run.run import RunPlan, RunRequest, execute, merge, plan_run
from model.run.run_options import with_settings
from model.run.uncertain.uncertainty import with_intervals

YIELD = "cpumask-yield"
COUNTER = "atomic-inc"
SCAN = "cache-scan"
PUSH_IPI = "push_ipi"
# Samples of the experiments whose intervals are shown; reproduce must end within minutes.
SAMPLES = {YIELD: 48, SCAN: 20}
QUICK_THREADS = (1, 2, 4, 8, 16, 32, 64, 128, 224, 420)


@dataclass(frozen=True)
class ReproduceRequest:
    """The user's request; ``quick``: fewer machines, experiments and points, no intervals."""

    seed: int = 1
    quick: bool = False


def plan_reproduce(request: ReproduceRequest) -> list[RunPlan]:
    """Return the plans of all simulations, in the order in which they run.

    First the yield experiment on its own machine and on others, then the counter's curve. Unless
    the request is quick, the scan of cache-aware scheduling follows, and experiments
    with published lines: with Linux's default of RT_PUSH_IPI, then as they were published.
    """
    yields, counter = load_experiment(YIELD), load_experiment(COUNTER)
    others = [
        name for name in preset_names() if name not in (yields.machine, counter.machine, "host")
    ]
    if request.quick:
        others = [name for name in others if name in ("epyc-9654-2s", "xeon-480")]

    def plan(experiment: Experiment, name: str, threads: tuple[int, ...] | None) -> RunPlan:
        machine, seed = load_machine(name), request.seed
        return plan_run(
            RunRequest(experiment, machine, cpu_count(machine), seed=seed, threads=threads)
        )

    plans = [plan(yields, yields.machine, None)]
    plans += [plan(yields, name, None) for name in others]
    plans.append(plan(counter, counter.machine, QUICK_THREADS if request.quick else None))
    if not request.quick:
        scan = load_experiment(SCAN)
        plans.append(plan(scan, scan.machine, None))
        for experiment in with_published_lines():
            plans += _with_lines(experiment, request.seed)
    return plans


def samples(request: ReproduceRequest, plan: RunPlan) -> int:
    """Return the number of samples of a plan's interval; 0: the plan has no interval."""
    here = plan.request.machine.name == plan.request.experiment.machine
    return SAMPLES.get(plan.request.experiment.name, 0) if here and not request.quick else 0


def with_published_lines() -> list[Experiment]:
    """Return the experiments for which others published the cost of single cache lines."""
    experiments = map(load_experiment, experiment_names())
    return [e for e in experiments if e.metrics and any(known.lines for known in e.published)]


def _with_lines(experiment: Experiment, seed: int) -> list[RunPlan]:
    """Return plans of ``partition`` and ``shard``, and of stock or the published layouts.

    The published machine had RT_PUSH_IPI on, so that its figures are beside that plan only. The
    other layouts would take another minute.
    """
    machine = load_machine(experiment.machine)
    ours = [v.name for v in experiment.variants if v.name in ("partition", "shard")]
    published = [v.name for v in experiment.variants if v.published_metrics]

    def plan(settings: Experiment, words: str, chosen: list[str]) -> RunPlan:
        titled = replace(settings, title=f"{experiment.title}, RT_PUSH_IPI {words}")
        return plan_run(
            RunRequest(titled, machine, cpu_count(machine), seed=seed, variants=(*chosen, *ours))
        )

    off = with_settings(experiment, (f"{PUSH_IPI}=0",))
    return [
        plan(off, "off (Linux's default)", [experiment.baseline]),
        plan(experiment, "on (as on the published machine)", published),
    ]


def file_name(result: Result) -> str:
    """Return the name of the file that a result is saved in."""
    off = "-push_ipi-0" if result.params.get(PUSH_IPI) == 0 else ""
    return f"{result.experiment}-{result.machine.name}{off}.json"


def simulated(
    request: ReproduceRequest,
    plans: Sequence[RunPlan],
    tick: Ticker,
    show: Callable[[Result], None],
) -> Iterator[Result]:
    """Run one plan after the other, with its samples, and yield each result at once.

    ``show`` gets each result as soon as it is there, before its samples run.
    """
    layouts: dict[str, Layouts | None] = {}

    @contextmanager
    def counted(title: str, total: int) -> Iterator[Ticker]:
        yield tick

    for plan in plans:
        raws = execute(plan, tick)
        # An experiment's lines have the same types on all machines. Reading them takes seconds.
        name = plan.request.experiment.name
        if name not in layouts:
            layouts[name] = layouts_of(raws)
        result = merge(plan, raws, layouts[name])
        show(result)
        if count := samples(request, plan):
            with_intervals(plan.request, result, count, counted)
        yield result


def point_count(request: ReproduceRequest, plans: Sequence[RunPlan]) -> int:
    """Return the number of runs of the simulator in all plans, samples included."""
    return sum(len(plan.points) * (1 + samples(request, plan)) for plan in plans)


def _variant(result: Bars, name: str) -> Bar:
    return next(v for v in result.variants if v.name == name)


def sentence(result: Bars) -> str:
    """Return the summary: the cost of the global mask, and what a mask per cache gains."""
    slow, fast = _variant(result, "global"), _variant(result, "llc")
    predicted = slow.cycles_per_op / fast.cycles_per_op
    measured = (slow.published or 0.0) / (fast.published or 1.0)
    cpus = result.cpus
    before, after = nanoseconds(slow.ns_per_op), nanoseconds(fast.ns_per_op)
    return (
        f"Predicted for a two-socket EPYC whose {cpus} CPUs all set a bit in one CPU mask: "
        f"{before} per operation. With a mask for each last-level cache: {after}, "
        f"{times(predicted)} less. Others measured {times(measured)} on the real machine. Nothing "
        "in the model was fitted to that."
    )
