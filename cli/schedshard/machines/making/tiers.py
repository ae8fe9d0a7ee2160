# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tiers of latency between the levels of a topology, inferred from the pairs of one level.

A tier of 3 LLCs says that LLCs 0-2 of a node are nearer to each other than to LLC 3. It counts only
if it is clear. 95 of 100 pairs inside the groups are nearer than 95 of 100 pairs outside, and the
medians differ by STEP. A rank test excludes chance, since a machine of few CPUs has few pairs and
many possible groupings.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schedshard.machines.making.topology import Ids, Topology, within

STEP = 1.04
# Chance that latencies without any tier look like one; a dozen groupings are tried on a machine.
CHANCE = 1e-6

Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Unit:
    """What tiers join: its level, the level that groups lie in, the class of the pairs."""

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
    """Groups of ``count`` units, and which of the pairs lie inside one and in no smaller one."""

    name: str
    unit: str
    count: int
    inside: Mask


def _ranks(topology: Topology, unit: Unit) -> tuple[Ids, Ids, int] | None:
    """Rank of each CPU's unit inside its parent, the parent, and the units of one parent.

    As in lib/machine_tiers.cc. None where parents have unequal numbers of units.
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
    return (rank, parent, sizes.pop()) if len(sizes) == 1 else None


def find_tiers(
    topology: Topology, rows: Ids, columns: Ids, values: Values, kind: npt.NDArray[np.str_]
) -> list[Tier]:
    """The tiers of a machine, from the smallest group to the largest.

    ``rows`` and ``columns`` are indices of CPUs, ``kind`` is the class of each pair.
    """
    found: list[Tier] = []
    for unit in UNITS:
        ranks = _ranks(topology, unit)
        if ranks is None:
            continue
        rank, _, size = ranks
        rest = kind == unit.pairs
        last = 1
        for count in (n for n in range(2, size) if size % n == 0):
            same = rank[rows] // count == rank[columns] // count
            near, far = rest & same, rest & ~same
            if count % last == 0 and stands_out(values[near], values[far]):
                found.append(Tier(_name(topology, unit, count), unit.name, count, near))
                rest = far
                last = count
    return found


def stands_out(near: Values, far: Values) -> bool:
    """Whether latencies inside groups differ from those outside beyond chance and overlap."""
    if near.size == 0 or far.size == 0:
        return False
    if np.percentile(near, 95) > np.percentile(far, 5):
        return False
    if np.median(far) < np.median(near) * STEP:
        return False
    # Here, since it takes half a second and what only reads machines does without it.
    from scipy.stats import mannwhitneyu

    return bool(mannwhitneyu(near, far, alternative="less").pvalue < CHANCE)


def _name(topology: Topology, unit: Unit, count: int) -> str:
    """A tier's name: l2 for the cores of one L2, otherwise that of its unit."""
    if unit.name == "cores":
        cores = np.unique(within(topology.l2, topology.core)).size
        if count * topology.count("l2") == cores:
            return "l2"
    return f"{unit.name}-{count}"
