# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Chooses the pairs of CPUs to measure on a host that has too many pairs.

Every class of distance gets about the same number of pairs. The classes are siblings, cores of one
L2, cores of one LLC, LLCs of one node, nodes of one package, and packages. Inside a class the pairs
are spread over the machine, and over the distances between ranks (the rank of a core, cache or node
is its number inside its parent). This spread also covers groups of neighbours that the topology
does not name, such as quadrants of a socket. The classes take turns, so that a measurement that
ends early covers all of them.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import TypeVar

import numpy as np

from model.machines.making.topology import Ids, Topology, within

# If there are at most this many pairs, those of 64 CPUs, all are measured.
ALL_PAIRS = 2016
PAIRS_PER_CLASS = 400
# How many caches, nodes or packages are sampled for pairs inside them.
PARENTS = 8
SEED = 1

Pair = tuple[int, int]
Item = TypeVar("Item")


def sample_pairs(topology: Topology) -> list[Pair]:
    """Return pairs of CPU numbers in the order to measure them; all pairs of a small host."""
    count = len(topology.cpus)
    if count * (count - 1) // 2 <= ALL_PAIRS:
        return [(a, b) for i, a in enumerate(topology.cpus) for b in topology.cpus[i + 1 :]]
    rng = np.random.default_rng(SEED)
    everything = np.zeros(count, dtype=np.int64)
    # an LLC that spans nodes counts before the node, as in the machine file
    node = within(topology.package, topology.node)
    if np.unique(within(topology.llc, node)).size > topology.count("llc"):
        node = topology.package
    cpu = np.arange(count, dtype=np.int64)
    levels = [
        (cpu, topology.core), (topology.core, topology.l2), (topology.l2, topology.llc),
        (topology.llc, node), (node, topology.package), (topology.package, everything),
    ]  # fmt: skip
    classes = [list(_inside(unit, parent, rng)) for unit, parent in levels]
    for pairs in classes:
        rng.shuffle(pairs)
    turns = chain.from_iterable(zip_longest(*(pairs[:PAIRS_PER_CLASS] for pairs in classes)))
    return [(topology.cpus[a], topology.cpus[b]) for a, b in (pair for pair in turns if pair)]


def _inside(unit: Ids, parent: Ids, rng: np.random.Generator) -> Iterator[Pair]:
    """Yield pairs of CPUs in two units of one parent, over all distances between units' ranks."""
    groups = np.unique(parent).tolist()
    parents = [group for group in groups if np.unique(unit[parent == group]).size > 1]
    # If parents have few units, enough pairs need many parents.
    tiny = np.unique(unit).size <= 4 * len(groups)
    chosen = spread(parents, PAIRS_PER_CLASS if tiny else PARENTS)
    for group in chosen:
        mine = np.flatnonzero(parent == group)
        units = [mine[unit[mine] == number] for number in np.unique(unit[mine])]
        steps = distances(len(units))
        count = max(1, PAIRS_PER_CLASS // (len(chosen) * len(steps)))
        for step in steps:
            starts = len(units) - step
            firsts = rng.permutation(starts) if starts >= count else rng.integers(0, starts, count)
            pairs = {
                (int(rng.choice(units[first])), int(rng.choice(units[first + step])))
                for first in firsts[:count].tolist()
            }
            yield from sorted(pairs)


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most ``most`` of the items, evenly spaced."""
    if len(items) <= most:
        return list(items)
    return [items[i * len(items) // most] for i in range(most)]


def distances(units: int) -> list[int]:
    """Return the distances between ranks below ``units``: 1, 2, 3, 4, 6, 8, 12, 16, ..."""
    steps = sorted({step for n in range(units.bit_length()) for step in (1 << n, 3 << n >> 1)})
    return [step for step in steps if 0 < step < units]
