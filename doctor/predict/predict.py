# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Simulates what a root domain's load costs now and with each remedy.

The experiment rt-groups runs on the machine's own file or on the nearest one, and again for each
sample of the uncertain inputs, like 'run --uncertainty'. The observed rate of wake-ups already
contains the waits for the lines. So this file shortens the threads' sleep until the simulation
reaches that rate. The sleep is an uncertain input too, by model_error(). Where lines are nearly
saturated, the sleep decides the cost.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from common.errors import UserError
from common.paths import typed
from common.progress import Ticker, silent, ticking
from common.tool import run_many
from doctor.facts.facts import Facts
from doctor.facts.load import DomainLoad
from doctor.predict.nearest import Fit, Nearest, nearest
from doctor.predict.points import (
    EXPERIMENT,
    Seen,
    Spot,
    lone,
    observation,
    ranged,
    request_of,
)
from doctor.predict.prediction import (
    Prediction,
    Range,
    Unpredicted,
    model_error,
    predicted_rows,
)
from doctor.predict.shape import STOCK, Shape, shape_of
from doctor.predict.stored import by_table
from model.machines.hostfile import host_path
from model.machines.machine_list import list_machines
from model.machines.presets import HOST, Machine, cpu_count, load_machine
from model.run.experiment import Experiment, load_experiment
from model.run.run import RunRequest, plan_run, point_argv
from model.run.uncertain.draws import make_samples
from model.run.uncertain.inputs import experiment_inputs, machine_inputs
from model.run.uncertain.intervals import interval
from model.run.uncertain.uncertainty import LEAST

_COUNTED, _LEAST_COUNTED = 12_000.0, 1_500.0
_TURNS, _CLOSE = 4, 0.02


def _run(requests: Sequence[RunRequest], tick: Ticker = silent) -> list[dict[str, float]]:
    """Run the requests, each of one variant, and return the metrics of each."""
    plans = [plan_run(request) for request in requests]
    return run_many(
        [point_argv(plan, plan.points[0]) for plan in plans],
        on_done=lambda index: tick(plans[index].points[0].variant.name),
        keep=lambda raw: {key: float(value) for key, value in raw["metrics"].items()},
    )


def _spots(shape: Shape, push: bool, machine: Machine) -> dict[str, Spot]:
    """Return the loads to simulate by variant, no larger than the machine."""
    made, have = {}, cpu_count(machine)
    package = have / len({place.package for place in machine.places.values()})
    for name, asked in shape.asked(push, package).items():
        cpus = min(asked.cpus, have)
        group = shape.cpus_per_group if cpus % shape.cpus_per_group == 0 else cpus
        made[name] = Spot(
            asked.kernel, push, asked.pinned, asked.spread and cpus < have, cpus, asked.rate,
            group, shape.level, shape.levels,
        )  # fmt: skip
    return {name: spot for name, spot in made.items() if spot.cpus > 1}


def _sleep(spot: Spot, machine: Machine, have: int) -> float:
    """Return the sleep in us with which the simulation reaches the load's rate, or nearly so."""
    sleep = spot.params(_COUNTED)["sleep_us"]
    for _ in range(_TURNS):
        [figures] = _run([request_of(spot, machine, have, 2000.0, sleep_us=sleep)])
        missing = spot.cpus / figures["wakeups_per_second"] * 1e6 - spot.period_us
        if abs(missing) < _CLOSE * spot.period_us or (missing > 0 and sleep == 1.0):
            break
        sleep = max(sleep - missing, 1.0)
    return sleep


def _ranges(samples: Sequence[tuple[Seen, Seen]], rate: float) -> tuple[Range, Range]:
    """Return kernel time and delay beyond those of a lone thread, with intervals over the samples.

    If a sample cannot reach the rate, its kernel time is scaled down, so that its cost per second
    stays what was simulated.
    """
    kernel = [
        max(now.kernel_ns - alone.kernel_ns, 0.0) * min(1.0, now.rate / rate)
        for now, alone in samples
    ]
    late = [max(now.late_ns - alone.late_ns, 0.0) for now, alone in samples]
    if len(samples) == 1:
        return Range(kernel[0]), Range(late[0])
    intervals = [interval(values) for values in (kernel, late)]
    made = [Range(interval_.median, interval_.low, interval_.high) for interval_ in intervals]
    return made[0], made[1]


class _Study:
    """Simulates a shape on a machine, with the given inputs or for samples of uncertain ones."""

    def __init__(self, shape: Shape, machine: Machine) -> None:
        self.machine, self.have = machine, cpu_count(machine)
        self.spots = _spots(shape, shape.push is not False, machine)
        self.level = shape.level
        stock = self.spots.get(STOCK)
        self.sleep = _sleep(stock, machine, self.have) if stock is not None else 0.0
        self.experiment = load_experiment(EXPERIMENT)

    def _requests(self, counted: float) -> list[RunRequest]:
        """Return the lone thread's run, then one per variant, whose sleep is an uncertain input."""
        made = [request_of(lone(self.level), self.machine, self.have, counted / 4)]
        for name, spot in self.spots.items():
            request = request_of(spot, self.machine, self.have, counted)
            params = dict(request.params)
            sleep = self.sleep if name == STOCK else params["sleep_us"]
            del params["sleep_us"]
            experiment = ranged(request.experiment, "sleep_us", sleep, model_error())
            made.append(replace(request, experiment=experiment, params=tuple(params.items())))
        return made

    @property
    def runs(self) -> int:
        """Return the number of runs per sample."""
        return len(self.spots) + 1

    def once(self, counted: float) -> dict[str, list[tuple[Seen, Seen]]]:
        """Run once with the given inputs. Return by variant its results and the lone thread's."""
        return self._found([self._requests(counted)], silent)

    def sampled(self, counted: float, tick: Ticker) -> dict[str, list[tuple[Seen, Seen]]]:
        """Run for each sample of the uncertain inputs, and return the results by variant."""
        requests = self._requests(counted)
        drawn = ranged(self.experiment, "sleep_us", 1.0, model_error())
        inputs = [*machine_inputs(self.machine), *experiment_inputs(drawn)]
        made = make_samples(self.machine, drawn, inputs, LEAST, 1)
        return self._found(
            [
                [
                    replace(
                        request, machine=sample.machine, seed=sample.seed,
                        experiment=_drawn(request, sample.values),
                    )
                    for request in requests
                ]
                for sample in made
            ],
            tick,
        )  # fmt: skip

    def _found(
        self, samples: Sequence[Sequence[RunRequest]], tick: Ticker
    ) -> dict[str, list[tuple[Seen, Seen]]]:
        flat = iter(_run([request for own in samples for request in own], tick))
        pairs: dict[str, list[tuple[Seen, Seen]]] = {name: [] for name in self.spots}
        for _ in samples:
            alone = observation(lone(self.level), next(flat))
            for name, spot in self.spots.items():
                pairs[name].append((observation(spot, next(flat)), alone))
        return pairs


def _drawn(request: RunRequest, values: Mapping[str, float]) -> Experiment:
    """Return the request's experiment with a sample's inputs; the sleep is drawn as a factor."""
    params = tuple(
        param if f"param.{param.name}" not in values
        else replace(param, value=param.value * values["param.sleep_us"])
        if param.name == "sleep_us" and param.low is not None
        else replace(param, value=values[f"param.{param.name}"])
        for param in request.experiment.params
    )  # fmt: skip
    return replace(request.experiment, params=params)


def predict_on(
    shape: Shape, name: str, why: str, limit: float | None, counted: float = _COUNTED
) -> Prediction:
    """Predict a shape on a machine file, in about ``limit`` seconds; None: no limit.

    If ``limit`` is short, fewer than ``counted`` wake-ups are simulated per run. Below
    _LEAST_COUNTED of them there is only one run, and no interval.
    """
    study = _Study(shape, load_machine(name))
    began = time.monotonic()
    pairs = study.once(counted)
    took = time.monotonic() - began
    if limit is not None:
        counted = min(counted, counted * limit / (took * LEAST))
    samples = 0
    if counted >= _LEAST_COUNTED:
        samples = LEAST
        with ticking(f"{LEAST} samples on {name}", LEAST * study.runs) as tick:
            pairs = study.sampled(counted, tick)
    none = Range(0.0, 0.0, 0.0)
    figures = {
        name: _ranges(pairs[name], study.spots[name].rate) if name in pairs else (none, none)
        for name in shape.asked(True, 1)
    }
    source = f"simulated now: {typed(f'run {EXPERIMENT}')}"
    return Prediction(
        name, study.machine.kind, why, shape, source, samples, predicted_rows(shape, figures)
    )  # fmt: skip


def _machine(facts: Facts, load: DomainLoad, shape: Shape, live: bool) -> Nearest:
    """Return the machine file measured on this host, or else the nearest of the project's files."""
    if live and host_path().is_file():
        return Nearest(HOST, "measured on this host")
    rows = [row for row in list_machines() if "error" not in row and row["llcs"]]
    return nearest(Fit.of(facts, load, shape), rows)


def predict(facts: Facts, load: DomainLoad, live: bool, limit: float) -> Prediction | Unpredicted:
    """Predict the cost of a root domain's load on this machine."""
    shape = shape_of(load, facts)
    if shape is None:
        return Unpredicted("no real-time thread wakes up")
    machine = _machine(facts, load, shape, live)
    if machine.name is None:
        return by_table(shape, machine)
    try:
        return predict_on(shape, machine.name, machine.why, limit)
    except UserError as error:
        if error.status != 1:
            raise
        return Unpredicted(str(error))
