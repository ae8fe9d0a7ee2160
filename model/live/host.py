# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds this host's topology and machine file, and the facts that belong to a measurement.

No fact identifies the host: none contains the name of a host, user or directory.
"""

import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.paths import topo_binary, typed
from common.tool import run_json
from model.machines.hostfile import host_path
from model.machines.making.document import (
    Facts,
    add_usual_cycles,
    add_usual_latencies,
    machine_toml,
    validated,
)
from model.machines.making.measure import host_processor
from model.machines.making.sampling import spread
from model.machines.making.topology import Topology, from_tool, same
from model.machines.presets import Machine, load_machine, machine_topology
from model.run.pairs import Pair, load_pairs

MEASURE = typed("machine measure")
# The number of CPUs, spread over the host, whose pairs are searched for classes not yet found.
FIRST_CPUS = 8
UNKNOWN_CLOCK_GHZ = 1.0


def live_topology() -> Topology:
    """Return the CPUs of this host and their places."""
    return from_tool(run_json([str(topo_binary()), "--live"]))


def known_machine(topology: Topology) -> Machine | None:
    """Return the machine file of this host, or None if it does not exist.

    Raise a UserError if it describes another topology. A guest may have been resized since, or a
    CPU may be offline.
    """
    if not host_path().is_file():
        return None
    machine = load_machine("host")
    if not same(from_tool(machine_topology(machine)), topology):
        raise UserError(
            f"{host_path()} describes another topology than this host has: run '{MEASURE}' again"
        )
    return machine


def estimated_machine(topology: Topology, folder: Path) -> Machine:
    """Write a machine file to ``folder`` with the real topology and estimates of all else."""
    facts = Facts(
        name="host",
        title=f"This host: {host_facts()['cpu']}"[:200],
        kind="estimate",
        clock_ghz=UNKNOWN_CLOCK_GHZ,
        topology=topology,
        latency_ns={},
        op_cycles={},
        source={"clock_ghz": "estimate: not measured", "topology": "stated by the host (/sys)"},
    )
    add_usual_cycles(facts, "not measured")
    add_usual_latencies(facts)
    text = machine_toml(facts)
    validated(text)
    path = folder / "host.toml"
    path.write_text(text, encoding="utf-8")
    return load_machine(str(path))


def host_facts() -> dict[str, Any]:
    """Return what readers of a result need to know about the host on which it was measured."""
    processor = host_processor()
    return {
        "cpu": processor.model,
        "virtual": processor.virtual,
        "arch": platform.machine(),
        "kernel": kernel_version(platform.release()),
    }


def kernel_version(release: str) -> str:
    """Return only the numbers of a kernel's release, because the rest may name its builder."""
    version = re.match(r"\d+(\.\d+){1,2}", release)
    return version.group() if version else "unknown"


def pairs_by_class(machine: Machine, cpus: Sequence[int], count: int) -> tuple[Pair, ...]:
    """Return pairs of the given CPUs: up to ``count`` of every latency class, from near to far."""
    usable = set(cpus)
    chosen: dict[str, list[Pair]] = {pair.latency_class: [] for pair in load_pairs(machine)}
    step = max(1, len(cpus) // FIRST_CPUS)
    for first in cpus[::step][:FIRST_CPUS]:
        if all(len(pairs) >= count for pairs in chosen.values()):
            break
        by_class: dict[str, list[Pair]] = {}
        for pair in load_pairs(machine, first):
            if pair.second in usable:
                by_class.setdefault(pair.latency_class, []).append(pair)
        for name, pairs in by_class.items():
            known = {frozenset((pair.first, pair.second)) for pair in chosen[name]}
            new = [pair for pair in pairs if frozenset((pair.first, pair.second)) not in known]
            chosen[name] += spread(new, count - len(chosen[name]))
    return tuple(pair for pairs in chosen.values() for pair in pairs)


def pairs_from(machine: Machine, first: int, cpus: Sequence[int]) -> tuple[Pair, ...]:
    """Return the pairs of one CPU with every other given CPU."""
    usable = set(cpus)
    return tuple(pair for pair in load_pairs(machine, first) if pair.second in usable)
