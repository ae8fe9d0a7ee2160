# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The CPUs of a machine in the order in which threads take them."""

from collections.abc import Mapping, Sequence
from typing import Any

MOST_CPUS = 1024


def _ranks(cpus: Sequence[Mapping[str, Any]], key: str, group: str) -> dict[tuple[int, int], int]:
    """The rank of each id among the different ones of its group."""
    members: dict[int, set[int]] = {}
    for cpu in cpus:
        members.setdefault(cpu[group], set()).add(cpu[key])
    return {
        (owner, each): rank
        for owner, found in members.items()
        for rank, each in enumerate(sorted(found))
    }


def order(topology: Mapping[str, Any], placement: str) -> list[int]:
    """All CPUs that may be there, as the simulator's placements put them."""
    cpus = [cpu for cpu in topology["cpus"] if cpu.get("possible", True)]
    core = _ranks(cpus, "core", "llc")
    llc = _ranks(cpus, "llc", "package")

    def key(cpu: Mapping[str, Any]) -> tuple[int, ...]:
        if placement == "compact":
            return (cpu["core"], cpu["thread"], cpu["cpu"])
        if placement == "scatter":
            return (
                cpu["thread"], core[cpu["llc"], cpu["core"]], llc[cpu["package"], cpu["llc"]],
                cpu["package"], cpu["cpu"],
            )  # fmt: skip
        return (cpu["cpu"],)

    return [int(cpu["cpu"]) for cpu in sorted(cpus, key=key)][:MOST_CPUS]
