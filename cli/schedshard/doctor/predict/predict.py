# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The cost of a finding now and after each remedy, predicted for the observed shape.

The experiment rt-groups runs on the machine's own file or on the nearest preset. It has the same
number of groups of the same size, at the same priorities, with the same wake-ups a second. It runs
again for each sample of the uncertain inputs, like 'run --uncertainty'.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from schedshard.common.errors import UserError
from schedshard.common.paths import typed
from schedshard.common.progress import ticking
from schedshard.doctor.facts.facts import Facts
from schedshard.doctor.facts.load import DomainLoad
from schedshard.doctor.predict.nearest import nearest
from schedshard.doctor.predict.prediction import (
    REMEDIES,
    STOCK,
    TITLES,
    Predicted,
    Prediction,
    Shape,
    Unpredicted,
    shape_of,
)
from schedshard.experiments.experiment import load_experiment
from schedshard.experiments.run import RunPlan, RunRequest, execute, plan_run, point_metrics
from schedshard.experiments.uncertain.intervals import interval
from schedshard.experiments.uncertain.uncertainty import LEAST, plan_study, run_plans
from schedshard.machines.presets import cpu_count, load_machine

EXPERIMENT = "rt-groups"
_COUNTED, _LEAST_COUNTED = 20_000, 2_000
FIGURES = ("cycles_per_wakeup", "latency_mean_ns", "wakeups_per_second")


def _request(shape: Shape, name: str, counted: float) -> tuple[RunRequest, Shape]:
    """Return the run for a shape, and the shape that fits on the machine."""
    machine, experiment = load_machine(name), load_experiment(EXPERIMENT)
    have = cpu_count(machine)
    size = min(shape.cpus_per_group, have)
    groups = max(1, min(shape.groups, have // size))
    rate = shape.rate * groups * size / shape.cpus
    fitting = replace(shape, groups=groups, cpus_per_group=size, rate=rate)
    remedies = [each for each in REMEDIES if each != "partition" or groups > 1]
    return RunRequest(
        experiment, machine, have, cpus=fitting.cpus, placement="compact",
        variants=(STOCK, *remedies), params=fitting.params(counted),
    ), fitting  # fmt: skip


def _figures(plan: RunPlan, raws: Sequence[Any]) -> dict[str, dict[str, float]]:
    experiment = plan.request.experiment
    return {
        point.variant.name: point_metrics(experiment, point, raw)
        for point, raw in zip(plan.points, raws)
    }


def _spread(value: float, samples: Sequence[float]) -> dict[str, float]:
    if not samples:
        return {"value": value}
    found = interval(samples)
    return {
        "value": float(found["median"]),
        "low": float(found["low"]),
        "high": float(found["high"]),
    }


def _rows(
    once: dict[str, dict[str, float]], samples: Sequence[dict[str, dict[str, float]]]
) -> tuple[Predicted, ...]:
    def ratio(found: dict[str, dict[str, float]], name: str) -> float:
        return found[name][FIGURES[0]] / found[STOCK][FIGURES[0]]

    return tuple(
        Predicted(
            name,
            TITLES[name],
            {
                figure: _spread(figures[figure], [sample[name][figure] for sample in samples])
                for figure in FIGURES
            },
            _spread(ratio(once, name), [ratio(sample, name) for sample in samples]),
        )
        for name, figures in once.items()
    )


def predict_on(shape: Shape, name: str, why: str, limit: float | None) -> Prediction:
    """Predict a shape on a machine file, in about ``limit`` seconds; None: however long it takes.

    Where that is too short for an interval, fewer wake-ups are counted; below some thousand of
    them there is one run, and no interval.
    """
    counted = float(_COUNTED)
    request, fitting = _request(shape, name, counted)
    began = time.monotonic()
    plan = plan_run(request)
    with ticking(f"predicting on {name}", len(plan.points)) as tick:
        once = _figures(plan, execute(plan, tick))
    took = time.monotonic() - began
    if limit is not None:
        counted = min(counted, counted * limit / (took * LEAST))
    samples: list[dict[str, dict[str, float]]] = []
    if counted >= _LEAST_COUNTED:
        request, fitting = _request(shape, name, counted)
        with TemporaryDirectory(prefix="schedshard-") as directory:
            study = plan_study(request, LEAST, Path(directory))
            with ticking(f"{LEAST} samples on {name}", study.points) as tick:
                raws = run_plans(study.plans, tick)
        samples = [_figures(p, own) for p, own in zip(study.plans, raws)]
    return Prediction(
        name, request.machine.kind, why, fitting, typed(f"run {EXPERIMENT}"), len(samples),
        _rows(once, samples),
    )  # fmt: skip


def predict(facts: Facts, load: DomainLoad, live: bool, limit: float) -> Prediction | Unpredicted:
    """Predict the cost of a root domain's load on this machine."""
    shape = shape_of(load)
    if shape is None:
        return Unpredicted("no real-time thread wakes up")
    found = nearest(facts, live)
    if found.name is None:
        return Unpredicted(found.why)
    try:
        return predict_on(shape, found.name, found.why, limit)
    except UserError as error:
        if error.status != 1:
            raise
        return Unpredicted(str(error))
