# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes points and rows of machine x experiment x variant x shard size x CPUs x seed.

This file only computes: the points to run, the contents of rows, and which rows exist already.
``run.py`` starts processes, and ``file.py`` keeps the rows.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from common.errors import UserError, check_names
from model.machines.placement import in_order
from model.machines.presets import Machine, cpu_count
from model.run.experiment import Experiment
from model.run.run import (
    Point,
    RunPlan,
    RunRequest,
    plan_run,
    point_metrics,
    point_params,
)

DEFAULT_CAP = 64

# The columns that identify a point. Rows that agree in all of them are the same row, because the
# simulator is deterministic.
KEY: dict[str, type] = {
    "experiment": str,
    "machine": str,
    "variant": str,
    "cap": int,
    "cpus": int,
    "seed": int,
    "placement": str,
    "params": str,
    "machine_sha256": str,
    "simulator_sha256": str,
}
# Further facts about a point. ``added`` numbers the sweeps that wrote into the file, from 1.
FACTS: dict[str, type] = {
    "added": int,
    "commit": str,
    "llcs": int,
    "events": int,
    "seconds": float,
}

Row = dict[str, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class SweepRequest:
    """A request for every combination of its values. Empty ``variants`` or ``cpus`` means all."""

    machines: tuple[Machine, ...]
    experiments: tuple[Experiment, ...]
    variants: tuple[str, ...]
    caps: tuple[int, ...]
    cpus: tuple[int, ...]
    seeds: int
    simulator_sha256: str
    commit: str = "unknown"
    added: int = 1
    placement: str = "os"


@dataclass(frozen=True)
class SweepPoint:
    """One process of the simulator, and the part of its row that is known before it runs."""

    plan: RunPlan
    point: Point
    known: Mapping[str, Any]

    @property
    def key(self) -> Key:
        """Return the key of the point's row."""
        return row_key(self.known)


def row_key(row: Mapping[str, Any]) -> Key:
    """Return the key of a row."""
    return tuple(row[name] for name in KEY)


def metric_names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the columns that the simulator reported for any row."""
    return sorted({name for row in rows for name in row} - set(KEY) - set(FACTS))


def caches_of(machine: Machine, cpus: int, placement: str = "os") -> int:
    """Return the number of last-level caches of the CPUs that a placement uses first."""
    used = in_order(machine.cpus, placement)[:cpus]
    return len({(cpu["package"], cpu["node"], cpu["llc"]) for cpu in used})


def plan_sweep(request: SweepRequest) -> tuple[list[SweepPoint], list[str]]:
    """Return all points, and sentences on numbers of CPUs for which a machine is too small."""
    known = {v.name for experiment in request.experiments for v in experiment.variants}
    names = " or ".join(experiment.name for experiment in request.experiments)
    check_names(f"variant of {names}", request.variants, known)
    points: list[SweepPoint] = []
    left_out: list[str] = []
    for machine in request.machines:
        have = cpu_count(machine)
        counts = [n for n in request.cpus if n <= have] if request.cpus else [have]
        too_many = sorted(set(request.cpus) - set(counts))
        if too_many:
            left_out.append(
                f"{machine.name} has {have} CPUs: left out {', '.join(map(str, too_many))}"
            )
        for experiment in request.experiments:
            own = {variant.name for variant in experiment.variants}
            wanted = tuple(name for name in request.variants if name in own)
            if request.variants and not wanted:
                continue
            seeds = range(1, request.seeds + 1)
            for cap, cpus, seed in product(request.caps, counts, seeds):
                run = RunRequest(
                    experiment, machine, have, cpus, seed, request.placement, wanted, (cpus,),
                    cap=cap,
                )  # fmt: skip
                points += _points(request, run)
    if not points:
        raise UserError(f"nothing to run: {'; '.join(left_out)}")
    return points, left_out


def _points(request: SweepRequest, run: RunRequest) -> list[SweepPoint]:
    plan = plan_run(run)
    return [
        SweepPoint(
            plan,
            point,
            {
                "experiment": run.experiment.name,
                "machine": run.machine.name,
                "variant": point.variant.name,
                "cap": run.cap,
                "cpus": point.cpus,
                "seed": run.seed,
                "placement": run.placement,
                "params": json.dumps(point_params(run, point.variant), sort_keys=True),
                "machine_sha256": run.machine.sha256,
                "simulator_sha256": request.simulator_sha256,
                "added": request.added,
                "commit": request.commit,
                "llcs": caches_of(run.machine, point.cpus, run.placement),
            },
        )
        for point in plan.points
    ]


def missing(points: Sequence[SweepPoint], rows: Iterable[Mapping[str, Any]]) -> list[SweepPoint]:
    """Return the points without a row, those on many CPUs first, because these take longest."""
    keys = {row_key(row) for row in rows}
    todo = [point for point in points if point.key not in keys]
    return sorted(todo, key=lambda point: -point.point.cpus)


def make_row(point: SweepPoint, raw: Any) -> Row:
    """Return the row of a finished point: its key, facts and metrics."""
    metrics = point_metrics(point.plan.request.experiment, point.point, raw)
    taken = sorted(set(metrics) & {*KEY, *FACTS})
    if taken:
        raise UserError(f"schedshard-sim reports a metric '{taken[0]}': a column has that name", 1)
    simulator = raw["simulator"]
    return {
        **point.known,
        "events": int(simulator["events"]),
        "seconds": float(simulator["seconds"]),
        **metrics,
    }


def current(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without those of older simulators and machine files.

    The newest row of each experiment on each machine counts.
    """
    newest: dict[tuple[str, str], Row] = {}
    for row in rows:
        place = (row["experiment"], row["machine"])
        if place not in newest or row["added"] > newest[place]["added"]:
            newest[place] = row
    same = ("machine_sha256", "simulator_sha256")
    return [
        row
        for row in rows
        if all(row[key] == newest[row["experiment"], row["machine"]][key] for key in same)
    ]


def united(old: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """Return old and new rows, sorted as in a file. A new row replaces the old one of its key."""
    rows = {row_key(row): row for row in [*old, *new]}
    return sorted(rows.values(), key=row_key)
