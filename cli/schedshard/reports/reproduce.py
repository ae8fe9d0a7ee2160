# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stage reproduce: everything a newcomer should see, from one command.

This host is measured first, alone, because a simulation on the next core would disturb its times.
Then all simulated points of all machines share the CPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from schedshard.common.progress import Ticker, silent
from schedshard.common.tool import run_many
from schedshard.experiments.experiment import Experiment, experiment_names, load_experiment
from schedshard.experiments.run import Point, RunPlan, RunRequest, merge, plan_run, point_argv
from schedshard.lines.fields import layouts_of
from schedshard.machines.presets import Machine, cpu_count, load_machine, preset_names
from schedshard.show.format import nanoseconds, times

YIELD = "cpumask-yield"
READS = "cpumask-read"
COUNTER = "atomic-inc"
SCAN = "cache-scan"
# Samples of the experiments whose intervals are shown. The second has too few for sensitivities,
# since one of its samples takes a second, and all of reproduce must be done in minutes.
SAMPLES = {YIELD: 128, SCAN: 20}
QUICK_THREADS = (1, 2, 4, 8, 16, 32, 64, 128, 224, 420)


@dataclass(frozen=True)
class ReproduceRequest:
    """quick: fewer machines and fewer points of the curve."""

    seed: int = 1
    quick: bool = False


def plan_reproduce(
    request: ReproduceRequest,
    load: Callable[[str], Machine] = load_machine,
    count: Callable[[Machine], int] = cpu_count,
) -> list[RunPlan]:
    """The yield experiment on its own machine, then on the others, its readers, the curve.

    Then, unless the user wants it quick, the scan of cache-aware scheduling, and the RT scheduler's
    state on the machine with published lines.
    """
    yields, counter = load_experiment(YIELD), load_experiment(COUNTER)
    reads = load_experiment(READS)
    others = [
        name for name in preset_names() if name not in (yields.machine, counter.machine, "host")
    ]
    if request.quick:
        others = [name for name in others if name in ("epyc-9654-2s", "xeon-480")]

    def plan(experiment: Experiment, name: str, threads: tuple[int, ...] | None) -> RunPlan:
        machine = load(name)
        return plan_run(
            RunRequest(experiment, machine, count(machine), seed=request.seed, threads=threads)
        )

    plans = [plan(yields, yields.machine, None)]
    plans += [plan(yields, name, None) for name in others]
    plans.append(plan(reads, reads.machine, None))
    plans.append(plan(counter, counter.machine, QUICK_THREADS if request.quick else None))
    if not request.quick:
        scan = load_experiment(SCAN)
        plans.append(plan(scan, scan.machine, None))
        plans += [_with_lines(e, load, count, request.seed) for e in with_published_lines()]
    return plans


def samples(request: ReproduceRequest, plan: RunPlan) -> int:
    """How many samples the interval of a plan has; 0: it has none."""
    here = plan.request.machine.name == plan.request.experiment.machine
    return SAMPLES.get(plan.request.experiment.name, 0) if here and not request.quick else 0


def with_published_lines() -> list[Experiment]:
    """The experiments of which others published the cost of single cache lines."""
    found = map(load_experiment, experiment_names())
    return [e for e in found if e.metrics and any(known.lines for known in e.published)]


def _with_lines(
    experiment: Experiment,
    load: Callable[[str], Machine],
    count: Callable[[Machine], int],
    seed: int,
) -> RunPlan:
    """The published layouts, the free fix and ours: the other layouts take a minute more."""
    machine = load(experiment.machine)
    chosen = [v.name for v in experiment.variants if v.published_metrics]
    chosen += [v.name for v in experiment.variants if v.name in ("partition", "shard")]
    return plan_run(
        RunRequest(experiment, machine, count(machine), seed=seed, variants=tuple(chosen))
    )


def execute_all(plans: Sequence[RunPlan], tick: Ticker = silent) -> list[dict[str, Any]]:
    """Run the points of all plans through one pool, then merge each plan's own."""
    points: list[tuple[RunPlan, Point]] = [(plan, p) for plan in plans for p in plan.points]

    def on_done(index: int) -> None:
        plan, point = points[index]
        tick(f"{plan.request.machine.name} {point.variant.name} on {point.where}")

    raws = run_many(
        [point_argv(plan, point) for plan, point in points],
        weights=[float(point.cpus) for _, point in points],
        on_done=on_done,
    )
    layouts = layouts_of(raws)
    results = []
    start = 0
    for plan in plans:
        end = start + len(plan.points)
        results.append(merge(plan, raws[start:end], layouts))
        start = end
    return results


def _variant(result: dict[str, Any], name: str) -> dict[str, Any]:
    return next(v for v in result["variants"] if v["name"] == name)


def sentence(result: dict[str, Any]) -> str:
    """The one sentence: the cost of the global mask, and the gain of a line for each cache."""
    slow, fast = _variant(result, "global"), _variant(result, "llc")
    predicted = slow["cycles_per_op"] / fast["cycles_per_op"]
    measured = slow["published"] / fast["published"]
    cpus = result["cpus"]
    before, after = nanoseconds(slow["ns_per_op"]), nanoseconds(fast["ns_per_op"])
    return (
        f"Predicted for a two-socket EPYC whose {cpus} CPUs all mark themselves in one CPU mask: "
        f"{before} a mark. With a mask for each last-level cache: {after}, {times(predicted)} "
        f"less. Others measured {times(measured)} on the real machine, and nothing in the model "
        f"was fitted to it."
    )
