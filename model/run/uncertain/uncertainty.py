# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes predictions with intervals: repeats a run for each sample of all uncertain inputs.

A sample has its own machine file with plain numbers, its own inputs of the experiment, and its own
seed. Variants are compared only within a sample: a relative figure divides the sample's variant by
the sample's baseline. A parameter that was chosen on a published figure is chosen again in each
sample. If that figure does not apply (another machine, or fewer CPUs), the parameter is drawn like
any other.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from common.errors import UserError
from common.progress import Ticker, silent
from common.tool import run_many
from model.results import uncertainty as saved
from model.results.rows import Key
from model.results.run import Result
from model.run import figures
from model.run.experiment import Experiment, Param
from model.run.run import (
    Point,
    RunPlan,
    RunRequest,
    comparable,
    plan_run,
    point_argv,
    point_metrics,
    variant_rows,
)
from model.run.uncertain import intervals
from model.run.uncertain.calibrate import Search
from model.run.uncertain.draws import Values, make_samples, sampled_experiment
from model.run.uncertain.inputs import PARAM, Input, experiment_inputs, machine_inputs

LEAST = 20
MOST = 10_000
Ticking = Callable[[str, int], AbstractContextManager[Ticker]]


@dataclass(frozen=True)
class Chosen:
    """A parameter chosen again in each sample: its values, and how many searches missed."""

    param: Param
    target: float
    values: tuple[float, ...] = ()
    missed: int = 0


@dataclass(frozen=True)
class Study:
    """A request with its samples: the draws, and a plan for each."""

    request: RunRequest
    inputs: tuple[Input, ...]
    values: tuple[Values, ...]
    plans: tuple[RunPlan, ...]
    chosen: Chosen | None = None

    @property
    def points(self) -> int:
        """Return the number of simulations, not counting those that fit a parameter."""
        return sum(len(plan.points) for plan in self.plans)


def check_samples(count: int) -> None:
    """Raise a UserError for a number of samples that --uncertainty cannot take."""
    if not LEAST <= count <= MOST:
        raise UserError(f"--uncertainty {count}: a 90% interval needs {LEAST} to {MOST:,} samples")


def plan_study(request: RunRequest, count: int) -> Study:
    """Return ``count`` samples drawn with the request's seed. The caller has checked the count."""
    chosen = _chosen(request)
    inputs = [
        *machine_inputs(request.machine),
        *experiment_inputs(request.experiment, chosen.param.name if chosen else None),
    ]
    made = make_samples(request.machine, request.experiment, inputs, count, request.seed)
    plans = [
        plan_run(replace(request, experiment=s.experiment, machine=s.machine, seed=s.seed))
        for s in made
    ]
    values = tuple(sample.values for sample in made)
    return Study(request, tuple(inputs), values, tuple(plans), chosen)


def _chosen(request: RunRequest) -> Chosen | None:
    param = request.experiment.calibrated
    if param is None or param.calibrated_on is None or not comparable(plan_run(request)):
        return None
    on = param.calibrated_on
    variant = request.experiment.variant(on.variant)
    return Chosen(param, variant.published_metrics[on.metric])


def choose(study: Study, ticking: Ticking) -> Study:
    """Return the study with its parameter chosen in every sample."""
    chosen = study.chosen
    if chosen is None or chosen.param.calibrated_on is None:
        return study
    param, on = chosen.param, chosen.param.calibrated_on
    low, high = param.low or 0.0, param.high or 0.0
    searches = [Search(param.value, low, high, chosen.target) for _ in study.plans]
    metric = next(m for m in study.request.experiment.metrics if m.name == on.metric)
    variant = study.request.experiment.variant(on.variant)
    turn = 1
    while True:
        tries = [(i, value) for i, s in enumerate(searches) if (value := s.propose()) is not None]
        if not tries:
            break
        plans = [
            replace(_with(study.plans[i], param, value), points=(Point(variant, plan.cpus),))
            for i, value in tries
            for plan in [study.plans[i]]
        ]
        with ticking(f"choosing {param.name}, round {turn}", len(tries)) as tick:
            raws = run_plans(plans, tick)
        for (i, value), plan, (raw,) in zip(tries, plans, raws, strict=True):
            metrics = point_metrics(study.request.experiment, plan.points[0], raw)
            searches[i].tell(value, metrics[metric.reported])
        turn += 1
    values = tuple(search.best for search in searches)
    plans = [_with(plan, param, v) for plan, v in zip(study.plans, values, strict=True)]
    missed = sum(not search.reached for search in searches)
    return replace(study, plans=tuple(plans), chosen=replace(chosen, values=values, missed=missed))


def _with(plan: RunPlan, param: Param, value: float) -> RunPlan:
    experiment = sampled_experiment(plan.request.experiment, {PARAM + param.name: value})
    return replace(plan, request=replace(plan.request, experiment=experiment))


def _thin(experiment: Experiment) -> Callable[[Any], Any]:
    """Return a function that reduces a simulator's JSON.

    Of the JSON's lines the function keeps the published ones.
    """
    wanted = {
        (line.object, line.line - 1) for known in experiment.published for line in known.lines
    }

    def keep(raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        kept = {key: raw[key] for key in ("metrics", "simulator") if key in raw}
        kept["lines"] = [
            {key: line[key] for key in ("object", "line", "avg_load_cycles")}
            for line in raw.get("lines", ())
            if (line.get("object"), line.get("line")) in wanted
        ]
        return kept

    return keep


def run_plans(plans: Sequence[RunPlan], tick: Ticker = silent) -> list[list[Any]]:
    """Run the points of all plans through one pool. Return the kept parts, by plan."""
    points = [(plan, point) for plan in plans for point in plan.points]

    def on_done(index: int) -> None:
        plan, point = points[index]
        tick(f"{plan.request.machine.name} {point.variant.name} on {point.where}")

    raws = iter(
        run_many(
            [point_argv(plan, point) for plan, point in points],
            weights=[float(point.cpus) for _, point in points],
            on_done=on_done,
            keep=_thin(plans[0].request.experiment) if plans else None,
        )
    )
    return [[next(raws) for _ in plan.points] for plan in plans]


def figures_of(plan: RunPlan, raws: Sequence[Any]) -> dict[Key, float | None]:
    """Return the figures of one sample, by their keys."""
    experiment = plan.request.experiment
    metrics = [point_metrics(experiment, p, raw) for p, raw in zip(plan.points, raws, strict=True)]
    rows = variant_rows(plan, metrics, [[] for _ in raws])
    predicted = intervals.predicted_of(rows, experiment.baseline, figures.described(experiment))
    return {figure.key: figure.value for figure in predicted}


def complete(result: Result, study: Study, raws: Sequence[Sequence[Any]]) -> None:
    """Add intervals to a result, with the draws."""
    samples = [figures_of(plan, own) for plan, own in zip(study.plans, raws, strict=True)]
    intervals.attach(result, samples)
    for error in result.model_error:
        intervals.widen(result, error.variants, error.kind, error.factor)
    _attach_lines(result, study, raws)
    shown = intervals.headlines(result)
    names = [input_.name for input_ in study.inputs]
    drawn = {name: [values[name] for values in study.values] for name in names}
    result.uncertainty = saved.Uncertainty(
        samples=len(samples),
        seed=study.request.seed,
        inputs=[
            saved.Input(
                name=input_.name,
                value=input_.value,
                low=input_.low,
                high=input_.high,
                why=input_.why,
                drawn=drawn[input_.name],
            )
            for input_ in study.inputs
        ],
        calibrated=_calibrated(study),
        figures=[
            saved.Samples(
                variant=figure.variant,
                place=figure.place,
                figure=figure.name,
                values=[sample.get(figure.key) for sample in samples],
            )
            for figure in shown
        ],
    )


def _calibrated(study: Study) -> saved.Calibrated | None:
    chosen = study.chosen
    if chosen is None or chosen.param.calibrated_on is None:
        return None
    on = chosen.param.calibrated_on
    return saved.Calibrated(
        name=PARAM + chosen.param.name,
        value=chosen.param.value,
        variant=on.variant,
        figure=on.metric,
        target=chosen.target,
        interval=intervals.interval(chosen.values),
        missed=chosen.missed,
    )


def _attach_lines(result: Result, study: Study, raws: Sequence[Sequence[Any]]) -> None:
    """Add the intervals of cycles per load of the published lines.

    The published figure is a range of means. ``overlaps`` says whether it and the interval overlap.
    """
    names = [point.variant.name for point in study.plans[0].points]
    for line in result.published_lines:
        if line.variant not in names:
            continue
        at = names.index(line.variant)
        cycles = [
            row["avg_load_cycles"]
            for own in raws
            for row in own[at]["lines"]
            if (row["object"], row["line"] + 1) == (line.object, line.line)
        ]
        if len(cycles) == len(raws):
            line.interval = intervals.interval(cycles)
            line.overlaps = line.interval.low <= line.high and line.low <= line.interval.high


def with_intervals(request: RunRequest, result: Result, count: int, ticking: Ticking) -> None:
    """Run all samples of a request, and add the intervals to its result."""
    study = choose(plan_study(request, count), ticking)
    with ticking(f"{count} samples of {len(study.inputs)} inputs", study.points) as tick:
        raws = run_plans(study.plans, tick)
    complete(result, study, raws)
