# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The machine file for a machine: its own, or the nearest preset."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

from schedshard.doctor.facts.facts import Facts
from schedshard.machines.hostfile import host_path
from schedshard.machines.machine_list import list_machines
from schedshard.machines.presets import HOST

# Doublings by which a machine may differ: twice the CPUs a cache and twice the CPUs are as far as
# half the packages.
_FARTHEST = 2.0
_WEIGHTS = {"cpus_per_llc": 1.0, "packages": 1.0, "cpus": 0.5, "nodes": 0.25}
_OTHER_VENDOR = 1.0
_VENDORS = {"AuthenticAMD": "amd", "GenuineIntel": "intel"}


@dataclass(frozen=True)
class Nearest:
    """The name of a machine file, and why it was chosen. Without a name ``why`` is why not."""

    name: str | None
    why: str


def counts_of(facts: Facts) -> dict[str, int]:
    """Return how many there are of what, as machine files count."""
    packages = {facts.cpus[cpu].package for cpu in facts.online if cpu in facts.cpus} - {None}
    return {
        "cpus": len(facts.online),
        "packages": max(len(packages), 1),
        "nodes": max(sum(bool(cpus & facts.online) for cpus in facts.nodes.values()), 1),
        "llcs": len(facts.llcs),
    }


def _vendor(title: str) -> str:
    lower = title.lower()
    if "epyc" in lower or "amd" in lower:
        return "amd"
    return "intel" if "xeon" in lower or "intel" in lower else "other"


def distance(counts: dict[str, int], vendor: str | None, row: Mapping[str, Any]) -> float:
    """Return how far a machine file is from a machine, in doublings."""
    mine = {**counts, "cpus_per_llc": counts["cpus"] / counts["llcs"]}
    other = {**row, "cpus_per_llc": row["cpus"] / row["llcs"]}
    far = sum(weight * abs(log2(mine[key] / other[key])) for key, weight in _WEIGHTS.items())
    return far + (_OTHER_VENDOR if vendor and vendor != _vendor(str(row["title"])) else 0.0)


def _model(facts: Facts, row: Mapping[str, Any]) -> bool:
    """Whether the processor's model number is in the name of the machine file."""
    name = facts.settings.get("proc/cpuinfo/model name", "")
    numbers = re.findall(r"\b\d{4}[A-Z]?\b", name)
    return any(number.lower() in re.split(r"[-]", str(row["name"])) for number in numbers)


def nearest(facts: Facts, live: bool, known: Sequence[Mapping[str, Any]] | None = None) -> Nearest:
    """Return the machine file for a machine.

    ``live``: the facts are of this host, so that its own measured file is the best. ``known``
    are the machines to choose from, as list_machines() has them; None for all of the project's.
    """
    counts = counts_of(facts)
    if not counts["llcs"]:
        return Nearest(None, "the kernel knows no caches here")
    if counts["llcs"] == 1:
        return Nearest(None, "one last-level cache: no machine file has so few")
    if live and known is None and host_path().is_file():
        return Nearest(HOST, "measured on this host")
    vendor = _VENDORS.get(facts.settings.get("proc/cpuinfo/vendor_id", ""))
    listed = list_machines() if known is None else known
    rows = [row for row in listed if "error" not in row and row["llcs"]]
    if not rows:
        return Nearest(None, "no machine file can be read")
    ranked = sorted(
        rows, key=lambda row: (not _model(facts, row), distance(counts, vendor, row), row["name"])
    )
    best = ranked[0]
    far = distance(counts, vendor, best)
    has = f"{best['cpus']} CPUs, {best['llcs']} last-level caches, {best['packages']} packages"
    if far > _FARTHEST:
        return Nearest(
            None,
            f"the nearest machine file, {best['name']} ({has}), is {far:.1f} doublings away, and "
            f"{_FARTHEST:.0f} are the limit",
        )
    same = "the same model" if _model(facts, best) else f"the nearest, {far:.1f} doublings away"
    return Nearest(str(best["name"]), f"{same}: {has}")
