# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage run: turns a request into points, points into processes, and their JSON into a result.

``plan_run`` and ``merge`` are pure; ``execute`` is the only part that starts processes.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from msgspec import ValidationError

from common.errors import UserError
from common.formats import RUN
from common.paths import sim_binary, typed
from common.progress import Ticker, silent
from common.provenance import machine_provenance, sha256_file, tool_versions
from common.tool import run_many
from model.lines.dwarf import Layouts
from model.lines.fields import numbered
from model.machines.numbers import number_node, value_of
from model.machines.placement import in_order
from model.machines.presets import Machine
from model.results import run as results
from model.results import saved
from model.results.lines import CacheLine
from model.results.rows import AnyVariant, Bar, FigureVariant, Swept, ThreadPoint
from model.results.run import SWEPT, Bars, Curve, Figures, Pairs, Result
from model.run import figures
from model.run.common_entries import experiment_sha256
from model.run.experiment import (
    Experiment,
    Published,
    PublishedPoint,
    Variant,
    protocol_calibration,
)
from model.run.model_error import validation
from model.run.pairs import Pair, pair_variants

FAR = 0.5  # the same limit as in model/sim/model.c


@dataclass(frozen=True)
class RunRequest:
    """The user's request.

    None selects all ``cpus``, the default sweep of ``threads``, and the default shard size ``cap``.
    ``params`` replace inputs that the experiment declares. ``hold_ns`` is the time between acquire
    and release, for variants that have one. ``work_ns`` is the time between operations, ``lines``
    the number of objects, and ``home`` the NUMA node of ping-pong's line. A sweep of pairs runs on
    ``pairs``.
    """

    experiment: Experiment
    machine: Machine
    machine_cpus: int
    cpus: int | None = None
    seed: int = 1
    placement: str = "os"
    variants: tuple[str, ...] = ()
    threads: tuple[int, ...] | None = None
    params: tuple[tuple[str, float], ...] = ()
    cap: int | None = None
    hold_ns: float | None = None
    work_ns: float | None = None
    lines: int | None = None
    home: int | None = None
    pairs: tuple[Pair, ...] = ()


@dataclass(frozen=True)
class Point:
    """One process of the simulator, which runs on the CPUs of ``pair`` or ``on``, if given."""

    variant: Variant
    cpus: int
    pair: Pair | None = None
    on: tuple[int, ...] = ()

    @property
    def where(self) -> str:
        """Return the point's CPUs in words."""
        if self.pair is not None:
            return f"CPUs {self.pair.first} and {self.pair.second}"
        return f"{self.cpus} CPUs"


@dataclass(frozen=True)
class RunPlan:
    """A request with its points, in the order of the tables."""

    request: RunRequest
    cpus: int
    points: tuple[Point, ...]


def sweep_threads(published: Sequence[PublishedPoint], cpus: int) -> tuple[int, ...]:
    """Return a curve's thread counts: published ones that fit, then doublings up to all CPUs."""
    counts = [point.threads for point in published if point.threads <= cpus] or [1]
    while counts[-1] * 2 < cpus:
        counts.append(counts[-1] * 2)
    if counts[-1] < cpus:
        counts.append(cpus)
    return tuple(counts)


def plan_run(request: RunRequest) -> RunPlan:
    """Return the plan. Raise a UserError for what the machine or the experiment lacks."""
    experiment = request.experiment
    cpus = request.machine_cpus if request.cpus is None else request.cpus
    if not 1 <= cpus <= request.machine_cpus:
        raise UserError(
            f"--cpus {cpus}: machine {request.machine.name} has {request.machine_cpus} CPUs; give "
            f"1 to {request.machine_cpus}"
        )
    chosen = tuple(dict.fromkeys(request.variants))
    for name in chosen:
        experiment.variant(name)
    variants = [
        v for v in experiment.variants if (v.name in chosen if chosen else not v.on_request)
    ]
    if experiment.sweep == "pairs":
        if not request.pairs:
            raise UserError(
                f"{experiment.name} needs pairs of CPUs: use '{typed(f'run {experiment.name}')}'"
            )
        return RunPlan(
            request, cpus, tuple(Point(v, 2, pair) for v in variants for pair in request.pairs)
        )
    if experiment.sweep is None:
        counts: tuple[int, ...] = (cpus,)
    elif request.threads is not None:
        counts = tuple(n for n in request.threads if n <= cpus)
    else:
        counts = sweep_threads(_published_points(request), cpus)
    return RunPlan(request, cpus, tuple(Point(v, n) for v in variants for n in counts))


def _published_points(request: RunRequest) -> tuple[PublishedPoint, ...]:
    """Return the points published for the machine, or, if there are none, for another machine.

    Nothing is returned if the experiment only refers to the published figures of another one.
    """
    experiment = request.experiment
    if experiment.published_from is not None or not experiment.published:
        return ()
    own = experiment.published_on(request.machine.name)
    return (own or experiment.published[0]).points


def point_params(request: RunRequest, variant: Variant) -> dict[str, float]:
    """Return the body's inputs: the experiment's, replaced by the variant's and the request's."""
    params = {param.name: param.value for param in request.experiment.params}
    params.update(variant.params)
    params.update(request.params)
    if request.hold_ns is not None and variant.hold:
        params["hold_ns"] = request.hold_ns
    if request.work_ns is not None:
        params["work_ns"] = request.work_ns
    if request.lines is not None:
        params["lines"] = request.lines
    if request.home is not None:
        params["home"] = request.home + 1
    return params


def point_argv(plan: RunPlan, point: Point) -> list[str]:
    """Return the simulator's argument list for one point."""
    request = plan.request
    argv = [str(sim_binary()), request.experiment.name, "--machine", str(request.machine.flat)]
    argv += ["--variant", point.variant.name, "--seed", str(request.seed)]
    if point.pair is not None:
        argv += ["--pair", f"{point.pair.first},{point.pair.second}"]
    elif point.on:
        argv += ["--on", ",".join(map(str, point.on))]
    elif request.placement != "os":
        first = in_order(request.machine.cpus, request.placement)[: point.cpus]
        argv += ["--on", ",".join(str(cpu["cpu"]) for cpu in first)]
    else:
        argv += ["--cpus", str(point.cpus)]
    if request.cap is not None:
        argv += ["--cap", str(request.cap)]
    for name, value in point_params(request, point.variant).items():
        argv += ["--param", f"{name}={value:.12g}"]
    return argv


def execute(plan: RunPlan, tick: Ticker = silent) -> list[Any]:
    """Run all points in parallel. Return the simulator's JSON in order of the points."""

    def on_done(index: int) -> None:
        point = plan.points[index]
        tick(f"{plan.request.machine.name} {point.variant.name} on {point.where}")

    return run_many(
        [point_argv(plan, point) for point in plan.points],
        weights=[float(point.cpus) for point in plan.points],
        on_done=on_done,
    )


def merge(plan: RunPlan, raws: Sequence[Any], layouts: Layouts | None = None) -> Result:
    """Return the result that `run` saves. Fields have names if ``layouts`` is given.

    Everything but simulator.seconds is a function of the machine file, the experiment file, the
    seed and the simulator.
    """
    request = plan.request
    experiment, machine = request.experiment, request.machine
    metrics = [point_metrics(experiment, p, raw) for p, raw in zip(plan.points, raws, strict=True)]
    try:
        lines = [numbered(raw.get("lines", []), layouts) for raw in raws]
    except (KeyError, TypeError, ValueError, AttributeError, ValidationError) as error:
        raise UserError(f"schedshard-sim printed a wrong line: {error}", status=1) from error
    working = "work" in experiment.options
    result = kind(experiment)(
        format=RUN,
        experiment=experiment.name,
        title=experiment.title,
        machine=saved.Machine(
            name=machine.name,
            title=machine.title,
            kind=machine.kind,
            cpus=request.machine_cpus,
            clock_ghz=machine.clock_ghz,
        ),
        cpus=plan.cpus,
        placement=request.placement,
        cap=request.cap,
        baseline=experiment.baseline,
        metrics=figures.described(experiment) or None,
        sweep=None if experiment.metrics else experiment.sweep,
        variants=variant_rows(plan, metrics, lines),
        model_error=model_errors(plan),
        hold_ns=request.hold_ns or 0.0 if "hold" in experiment.options else None,
        work_ns=request.work_ns or 0.0 if working else None,
        objects=request.lines or 1 if working else None,
        home=request.home,
        params=raws[0].get("params", {}) if raws else {},
        param_sources={
            param.name: results.ParamSource(unit=param.unit, source=param.source)
            for param in experiment.params
        },
        simulator=results.Simulator(
            events=sum(int(raw["simulator"]["events"]) for raw in raws),
            seconds=round(sum(float(raw["simulator"]["seconds"]) for raw in raws), 3),
        ),
        provenance=saved.Provenance(
            **tool_versions(),
            seed=request.seed,
            **machine_provenance(
                machine.path, machine.sha256, machine.data, protocol_calibration()
            ),
            experiment_sha256=experiment_sha256(experiment.path),
            simulator_sha256=sha256_file(sim_binary()),
        ),
    )
    published = _published(request)
    if published is not None and _shown(plan, result):
        result.published = _published_data(plan, published)
    return result


def kind(experiment: Experiment) -> Callable[..., Result]:
    """Return the class of an experiment's results."""
    if experiment.metrics:
        return Figures
    return Bars if experiment.sweep is None else SWEPT[experiment.sweep]


def kind_of(request: RunRequest, variant: Variant) -> str:
    """Return the kind of a variant's operation on this machine, as in the residuals."""
    if request.work_ns and variant.kind != "workload":
        return "work"
    far = number_node(request.machine.data, "protocol.far_atomics")
    if variant.kind == "locked" and far is not None and value_of(far) >= FAR:
        return "far"
    return variant.kind


def model_errors(plan: RunPlan) -> list[saved.ModelError]:
    """Return the model's validation and error for each kind among a plan's variants."""
    request = plan.request
    by_kind: dict[str, list[str]] = {}
    for variant in {point.variant.name: point.variant for point in plan.points}.values():
        by_kind.setdefault(kind_of(request, variant), []).append(variant.name)
    machine = request.machine
    return [validation(kind, machine.name, names) for kind, names in by_kind.items()]


def _published_data(plan: RunPlan, published: Published) -> results.Published:
    members = {"source": published.source, "role": published.role}
    lines = [results.PublishedLine(**asdict(line)) for line in published.lines]
    shown = lines if comparable(plan) and lines else None
    band, pairs = published.accept, published.accept_pairs
    if pairs is not None and pairs.within is not None:
        within = results.PairsBand(within=pairs.within)
        return results.PublishedPairs(**members, lines=shown, accept=within)
    if band is not None:
        return results.PublishedCurve(
            **members, lines=shown, accept=results.CurveBand(**asdict(band))
        )
    return results.Published(**members, lines=shown)


def point_metrics(experiment: Experiment, point: Point, raw: Any) -> dict[str, float]:
    """Return the metrics in the simulator's output, checked."""
    try:
        metrics = {str(name): float(value) for name, value in raw["metrics"].items()}
        if not experiment.metrics and min(metrics["cycles_per_op"], metrics["ns_per_op"]) <= 0:
            raise ValueError("an operation took no time")
        float(raw["simulator"]["seconds"])
        int(raw["simulator"]["events"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"schedshard-sim printed no metrics for {point.variant.name} on {point.where}: {error}",
            status=1,
        ) from error
    figures.reported(experiment, point.variant.name, metrics)
    return metrics


def _shown(plan: RunPlan, result: Result) -> bool:
    """Whether the result shows a published figure beside one of its own."""
    if isinstance(result, Curve | Pairs):
        return any(variant.compared for variant in result.variants)
    return comparable(plan)


def _published(request: RunRequest) -> Published | None:
    """Return the figures published for this machine, or None if this run's conditions differ."""
    if request.placement != "os" or request.home is not None:
        return None
    if request.hold_ns or request.work_ns or (request.lines or 1) > 1:
        return None
    return request.experiment.published_on(request.machine.name)


def comparable(plan: RunPlan) -> bool:
    """Whether the published figures were measured where this ran."""
    request = plan.request
    return _published(request) is not None and plan.cpus == request.machine_cpus


Lines = list[CacheLine]


def variant_rows(
    plan: RunPlan, metrics: Sequence[dict[str, float]], lines: Sequence[Lines]
) -> Sequence[AnyVariant]:
    """Return the variants of a result, from the metrics and lines of each point."""
    experiment = plan.request.experiment
    if experiment.metrics:
        return _figures(plan, metrics, lines)
    if experiment.sweep is None:
        return _bars(plan, metrics, lines)
    pairs = [(point.variant, point.pair) for point in plan.points if point.pair is not None]
    if not pairs:
        return _curves(plan, metrics, lines)
    return pair_variants(pairs, metrics, lines, _published(plan.request))


def _figures(
    plan: RunPlan, metrics: Sequence[dict[str, float]], lines: Sequence[Lines]
) -> list[FigureVariant]:
    """Return the figures of each variant, all that the experiment defines."""
    experiment = plan.request.experiment
    by_name = {point.variant.name: metrics[i] for i, point in enumerate(plan.points)}
    baseline = by_name.get(experiment.baseline)
    here = comparable(plan)
    return [
        figures.figure_variant(experiment, point.variant, values, baseline, point_lines, here)
        for point, values, point_lines in zip(plan.points, metrics, lines, strict=True)
    ]


def _bars(plan: RunPlan, metrics: Sequence[dict[str, float]], lines: Sequence[Lines]) -> list[Bar]:
    """Return the variants, each relative to the baseline."""
    experiment = plan.request.experiment
    base = next(
        (
            metrics[i]["cycles_per_op"]
            for i, point in enumerate(plan.points)
            if point.variant.name == experiment.baseline
        ),
        None,
    )
    published_here = comparable(plan)
    rows: list[Bar] = []
    for point, values, point_lines in zip(plan.points, metrics, lines, strict=True):
        variant = point.variant
        relative = None if base is None else values["cycles_per_op"] / base
        row = Bar(
            name=variant.name,
            title=variant.title,
            cycles_per_op=values["cycles_per_op"],
            ns_per_op=values["ns_per_op"],
            relative=relative,
            published=variant.published if published_here else None,
            cycles_per_read=values.get("cycles_per_read"),
            metrics=values,
            lines=point_lines,
        )
        if row.published is not None:
            row.published_var = variant.published_var
            row.error = None if relative is None else relative / row.published - 1.0
            if variant.accept is not None and relative is not None:
                row.accept = variant.accept.words()
                row.accepted = variant.accept.holds(relative, row.published)
                if not row.accepted and variant.lacks:
                    row.lacks = variant.lacks
        rows.append(row)
    return rows


def _curves(
    plan: RunPlan, metrics: Sequence[dict[str, float]], lines: Sequence[Lines]
) -> list[Swept[ThreadPoint]]:
    """Return the variants as curves over the number of threads."""
    published = _published(plan.request)
    figures = {point.threads: point for point in published.points} if published else {}
    curves: dict[str, Swept[ThreadPoint]] = {}
    for point, values, point_lines in zip(plan.points, metrics, lines, strict=True):
        variant = point.variant
        curve = curves.setdefault(
            variant.name, Swept(name=variant.name, title=variant.title, points=[])
        )
        ends = values.get("ns_per_op_min"), values.get("ns_per_op_max")
        low, high = (None, None) if None in ends else ends
        row = ThreadPoint(
            threads=point.cpus,
            ns_per_op=values["ns_per_op"],
            cycles_per_op=values["cycles_per_op"],
            min=low,
            max=high,
            metrics=values,
            lines=point_lines,
        )
        figure = figures.get(point.cpus) if variant.published_points else None
        if figure is not None:
            row.compare(figure.mean, figure.low, figure.high)
        curve.points.append(row)
    band = published.accept if published is not None else None
    for curve in curves.values():
        start = band.from_threads if band is not None else 1
        errors = curve_errors(curve, start)
        if errors:
            middle, worst = curve.judge(errors)
            if band is not None:
                curve.accepted = middle <= band.median and worst <= band.worst
    return list(curves.values())


def curve_errors(curve: Swept[ThreadPoint], from_threads: int) -> list[float]:
    """Return the absolute errors of points with a published figure, from ``from_threads`` on."""
    return [abs(known.error) for p, known in curve.compared if p.threads >= from_threads]
