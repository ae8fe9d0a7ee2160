# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes a machine file whose last-level caches are split into smaller ones.

CPUs, latencies and costs stay the same. For example, one cache of 16 cores becomes two of 8. Two
CPUs of different parts are then as far apart as those of two caches of one node.
"""

from pathlib import Path
from typing import Any

import tomlkit

from common.errors import UserError
from model.machines.presets import Machine, load_machine

_MARK = "-llc-by-"


def split_llcs(machine: Machine, parts: int, directory: Path) -> Machine:
    """Return the machine with each LLC split into ``parts``. Its file is in ``directory``."""
    if parts == 1:
        return machine
    name = f"{machine.name}{_MARK}{parts}"
    path = directory / f"{name}.toml"
    document = tomlkit.parse(machine.path.read_text(encoding="utf-8"))
    _cut(document.get("topology", {}), machine, parts)
    if "node" not in document.get("latency_ns", {}):
        raise UserError(
            f"--split-llc {parts}: machine {machine.name} has one last-level cache per node, and "
            "no latency_ns.node, which the parts would have between them"
        )
    _cut_tiers(document, parts)
    document["name"] = name
    document["title"] = f"{machine.title}, every LLC cut in {parts}"[:200]
    document["kind"] = "hypothetical"
    path.write_text(tomlkit.dumps(document), encoding="utf-8")
    return load_machine(str(path))


def _cut(topology: Any, machine: Machine, parts: int) -> None:
    cores, llcs = topology.get("cores_per_llc"), topology.get("llcs_per_node")
    cluster = topology.get("cores_per_l2", 1)
    if not all(isinstance(count, int) and count > 0 for count in (cores, llcs, cluster)):
        raise UserError(
            f"--split-llc {parts}: machine {machine.name} has no cores_per_llc and llcs_per_node, "
            "which would have to be changed"
        )
    if cores % (parts * cluster):
        raise UserError(
            f"--split-llc {parts}: a last-level cache of {machine.name} has {cores} cores, "
            f"{cluster} to an L2: they cannot be cut in {parts} equal parts"
        )
    topology["llcs_per_node"] = llcs * parts
    topology["cores_per_llc"] = cores // parts


def _cut_tiers(document: Any, parts: int) -> None:
    """Adapt tiers: those of LLCs keep their cores, those of cores that fill a part are removed."""
    for tier in list(document.get("tier", [])):
        if "llcs" in tier:
            tier["llcs"] *= parts
        elif tier.get("cores", 0) >= document["topology"]["cores_per_llc"]:
            document["tier"].remove(tier)
            document["source"].pop(f"tier.{tier['name']}", None)
    if not document.get("tier", ["none"]):
        del document["tier"]
        document["source"].pop("tier", None)
