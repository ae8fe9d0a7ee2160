# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes latency tables, with noise, of machines that do not exist but have a known topology."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from model.machines.making.classes import CLASSES, kinds_of
from model.machines.making.latencycsv import Matrix
from model.machines.making.topology import LEVELS, Regular, Topology, make_topology

# Medians as published: of core complexes, of a mesh, and of a mesh divided into clusters.
COMPLEX_NS = {"smt": 10.0, "llc": 25.0, "node": 105.0, "package": 105.0, "remote": 200.0}
MESH_NS = {"smt": 8.0, "llc": 51.0, "node": 80.0, "package": 80.0, "remote": 110.0}
CLUSTER_NS = {"smt": 8.0, "llc": 55.0, "node": 85.0, "package": 85.0, "remote": 145.0}


def renumbered(topology: Topology, cpus: Sequence[int]) -> Topology:
    """The same machine with other CPU numbers, in rising order."""
    order = np.argsort(cpus)
    levels = {level: topology.ids(level)[order] for level in LEVELS}
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
    """A table as text; lower: empty upper triangle, ragged: cut at the diagonal, full: all."""
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
