# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stages of 'machine list' and 'machine show': list machine files and describe one."""

from typing import Any

from common.errors import UserError
from common.paths import shown
from model.machines.numbers import TIER_UNITS, number_nodes, range_of, source_of
from model.machines.places import Places, places
from model.machines.presets import Machine, load_machine, preset_names


def _counts(place_of: Places) -> dict[str, int]:
    cpus = place_of.values()
    return {
        "cpus": len(cpus),
        "packages": len({cpu.package for cpu in cpus}),
        "nodes": len({cpu.node for cpu in cpus}),
        "llcs": len({cpu.llc for cpu in cpus}),
    }


def _row(name: str) -> dict[str, Any]:
    """Return the row of one machine. A broken file gives a row with its error."""
    try:
        machine = load_machine(name)
        # Only the contents of the row are checked, because checking 24 complete files takes longer
        # than listing them.
        topology = machine.data.get("topology")
        counts = _counts(places(topology) if isinstance(topology, dict) else machine.places)
    except UserError as error:
        return {"name": name, "error": str(error)}
    return {
        "name": machine.name,
        "kind": machine.kind,
        **counts,
        "clock_ghz": machine.clock_ghz,
        "title": machine.title,
    }


def list_machines() -> list[dict[str, Any]]:
    """Return one row per machine file of the project."""
    return [_row(name) for name in preset_names()]


def describe(machine: Machine) -> dict[str, Any]:
    """Return every number of a machine file with its source, and the size of the topology.

    An uncertain number has its range beside its value, and a tier the size of its groups.
    """
    counts = _counts(machine.places)
    sources = machine.data.get("source", {})
    sources = sources if isinstance(sources, dict) else {}
    topology = machine.data.get("topology", {})
    numbers = [
        {"key": f"topology.{key}", "value": _plain(value)} for key, value in topology.items()
    ]
    joins = {f"tier.{tier['name']}": _joins(tier) for tier in machine.data.get("tier", [])}
    for key, node in number_nodes(machine.data):
        limits = range_of(node, key)
        row: dict[str, Any] = {"key": key, "value": node if limits is None else node["value"]}
        if limits is not None:
            row |= {"low": limits.low, "high": limits.high}
        if key in joins:
            row["joins"] = joins[key]
        numbers.append(row)
    return {
        "name": machine.name,
        "title": machine.title,
        "kind": machine.kind,
        "file": shown(machine.path),
        "sha256": machine.sha256,
        **counts,
        "numbers": [row | {"source": source_of(row["key"], sources)} for row in numbers],
    }


def _joins(tier: dict[str, Any]) -> str:
    """Return the size of one group of a tier, such as ``4 packages``."""
    return next(f"{tier[unit]} {unit}" for unit in TIER_UNITS if unit in tier)


def _plain(value: Any) -> Any:
    """Return a value for output. Tables of tables (irregular topologies) become their size."""
    return f"{len(value)} entries" if isinstance(value, list) else value
