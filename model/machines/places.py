# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Turns the [topology] of a machine file into one place per CPU.

Checks are made while the places are filled in. Each CPU gets its LLC, core and L2 once, a core or
an L2 belongs to the LLC whose table lists it, and no node is in two packages. So the result is a
tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from common.errors import UserError
from model.machines.numbers import Rule, check_keys, checked, need

MAX_CPUS = 8192
UNITS = ("cores", "llcs", "nodes", "packages")
_COUNT = Rule(1, MAX_CPUS, f"a whole number from 1 to {MAX_CPUS}", whole=True)
_INDEX = Rule(0, MAX_CPUS - 1, f"a whole number from 0 to {MAX_CPUS - 1}", whole=True)
_COUNTS = ("packages", "nodes_per_package", "cores_per_llc", "threads_per_core", "cores_per_l2")
NUMBERINGS = ("threads-last", "threads-adjacent")


class Place(NamedTuple):
    """Where a CPU is. Ids count over the whole machine, ``thread`` inside its core."""

    package: int
    node: int
    llc: int
    l2: int
    core: int
    thread: int

    def unit(self, name: str) -> int:
        """Return the id of the unit that a tier joins: cores, llcs, nodes or packages."""
        return (self.core, self.llc, self.node, self.package)[UNITS.index(name)]


Places = dict[int, Place]


def places(topology: Mapping[str, Any]) -> Places:
    """Return the place of each CPU, by its number, or raise a UserError that names the key."""
    return _irregular(topology) if "llc" in topology else _regular(topology)


def _regular(topology: Mapping[str, Any]) -> Places:
    check_keys(topology, "topology", (*_COUNTS, "llcs_per_node", "llcs_per_package", "numbering"))
    if {"llcs_per_node", "llcs_per_package"} <= topology.keys():
        raise UserError(
            "topology.llcs_per_package contradicts topology.llcs_per_node, remove one of them"
        )

    def count(key: str) -> int:
        node = need(topology, "topology", key, _COUNT.right)
        return int(checked(node, f"topology.{key}", _COUNT))

    packages, nodes, cores, threads, cluster = map(count, _COUNTS)
    llcs = (
        count("llcs_per_package")
        if "llcs_per_package" in topology
        else count("llcs_per_node") * nodes
    )
    numbering = need(topology, "topology", "numbering", "a string")
    if numbering not in NUMBERINGS:
        raise UserError('topology.numbering must be "threads-last" or "threads-adjacent"')
    in_package = llcs * cores
    if packages * in_package * threads > MAX_CPUS:
        raise UserError(f"[topology] describes more than the {MAX_CPUS} CPUs that are possible")
    if in_package % nodes:
        raise UserError(
            f"topology.nodes_per_package must divide the {in_package} cores of a package"
        )
    in_node = in_package // nodes
    if cores % cluster or in_node % cluster:
        raise UserError("topology.cores_per_l2 must divide the cores of an LLC and of a node")
    total = packages * in_package
    place_of = {
        thread * total + core if numbering == "threads-last" else core * threads + thread: Place(
            core // in_package, core // in_node, core // cores, core // cluster, core, thread
        )
        for core in range(total)
        for thread in range(threads)
    }
    return dict(sorted(place_of.items()))


def _tables(topology: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    check_keys(topology, "topology", ("llc",))
    tables = topology["llc"]
    if not isinstance(tables, list) or not all(isinstance(entry, Mapping) for entry in tables):
        raise UserError("topology.llc must be tables: [[topology.llc]]")
    if not tables:
        raise UserError("topology.llc: the machine has no LLC, it must have at least one")
    return tables


def _irregular(topology: Mapping[str, Any]) -> Places:
    """Return the places on a machine that lists its LLCs one by one, with their CPU numbers."""
    place_of: dict[int, Place] = {}
    cores = l2s = 0
    for llc, table in enumerate(_tables(topology)):
        name = "topology.llc"
        listed = _cpus(need(table, name, "cpus", 'a list such as "0-7"'), f"{name}.cpus")
        check_keys(table, name, ("package", "node", "cpus", "cores", "l2"))
        package, node = (
            int(checked(need(table, name, key, _INDEX.right), f"{name}.{key}", _INDEX))
            for key in ("package", "node")
        )
        core_of, cores = _groups(table, "cores", listed, cores, lambda cpu: cpu)
        l2_of, l2s = _groups(table, "l2", listed, l2s, core_of.__getitem__)
        of_core: dict[int, int] = {}
        for cpu in listed:
            if cpu in place_of:
                raise UserError(f"{name}.cpus: CPU {cpu} is in two LLCs, it must be in one")
            if of_core.setdefault(core_of[cpu], l2_of[cpu]) != l2_of[cpu]:
                raise UserError(f"{name}.l2: CPU {cpu} and its SMT sibling must be in the same L2")
            place_of[cpu] = Place(package, node, llc, l2_of[cpu], core_of[cpu], 0)
    _check_tree(place_of.values())
    threads: dict[int, int] = {}
    for cpu in sorted(place_of):
        place = place_of.pop(cpu)
        threads[place.core] = thread = threads.get(place.core, -1) + 1
        place_of[cpu] = place._replace(thread=thread)
    return place_of


def _groups(
    table: Mapping[str, Any],
    key: str,
    listed: Iterable[int],
    first: int,
    absent: Callable[[int], int],
) -> tuple[dict[int, int], int]:
    """Return the group of each CPU of an LLC, and the next free number.

    Groups are numbered from ``first``. Each lies inside the LLC, and every CPU is in exactly one.
    Without ``key`` in the table, CPUs with the same number from ``absent`` form a group.
    """
    name = f"topology.llc.{key}"
    if key not in table:
        ids: dict[int, int] = {}
        for cpu in listed:
            ids.setdefault(absent(cpu), first + len(ids))
        return {cpu: ids[absent(cpu)] for cpu in listed}, first + len(ids)
    if not isinstance(table[key], list):
        raise UserError(f'{name} must be a list such as ["0,4", "1,5"]')
    group_of: dict[int, int] = {}
    for group, text in enumerate(table[key], first):
        for cpu in _cpus(text, name):
            if cpu not in listed:
                raise UserError(f"{name}: CPU {cpu} is not in this LLC's cpus")
            if cpu in group_of:
                raise UserError(f"{name}: CPU {cpu} is in two groups, it must be in one")
            group_of[cpu] = group
    for cpu in listed:
        if cpu not in group_of:
            raise UserError(f"{name}: CPU {cpu} of this LLC is in none of the groups")
    return group_of, first + len(table[key])


def _cpus(text: Any, name: str) -> dict[int, None]:
    """Return the CPU numbers of a list such as 0-3,8, in order."""
    if not isinstance(text, str):
        raise UserError(f'{name} must be CPU numbers in quotes, such as "0-3,8"')
    cpus: set[int] = set()
    for part in text.split(","):
        low, dash, high = part.partition("-")
        ends = (low, high) if dash else (low, low)
        if not all(end.isascii() and end.isdigit() and len(end) <= 4 for end in ends):
            raise UserError(f'{name}: "{text[:60]}" is not a list of CPU numbers such as "0-3,8"')
        numbers = range(int(ends[0]), int(ends[1]) + 1)
        if not numbers or numbers[-1] >= MAX_CPUS:
            raise UserError(f'{name}: "{text[:60]}" must have ascending ranges below {MAX_CPUS}')
        if not cpus.isdisjoint(numbers):
            raise UserError(f'{name}: "{text[:60]}" names a CPU twice')
        cpus.update(numbers)
    return dict.fromkeys(sorted(cpus))


def _check_tree(placed: Iterable[Place]) -> None:
    """Check that numbers of nodes and packages have no holes, and no node is in two packages."""
    package_of: dict[int, int] = {}
    for place in placed:
        if package_of.setdefault(place.node, place.package) != place.package:
            raise UserError(
                f"topology.llc: node {place.node} is in two packages, it must be in one"
            )
    for what, ids in (("node", set(package_of)), ("package", set(package_of.values()))):
        hole = next((number for number in range(len(ids)) if number not in ids), None)
        if hole is not None:
            raise UserError(
                f"topology.llc: no LLC is in {what} {hole}, {what}s must be numbered from 0 "
                "without holes"
            )


def needed_latencies(placed: Iterable[Place]) -> dict[str, str]:
    """Return the latencies that the machine needs, each with the reason, such as several LLCs."""
    all_places = list(placed)
    in_node = {(place.node, place.llc) for place in all_places}
    nodes: dict[int, set[int]] = {}
    llcs: dict[int, set[int]] = {}
    for place in all_places:
        nodes.setdefault(place.package, set()).add(place.node)
        llcs.setdefault(place.package, set()).add(place.llc)
    cores = {place.core for place in all_places}
    reasons = {
        "smt": ("cores have several threads", len(cores) < len(all_places)),
        "llc": ("LLCs have several cores", len(cores) > len({p.llc for p in all_places})),
        "node": ("nodes have several LLCs", len(in_node) > len({p.node for p in all_places})),
        # If a package has several nodes and LLCs, two of its CPUs differ in both, else none do.
        "package": (
            "packages have several nodes",
            any(len(nodes[package]) > 1 and len(llcs[package]) > 1 for package in nodes),
        ),
        "remote": ("there are several packages", len(nodes) > 1),
        "memory": ("every machine has memory", True),
    }
    return {key: reason for key, (reason, applies) in reasons.items() if applies}
