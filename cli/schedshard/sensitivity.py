# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How far each uncertain input moves a prediction: the same experiment with one number changed.

A machine file is copied with that number changed into a directory of its own; the simulator reads
the copy, so that what is varied is exactly what a user could edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomlkit

from schedshard.errors import UserError
from schedshard.machines.numbers import number_node, set_number, value_of
from schedshard.presets import Machine
from schedshard.result import SENSITIVITY
from schedshard.run import RunPlan, RunRequest, plan_run

# Scaled by these where the machine file has the number.
SCALED = (
    ("latency_ns.llc", (0.75, 1.25)),
    ("latency_ns.node", (0.75, 1.25)),
    ("latency_ns.remote", (0.75, 1.25)),
    ("op_cycles.locked", (0.5, 2.0)),
    ("op_cycles.timestamp", (0.5, 2.0)),
)
# Set to these: the simulator has a default where the machine file is silent.
PROTOCOL = (
    ("protocol.data_leg", (0.28, 0.48)),
    ("protocol.near_rounds", (0.0, 2.0)),
)
SEEDS = (2, 3, 4)
THINK = "yield_ns"
THINK_FACTORS = (0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)


@dataclass(frozen=True)
class Change:
    """One number changed: its label in the report and the request that has it changed."""

    label: str
    group: str
    value: float
    request: RunRequest


def changed_machine(machine: Machine, key: str, value: float, directory: Path) -> Machine:
    """A copy of a machine file with one number changed, in ``directory``."""
    document: Any = tomlkit.parse(machine.path.read_text(encoding="utf-8"))
    set_number(document, key, value, "changed to see how much depends on it")
    path = directory / f"{key}-{value:g}.toml"
    path.write_text(tomlkit.dumps(document), encoding="utf-8")
    return replace(machine, path=path, data=document.unwrap())


def changes(request: RunRequest, directory: Path) -> list[Change]:
    """Everything that is varied, one number at a time."""
    machine = request.machine
    made: list[Change] = []
    for key, factors in SCALED:
        node = number_node(machine.data, key)
        if node is None:
            continue
        value = value_of(node, key)
        label = f"{key} {value:g} x {factors[0]:g} to {factors[1]:g}"
        for factor in factors:
            # an estimate in whole cycles stays one
            new = max(1, round(value * factor)) if key.startswith("op_cycles.") else value * factor
            changed = changed_machine(machine, key, new, directory)
            made.append(Change(label, "machine", new, replace(request, machine=changed)))
    for key, values in PROTOCOL:
        for value in values:
            changed = changed_machine(machine, key, value, directory)
            label = f"{key} {values[0]:g} to {values[1]:g}"
            made.append(Change(label, "machine", value, replace(request, machine=changed)))
    label = f"seed {SEEDS[0]} to {SEEDS[-1]}"
    made += [Change(label, "machine", seed, replace(request, seed=seed)) for seed in SEEDS]
    think = next((p.value for p in request.experiment.params if p.name == THINK), None)
    if think is not None:
        for factor in THINK_FACTORS:
            changed_request = replace(request, params=((THINK, think * factor),))
            made.append(Change(THINK, "sweep", think * factor, changed_request))
    return made


def plan_sensitivity(request: RunRequest, directory: Path) -> tuple[list[Change], list[RunPlan]]:
    """The changes, and one plan for each: only the variants that have a published figure."""
    names = tuple(v.name for v in request.experiment.variants if v.published is not None)
    if not names:
        raise UserError(f"{request.experiment.name} has no published figure to compare with")
    narrowed = replace(request, variants=names)
    made = changes(narrowed, directory)
    return made, [plan_run(change.request) for change in made]


def _relative(result: dict[str, Any]) -> dict[str, float]:
    return {
        variant["name"]: variant["relative"]
        for variant in result["variants"]
        if variant["name"] != result["baseline"]
    }


def gather(
    base: dict[str, Any], made: Sequence[Change], results: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The result: for every change the relative cost of each variant, beside the unchanged one."""
    relative = {
        variant["name"]: variant["relative"]
        for variant in base["variants"]
        if variant.get("published") is not None and variant["name"] != base["baseline"]
    }
    rows: dict[str, dict[str, list[float]]] = {}
    sweep: dict[str, Any] = {"param": THINK, "values": [], "relative": {}}
    for change, result in zip(made, results, strict=True):
        values = _relative(result)
        if change.group == "sweep":
            sweep["values"].append(change.value)
            target = sweep["relative"]
        else:
            target = rows.setdefault(change.label, {})
        for name in relative:
            target.setdefault(name, []).append(values[name])
    return {
        "format": SENSITIVITY,
        "experiment": base["experiment"],
        "machine": base["machine"],
        "baseline": base["baseline"],
        "relative": relative,
        "published": {v["name"]: v["published"] for v in base["variants"] if v["published"]},
        "rows": [{"label": label, "relative": values} for label, values in rows.items()],
        "sweep": sweep,
        "params": base["params"],
        "provenance": base["provenance"],
    }
