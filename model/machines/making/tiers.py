# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Infers tiers of latency between the levels of a topology, from the pairs of one level.

A tier of 3 LLCs says that LLCs 0-2 of a node are nearer to each other than to LLC 3. A tier counts
only if it is clear: 95 of 100 pairs inside the groups are nearer than 95 of 100 pairs outside, and
the medians differ by STEP. A rank test excludes chance, because a machine with few CPUs has few
pairs and many possible groupings.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from model.machines.making.topology import Ids, Topology, within

STEP = 1.04
# Accepted probability that latencies without a tier look like one. About 12 groupings are tried.
CHANCE = 1e-6

Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Unit:
    """The units that a tier joins: their level, the level around groups, and the class of pairs."""

    name: str
    level: str
    parent: str | None
    pairs: str


UNITS = (
    Unit("cores", "core", "llc", "llc"),
    Unit("llcs", "llc", "node", "node"),
    Unit("nodes", "node", "package", "package"),
    Unit("packages", "package", None, "remote"),
)


@dataclass(frozen=True)
class Tier:
    """Groups of ``count`` units. ``inside``: the pairs for which it is the smallest tier."""

    name: str
    unit: str
    count: int
    inside: Mask


def _ranks(topology: Topology, unit: Unit) -> tuple[Ids, int] | None:
    """Return the number of each CPU's unit within its parent, and how many units a parent has.

    model/machines/flat.py groups by such numbers. None if parents' numbers of units differ.
    """
    own = topology.ids(unit.level)
    parent = np.zeros_like(own) if unit.parent is None else topology.ids(unit.parent)
    if np.unique(within(own, parent)).size != np.unique(own).size:
        return None  # an LLC that spans nodes has no rank in one
    rank = np.zeros_like(own)
    sizes = set()
    for group in np.unique(parent).tolist():
        mine = parent == group
        units = np.unique(own[mine])
        rank[mine] = np.searchsorted(units, own[mine])
        sizes.add(int(units.size))
    return (rank, sizes.pop()) if len(sizes) == 1 else None


def find_tiers(
    topology: Topology, rows: Ids, columns: Ids, values: Values, kind: npt.NDArray[np.str_]
) -> list[Tier]:
    """Return the tiers of a machine, from the smallest group to the largest.

    ``rows`` and ``columns`` are indices of CPUs, ``kind`` is the class of each pair.
    """
    tiers: list[Tier] = []
    for unit in UNITS:
        ranks = _ranks(topology, unit)
        if ranks is None:
            continue
        rank, size = ranks
        rest = kind == unit.pairs
        last = 1
        for count in (n for n in range(2, size) if size % n == 0):
            same = rank[rows] // count == rank[columns] // count
            near, far = rest & same, rest & ~same
            if count % last == 0 and stands_out(values[near], values[far]):
                tiers.append(Tier(_name(topology, unit, count), unit.name, count, near))
                rest = far
                last = count
    return tiers


def stands_out(near: Values, far: Values) -> bool:
    """Whether latencies inside groups are clearly lower than outside, and not by chance."""
    if near.size == 0 or far.size == 0:
        return False
    if np.percentile(near, 95) > np.percentile(far, 5):
        return False
    if np.median(far) < np.median(near) * STEP:
        return False
    # Imported here, because it takes half a second and readers of machine files do not need it.
    from scipy.stats import mannwhitneyu

    return bool(mannwhitneyu(near, far, alternative="less").pvalue < CHANCE)


def _name(topology: Topology, unit: Unit, count: int) -> str:
    """Return a tier's name: l2 for the cores of one L2, otherwise that of its unit."""
    if unit.name == "cores":
        cores = np.unique(within(topology.l2, topology.core)).size
        if count * topology.count("l2") == cores:
            return "l2"
    return f"{unit.name}-{count}"
