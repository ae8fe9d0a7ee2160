# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Sorts a machine's CPUs in the order in which threads take them."""

from collections.abc import Mapping, Sequence
from typing import Any


def in_order(cpus: Sequence[Mapping[str, Any]], placement: str) -> list[Mapping[str, Any]]:
    """Return CPUs sorted for a placement. ``cpus`` has the ids that schedshard-topo prints.

    ``os``: CPU numbers in order. ``compact``: siblings, then the LLC, then the package.
    ``scatter``: packages in turn, LLCs in turn, siblings last.
    """
    thread = _ranks(cpus, "thread", "core")
    core, llc = _ranks(cpus, "core", "llc"), _ranks(cpus, "llc", "package")

    def key(cpu: Mapping[str, Any]) -> tuple[int, ...]:
        sibling = thread[cpu["core"], cpu["thread"]]
        if placement == "compact":
            return (cpu["package"], cpu["node"], cpu["llc"], cpu["core"], sibling, cpu["cpu"])
        if placement == "scatter":
            near = core[cpu["llc"], cpu["core"]], llc[cpu["package"], cpu["llc"]]
            return (sibling, *near, cpu["package"], cpu["cpu"])
        return (cpu["cpu"],)

    return sorted(cpus, key=key)


def _ranks(cpus: Sequence[Mapping[str, Any]], level: str, above: str) -> dict[tuple[int, int], int]:
    """Return the rank of each id among the ids of its group: by group and id."""
    members: dict[int, set[int]] = {}
    for cpu in cpus:
        members.setdefault(cpu[above], set()).add(cpu[level])
    return {
        (group, number): rank
        for group, ids in members.items()
        for rank, number in enumerate(sorted(ids))
    }
