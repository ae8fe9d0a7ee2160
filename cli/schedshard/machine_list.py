# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stages machines and machine show: what the machine files say."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from schedshard.errors import UserError
from schedshard.paths import shown
from schedshard.presets import Machine, load_machine, machine_topology, preset_names
from schedshard.provenance import sha256_file


def _counts(topology: dict[str, Any]) -> dict[str, int]:
    cpus = topology["cpus"]
    return {
        "cpus": len(cpus),
        "packages": len({cpu["package"] for cpu in cpus}),
        "nodes": len({(cpu["package"], cpu["node"]) for cpu in cpus}),
        "llcs": len({(cpu["package"], cpu["node"], cpu["llc"]) for cpu in cpus}),
    }


def _row(name: str) -> dict[str, Any]:
    """One machine; a broken file gives a row that says what is wrong with it."""
    try:
        machine = load_machine(name)
        counts = _counts(machine_topology(machine))
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
    """All machine files that come with the project, each read by schedshard-topo."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(_row, preset_names()))


def source_of(key: str, sources: dict[str, Any]) -> str:
    """The source of a dotted key: its own entry, or that of the nearest table above it."""
    while key:
        if key in sources:
            return str(sources[key])
        key = key.rpartition(".")[0]
    return "no source"


def describe(machine: Machine) -> dict[str, Any]:
    """Every number of a machine file with its source, and what the topology comes to."""
    counts = _counts(machine_topology(machine))
    sources = machine.data.get("source", {})
    sources = sources if isinstance(sources, dict) else {}
    numbers = []
    for table, content in machine.data.items():
        if table == "source":
            continue
        if isinstance(content, dict):
            for key, value in content.items():
                numbers.append((f"{table}.{key}", value))
        elif table not in ("schema", "name", "title", "kind"):
            numbers.append((table, content))
    return {
        "name": machine.name,
        "title": machine.title,
        "kind": machine.kind,
        "file": shown(machine.path),
        "sha256": sha256_file(machine.path),
        **counts,
        "numbers": [
            {"key": key, "value": _plain(value), "source": source_of(key, sources)}
            for key, value in numbers
        ],
    }


def _plain(value: Any) -> Any:
    """Tables of tables (irregular topologies) are shown by their size only."""
    return f"{len(value)} entries" if isinstance(value, list) else value
