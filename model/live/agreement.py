# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Predicts the measured figures for the stage validate, and compares both.

The simulator runs on the machine file of the measured host, with the same CPUs for each point. The
error of a figure is the factor between the prediction and the nearer end of the measured spread. A
measurement is no more precise than the spread of its repetitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from common.errors import UserError
from common.progress import Ticker, silent
from model.live.bundle import Bundle, Measured, Measurement
from model.machines.numbers import number_node, source_of, value_of
from model.machines.presets import Machine, cpu_count, load_machine
from model.results.bench import Bounds, Judged, JudgedRow
from model.run.experiment import Experiment, load_experiment
from model.run.pairs import Pair
from model.run.run import Point, RunPlan, RunRequest, execute, point_metrics

# The machine file's latencies are half a round trip of this operation on the same host.
CALIBRATED_ON = ("ping-pong", "cas")
AGREE, DISAGREE, CHANGED = "agree", "disagree", "host changed"
BOUNDS = Bounds(median=1.25, worst=2.0, control=1.25)


@dataclass(frozen=True)
class Row:
    """One figure, predicted and measured.

    ``file_ns`` is the machine file's value of exactly this figure, if the file contains it. Such a
    row is a control, not a prediction: it shows whether the file still describes the host.
    """

    experiment: str
    measured: Measured
    predicted: float
    file_ns: float | None = None

    @property
    def error(self) -> float:
        """Return the relative error of the prediction against the median of the repetitions."""
        return self.predicted / self.measured.ns - 1.0

    @property
    def factor(self) -> float:
        """Return the factor from the measured spread to the prediction; 1 if it is inside."""
        return _beyond(self.predicted, self.measured)

    @property
    def control(self) -> float | None:
        """Return the factor from the spread to the machine file's figure; None if it has none."""
        return None if self.file_ns is None else _beyond(self.file_ns, self.measured)

    @property
    def where(self) -> str:
        """Return the CPUs in words."""
        cpus = self.measured.cpus
        if self.measured.latency_class is not None:
            return f"CPUs {cpus[0]} and {cpus[1]} ({self.measured.latency_class})"
        return "1 thread" if len(cpus) == 1 else f"{len(cpus)} threads"


def _beyond(ns: float, measured: Measured) -> float:
    if ns > measured.high:
        return ns / measured.high
    return max(1.0, measured.low / ns)


@dataclass(frozen=True)
class Verdict:
    """The summary of all rows. ``worst`` and ``median`` cover only predictions, if there are any.

    ``control`` is the row that is farthest from the machine file's value, or None.
    """

    rows: tuple[Row, ...]
    bounds: Bounds
    median: float
    worst: Row
    control: Row | None
    outcome: str


def predict(bundle: Bundle, tick: Ticker = silent) -> tuple[Row, ...]:
    """Run the simulator on the bundle's machine file for every measured point."""
    with TemporaryDirectory(prefix="schedshard-") as folder:
        path = Path(folder) / "machine.toml"
        path.write_text(bundle.machine_file, encoding="utf-8")
        machine = _machine(path, bundle)
        _check_cpus(bundle, machine)
        rows: list[Row] = []
        for measurement in bundle.measured:
            plan = plan_points(measurement, machine, cpu_count(machine))
            raws = execute(plan, tick)
            for measured, point, raw in zip(measurement.points, plan.points, raws, strict=True):
                metrics = point_metrics(plan.request.experiment, point, raw)
                known = _file_ns(measurement.experiment, measured, machine)
                rows.append(Row(measurement.experiment, measured, metrics["ns_per_op"], known))
    return tuple(rows)


def _machine(path: Path, bundle: Bundle) -> Machine:
    try:
        return load_machine(str(path))
    except UserError as error:
        message = str(error).replace(str(path), "its machine file")
        raise UserError(f"{bundle.source}: {message}", status=error.status) from error


def _check_cpus(bundle: Bundle, machine: Machine) -> None:
    try:
        known = set(machine.places)
    except UserError as error:
        message = str(error).replace(str(machine.path), "its machine file")
        raise UserError(f"{bundle.source}: {message}", status=error.status) from error
    points = [point for measurement in bundle.measured for point in measurement.points]
    used = {cpu for point in points for cpu in point.cpus}
    if not used <= known:
        raise UserError(
            f"{bundle.source} is damaged: it measured CPU {min(used - known)}, which its machine "
            "file does not have"
        )


def plan_points(measurement: Measurement, machine: Machine, cpus: int) -> RunPlan:
    """Return a plan with one run of the simulator per measured point, on the same CPUs in order."""
    experiment = load_experiment(measurement.experiment)
    request = RunRequest(experiment, machine, cpus, hold_ns=measurement.hold_ns or None)
    points = tuple(_sim_point(experiment, point) for point in measurement.points)
    return RunPlan(request, cpus, points)


def _sim_point(experiment: Experiment, point: Measured) -> Point:
    variant = experiment.variant(point.op)
    if point.latency_class is not None:
        return Point(variant, 2, Pair(point.latency_class, point.cpus[0], point.cpus[1]))
    return Point(variant, len(point.cpus), on=point.cpus)


def _file_ns(experiment: str, point: Measured, machine: Machine) -> float | None:
    """Return the latency of the figure's class or tier in the machine file, in ns.

    None if the figure is not the one that calibrates latencies, or the file's value is an estimate.
    """
    if (experiment, point.op) != CALIBRATED_ON:
        return None
    key = f"latency_ns.{point.latency_class}"
    node = number_node(machine.data, key)
    if node is None:
        key = f"tier.{point.latency_class}"
        node = number_node(machine.data, key)
    if node is None or source_of(key, machine.data.get("source", {})).startswith("estimate"):
        return None
    return value_of(node, key)


def judge(rows: Sequence[Row], bounds: Bounds) -> Verdict:
    """Return the verdict: median and worst factor.

    If the host has changed, the verdict says so, and does not judge the model.
    """
    judged = [row for row in rows if row.file_ns is None] or list(rows)
    middle = float(median(row.factor for row in judged))
    worst = max(judged, key=lambda row: (row.factor, abs(row.error)))
    controls = [row for row in rows if row.control is not None]
    control = max(controls, key=lambda row: row.control or 1.0, default=None)
    if control is not None and (control.control or 1.0) > bounds.control:
        outcome = CHANGED
    elif middle <= bounds.median and worst.factor <= bounds.worst:
        outcome = AGREE
    else:
        outcome = DISAGREE
    return Verdict(tuple(rows), bounds, middle, worst, control, outcome)


def _judged_row(row: Row) -> JudgedRow:
    point = row.measured
    first, second = point.cpus if point.latency_class is not None else (None, None)
    return JudgedRow(
        experiment=row.experiment, op=point.op,
        threads=len(point.cpus) if point.latency_class is None else None,
        latency_class=point.latency_class, first=first, second=second, measured=point.ns,
        low=point.low, high=point.high, predicted=row.predicted, error=row.error,
        factor=row.factor, machine_file_ns=row.file_ns,
    )  # fmt: skip


def saved_verdict(verdict: Verdict) -> Judged:
    """Return the verdict as `machine validate --json` prints it below the measurements."""
    return Judged(
        outcome=verdict.outcome,
        median_factor=verdict.median,
        worst_factor=verdict.worst.factor,
        control_factor=None if verdict.control is None else verdict.control.control,
        bounds=verdict.bounds,
        worst=_judged_row(verdict.worst),
        rows=[_judged_row(row) for row in verdict.rows],
    )
