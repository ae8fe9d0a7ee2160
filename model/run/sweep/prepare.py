# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Turns a sweep's options into points: looks up names, reads topologies and existing rows."""

from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError
from common.output import check_writable
from common.paths import sim_binary
from common.provenance import commit, sha256_file
from model.machines.presets import Machine, load_machine
from model.run.experiment import load_experiment
from model.run.sweep.file import read_rows
from model.run.sweep.sweep import (
    DEFAULT_CAP,
    Row,
    SweepPoint,
    SweepRequest,
    missing,
    plan_sweep,
    row_key,
)


@dataclass(frozen=True)
class SweepOptions:
    """The user's input. An empty tuple selects the default."""

    experiments: tuple[str, ...]
    machines: tuple[str, ...]
    variants: tuple[str, ...]
    caps: tuple[int, ...]
    cpus: tuple[int, ...]
    seeds: int
    placement: str
    out: Path


@dataclass(frozen=True)
class Prepared:
    """All points of a sweep, those still to run, and the rows of the others."""

    points: list[SweepPoint]
    todo: list[SweepPoint]
    rows: list[Row]
    left_out: list[str]


def prepare(options: SweepOptions) -> Prepared:
    """Return the points of a sweep. Raise a UserError for a wrong name or file before any run."""
    check_writable(options.out)
    old = read_rows(options.out) if options.out.exists() else []
    experiments = tuple(load_experiment(name) for name in dict.fromkeys(options.experiments))
    for experiment in experiments:
        if experiment.sweep == "pairs":
            raise UserError(
                f"{experiment.name} cannot be swept, because it runs pairs of CPUs: "
                f"use 'run {experiment.name} --out FILE'"
            )
    names = options.machines or tuple(experiment.machine for experiment in experiments)
    caps = tuple(dict.fromkeys(options.caps)) or (DEFAULT_CAP,)
    machines = tuple(map(load_machine, dict.fromkeys(names)))
    _check_names(machines)
    request = SweepRequest(
        machines, experiments, tuple(dict.fromkeys(options.variants)), caps,
        tuple(sorted(set(options.cpus))), options.seeds, sha256_file(sim_binary()), commit(),
        1 + max((row["added"] for row in old), default=0), options.placement,
    )  # fmt: skip
    points, left_out = plan_sweep(request)
    asked = {point.key for point in points}
    rows = [row for row in old if row_key(row) in asked]
    return Prepared(points, missing(points, rows), rows, left_out)


def _check_names(machines: tuple[Machine, ...]) -> None:
    """Raise a UserError if two machines have the same name, because names identify rows."""
    by_name: dict[str, Machine] = {}
    for machine in machines:
        other = by_name.setdefault(machine.name, machine)
        if other is not machine:
            raise UserError(
                f"{machine.path} and {other.path} are both called '{machine.name}': "
                "give them different names"
            )
