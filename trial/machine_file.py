# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes a machine file and curves from a trial, for the simulator; not in the trial's one file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from common.errors import UserError
from model.machines.making.document import machine_name, machine_toml, validated
from model.machines.making.importer import Imported
from model.machines.making.measure import Processor, host_machine
from model.machines.making.topology import from_tool
from model.run.experiment import load_experiment
from trial.form import Costs, Figure, Trial
from trial.host import in_order
from trial.predict.stored import OPS, PING_PONG


def machine_of(trial: Trial, name: str | None = None) -> Imported:
    """Return the machine file of the machine that a trial measured, with notes."""
    costs, host = trial.costs, trial.host
    if costs is None:
        raise UserError("the trial has no costs of operations, which a machine file needs")
    lacking = {"cycle", "load_hit", "store", "locked", "fence", "timestamp", "memory"}
    lacking -= {key for key, ns in costs.ops_ns.items() if ns > 0}
    if lacking:
        raise UserError(f"the trial lacks the costs of {', '.join(sorted(lacking))}")
    levels = ("cpu", "package", "node", "llc", "l2", "core")
    topology = from_tool(
        {"cpus": [{level: getattr(cpu, level) for level in levels} for cpu in host.cpus]}
    )
    raw = {
        "ops_ns": costs.ops_ns,
        "pairs": [{"a": a, "b": b, "ns": ns} for a, b, ns in costs.pairs],
        "homes": [{"ns": ns} for ns in costs.homes],
        "samples": 50,
    }
    cpus = [cpu.cpu for cpu in host.cpus]
    made = host_machine(topology, cpus, raw, Processor(host.processor, host.virtual))
    made.facts.name = machine_name(name if name is not None else host.processor)
    made.facts.title = f"Trial: {host.processor}"[:200]
    made.text = machine_toml(made.facts)
    made.notes += [f"the trial is marked: {mark}" for mark in trial.marks]
    return made


def _in_order(trial: Trial) -> Trial:
    """Return a trial whose CPUs are numbered in the order in which threads took them."""
    at = {cpu.cpu: number for number, cpu in enumerate(in_order(trial.host.cpus))}
    cpus = tuple(cpu._replace(cpu=at[cpu.cpu]) for cpu in trial.host.cpus)
    costs = trial.costs and Costs(
        trial.costs.ops_ns,
        tuple((at[a], at[b], ns) for a, b, ns in trial.costs.pairs),
        trial.costs.homes,
    )
    return replace(trial, host=replace(trial.host, cpus=cpus), costs=costs)


def curves_of(trial: Trial, folder: Path) -> dict[str, Any]:
    """Return a trial's figures as published curves are, for scripts/fidelity.py.

    The machine file that they name is written to ``folder``.
    """
    if trial.marks:
        raise UserError(f"the trial cannot judge the model: {', '.join(trial.marks)}")
    made = machine_of(_in_order(trial))
    validated(made.text)
    machine = made.facts.name
    (folder / f"{machine}.toml").write_text(made.text, encoding="utf-8")
    by_op: dict[str, list[Figure]] = {}
    for figure in trial.usable:
        if figure.name in (OPS if not figure.between else PING_PONG):
            by_op.setdefault(figure.name, []).append(figure)
    if not by_op:
        raise UserError("the trial cannot judge the model: no figure has steady runs")
    curves = []
    for op, figures in by_op.items():
        pairs = op in PING_PONG
        experiment = load_experiment("ping-pong" if pairs else "primitives")
        points = [[f.between if pairs else f.threads, f.value] for f in figures]
        curves.append({
            "name": f"{machine} {op}", "machine": machine, "kind": experiment.variant(op).kind,
            "op": op, "pairs" if pairs else "points": points,
            # The machine file's latencies were measured by this operation.
            "calibrated": op == "cas",
        })  # fmt: skip
    return {"curve": curves, "cores": {machine: trial.host.processor}}
