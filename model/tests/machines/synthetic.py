# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Machines that do not exist: latency tables of a known topology, with noise."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

import numpy as np

from model.machines.making.classes import CLASSES, kinds_of
from model.machines.making.latencycsv import Matrix
from model.machines.making.topology import Regular, Topology, make_topology

# Medians as published: of core complexes, of a mesh, and of a mesh divided into clusters.
COMPLEX_NS = {"smt": 10.0, "llc": 25.0, "node": 105.0, "package": 105.0, "remote": 200.0}
MESH_NS = {"smt": 8.0, "llc": 51.0, "node": 80.0, "package": 80.0, "remote": 110.0}
CLUSTER_NS = {"smt": 8.0, "llc": 55.0, "node": 85.0, "package": 85.0, "remote": 145.0}


def renumbered(topology: Topology, cpus: Sequence[int]) -> Topology:
    """The same machine with other CPU numbers, in rising order."""
    order = np.argsort(cpus)
    levels = {
        level: topology.ids(level)[order] for level in ("package", "node", "llc", "l2", "core")
    }
    return make_topology([int(cpus[i]) for i in order], levels)


def shape(packages: int, llcs: int, cores: int, threads: int = 1, nodes: int = 1) -> Regular:
    """A regular machine; LLCs and nodes count by package."""
    return Regular(packages, nodes, llcs, cores, threads, 1, "threads-last")


def latencies(topology: Topology, ns: dict[str, float], sigma: float, seed: int) -> Matrix:
    """Return a symmetric table: one latency per pair, with a random factor (log sigma)."""
    count = len(topology.cpus)
    cpus = np.arange(count, dtype=np.int64)
    kind = kinds_of(topology, cpus[:, None], cpus[None, :])
    medians = np.array([ns.get(name, 1.0) for name in CLASSES])
    noise = np.random.default_rng(seed).lognormal(0.0, sigma, (count, count))
    matrix = medians[kind] * np.tril(noise, -1)
    full: Matrix = matrix + matrix.T
    return full


def to_csv(matrix: Matrix, style: str = "lower", labels: Sequence[int] | None = None) -> str:
    """A table as text; lower: empty upper triangle, ragged: rows cut there, full: the square."""
    count = len(matrix)
    rows = []
    for i in range(count):
        cells = [
            "" if i == j or (j > i and style != "full") else f"{matrix[i, j]:.6f}"
            for j in range(count)
        ]
        rows.append(cells[: max(i, 1)] if style == "ragged" else cells)
    if labels is not None:
        rows = [[str(label), *row] for label, row in zip(labels, rows, strict=True)]
        rows.insert(0, ["", *map(str, labels)])
    return "".join(",".join(row) + "\n" for row in rows)


def to_hwloc_xml(topology: Topology) -> str:
    """The topology as hwloc 2 exports it, reduced to what its reader needs."""

    def cpuset(cpus: Sequence[int]) -> str:
        bits = sum(1 << cpu for cpu in cpus)
        words = []
        while bits:
            words.append(f"0x{bits & 0xFFFFFFFF:08x}")
            bits >>= 32
        return ",".join(reversed(words)) or "0x0"

    def members(level: str, group: int) -> list[int]:
        return [c for c, g in zip(topology.cpus, topology.ids(level), strict=True) if g == group]

    def element(parent: ET.Element, what: str, cpus: Sequence[int], **more: str) -> ET.Element:
        sets = {"cpuset": cpuset(cpus), "complete_cpuset": cpuset(cpus)}
        nodes = sorted({int(topology.node[topology.cpus.index(cpu)]) for cpu in cpus})
        sets |= {"nodeset": cpuset(nodes), "complete_nodeset": cpuset(nodes)}
        counter[0] += 1
        attributes = {"type": what, "gp_index": str(counter[0]), **sets, **more}
        return ET.SubElement(parent, "object", attributes)

    counter = [0]
    root = ET.Element("topology", version="2.0")
    whole = {"allowed_cpuset": cpuset(topology.cpus)}
    whole["allowed_nodeset"] = cpuset(range(topology.count("node")))
    machine = element(root, "Machine", topology.cpus, os_index="0", **whole)
    for package in np.unique(topology.package).tolist():
        inside = members("package", package)
        pack = element(machine, "Package", inside, os_index=str(package))
        for node in sorted({int(topology.node[topology.cpus.index(c)]) for c in inside}):
            group = pack
            local = members("node", node)
            if len(local) < len(inside):
                group = element(pack, "Group", local, kind="1000", subkind="0")
            numa = element(group, "NUMANode", local, os_index=str(node), local_memory="1048576")
            numa.set("nodeset", cpuset([node]))
            numa.set("complete_nodeset", cpuset([node]))
            for llc in sorted({int(topology.llc[topology.cpus.index(c)]) for c in local}):
                shared = members("llc", llc)
                cache = {"cache_size": "33554432", "depth": "3", "cache_linesize": "64"}
                cache |= {"cache_associativity": "16", "cache_type": "0"}
                l3 = element(group, "L3Cache", shared, **cache)
                for core in sorted({int(topology.core[topology.cpus.index(c)]) for c in shared}):
                    threads = members("core", core)
                    unit = element(l3, "Core", threads, os_index=str(core))
                    for cpu in threads:
                        element(unit, "PU", [cpu], os_index=str(cpu))
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
    return head + ET.tostring(root, encoding="unicode") + "\n"
