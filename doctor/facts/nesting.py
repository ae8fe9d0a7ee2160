# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Refuses the topologies that the library refuses, where lists disagree or groups do not nest.

These are the rules of lib/topo_sysfs.c, lib/topo_build.c and core/shard_topo_check.c. Each
ValueError names the CPU. The rules of core/shard_topo_check.c concern the plan of shards. Doctor
needs no plan: it judges a host that breaks them, and reports that no plan can be made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LLC, L2, CORE = "last-level cache", "L2", "core"
# The levels of a CPU's place, outermost first.
_PACKAGE, _NODE, _LLC, _L2, _CORE = range(5)
_SPLIT = {
    _LLC: "one last-level cache in two packages",
    _CORE: "one core in two L2 caches, last-level caches, nodes or packages",
    _L2: "one L2 in two last-level caches, nodes or packages",
}


@dataclass
class Groups:
    """The lists of CPUs that share something, by kind and lowest CPU, as the CPUs report them."""

    possible: frozenset[int]
    present: frozenset[int]
    by_first: dict[str, dict[int, frozenset[int]]] = field(default_factory=dict)
    _there: dict[frozenset[int], frozenset[int]] = field(default_factory=dict)

    def add(self, kind: str, cpu: int, shared: frozenset[int]) -> None:
        """Add the list of CPUs that a CPU's folder contains, or raise a ValueError."""
        if cpu not in shared:
            raise ValueError(f"cpus: the {kind} of CPU {cpu} must contain CPU {cpu} itself")
        there = self._there.get(shared)
        if there is None:
            if not shared <= self.possible:
                raise ValueError(f"cpus: the {kind} of CPU {cpu} has a CPU that is not possible")
            there = self._there[shared] = shared & self.present
        if self.by_first.setdefault(kind, {}).setdefault(min(there), there) != there:
            name = "core" if kind == CORE else "cache"
            raise ValueError(
                f"cpus: the {kind} of CPU {cpu} contradicts another CPU of this {name}"
            )

    def assigned(self, kind: str) -> dict[int, int]:
        """Return by CPU the lowest CPU of the list that contains it."""
        found: dict[int, int] = {}
        for first, shared in sorted(self.by_first.get(kind, {}).items()):
            for cpu in shared:
                if found.setdefault(cpu, first) != first:
                    raise ValueError(
                        f"cpus: CPU {cpu} is in two of the lists of CPUs that share a {kind}: "
                        f"those of CPU {found[cpu]} and of CPU {first}"
                    )
        return found


def place_nodes(
    nodes: Mapping[int, frozenset[int]], links: Mapping[int, int], groups: Groups
) -> dict[int, int]:
    """Return the node of each CPU from the nodes' lists, or else from the CPU's link.

    Only the link remains of a CPU that is offline.
    """
    found: dict[int, int] = {}
    for node, cpus in sorted(nodes.items()):
        for cpu in sorted(cpus):
            if cpu not in groups.possible:
                raise ValueError(f"cpus: node {node} has CPU {cpu}, which is not possible")
            if cpu in groups.present and found.setdefault(cpu, node) != node:
                raise ValueError(
                    f"cpus: node {node} has CPU {cpu}, which is in node {found[cpu]} already"
                )
    return {cpu: node for cpu, node in links.items() if cpu in groups.present} | found


def _fill_places(cpus: list[int], packages: dict[int, int], nodes: dict[int, int]) -> None:
    """Fill in unknown packages and nodes.

    A CPU whose node is known gets the package of another CPU of that node, and the reverse. If
    there is none, it gets a new number.
    """
    like: dict[tuple[int | None, int | None], tuple[int, int]] = {}

    def know(cpu: int) -> None:
        both = packages[cpu], nodes[cpu]
        for key in ((None, None), (both[0], None), (None, both[1])):
            like.setdefault(key, both)

    for cpu in cpus:
        if cpu in packages and cpu in nodes:
            know(cpu)
    new_package, new_node = max(packages.values()) + 1, max(nodes.values()) + 1
    for cpu in cpus:
        if cpu in packages and cpu in nodes:
            continue
        other = like.get((packages.get(cpu), nodes.get(cpu)))
        if cpu not in packages:
            packages[cpu] = other[0] if other else new_package
            new_package += other is None
        if cpu not in nodes:
            nodes[cpu] = other[1] if other else new_node
            new_node += other is None
        know(cpu)


def _check_cycles(places: Mapping[int, list[int]]) -> None:
    """Refuse a node in two packages, one of which is in two nodes."""
    of_node: dict[int, set[int]] = {}
    of_package: dict[int, set[int]] = {}
    for place in places.values():
        of_node.setdefault(place[_NODE], set()).add(place[_PACKAGE])
        of_package.setdefault(place[_PACKAGE], set()).add(place[_NODE])
    for cpu, place in places.items():
        if len(of_node[place[_NODE]]) > 1 and len(of_package[place[_PACKAGE]]) > 1:
            raise ValueError(f"cpus: CPU {cpu} is in a node in two packages, one in two nodes")


def check_nesting(groups: Groups, packages: Mapping[int, int], nodes: Mapping[int, int]) -> None:
    """Raise a ValueError if a group of CPUs does not lie within one group of the level above."""
    cpus = sorted(groups.present)
    if not cpus:
        return
    llcs, l2s, cores = (groups.assigned(kind) for kind in (LLC, L2, CORE))
    package_of = {cpu: number for cpu, number in packages.items() if cpu in groups.present}
    # A hypervisor may give each virtual CPU a package. Where a cache spans packages, they are
    # ignored.
    for cpu, first in llcs.items():
        if package_of.get(cpu, -1) != package_of.get(first, -1) and {cpu, first} <= set(package_of):
            package_of = {}
            break
    known = bool(package_of), bool(nodes)
    package_of = package_of or dict.fromkeys(cpus, 0)
    node_of = dict(nodes) or dict.fromkeys(cpus, 0)
    _fill_places(cpus, package_of, node_of)
    made_up: dict[tuple[int, int], int] = {}
    places = {}
    for cpu in cpus:
        package, node = package_of[cpu], node_of[cpu]
        llc = llcs.get(cpu, -1)
        if llcs and llc < 0:
            llc = made_up.setdefault((package, node), cpus[-1] + 1 + len(made_up))
        places[cpu] = [
            package if known[0] else -1, node if known[1] else -1, llc, l2s.get(cpu, -1),
            cores.get(cpu, -1),
        ]  # fmt: skip
    if len(l2s) < len(cpus):
        for place in places.values():
            place[_L2] = -1
    _check_cycles(places)
    for level, above in ((_LLC, _NODE), (_CORE, _CORE), (_L2, _L2)):
        if level == _LLC and not llcs:
            continue
        held: dict[int, list[int]] = {}
        for cpu, place in places.items():
            if place[level] >= 0 and held.setdefault(place[level], place)[:above] != place[:above]:
                raise ValueError(f"cpus: {_SPLIT[level]} (CPU {cpu})")
