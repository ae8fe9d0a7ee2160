# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Chooses the machine file that is nearest to a machine in what decides the cost of a line.

The distance depends on the number of CPUs that share a cache, and on the number of packages that
the load uses. It also depends on the processor's maker, because machines of one maker have similar
latencies. The processor's name only decides between files that are equally near: a guest or a part
of a machine has the name but may have other caches.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the trial has only this module of doctor
    from doctor.facts.facts import Facts
    from doctor.facts.load import DomainLoad
    from doctor.predict.shape import Shape

# Distances are in doublings. Twice the CPUs per cache are as far away as half the packages.
FARTHEST = 2.0
_OTHER_MAKER = 1.0
# A different size alone counts little.
_SIZE = 0.1
_MAKERS = {
    "AuthenticAMD": "amd", "HygonGenuine": "amd", "GenuineIntel": "intel", "0x41": "arm",
    "0xc0": "arm", "0x48": "arm",
}  # fmt: skip


@dataclass(frozen=True)
class Nearest:
    """The name of a machine file, and why it was chosen; or None, and why none was."""

    name: str | None
    why: str


@dataclass(frozen=True)
class Fit:
    """What a machine file has to fit: the load's CPUs, and their caches and packages.

    ``per_cache`` is the mean number of CPUs per last-level cache, 0 if no caches are reported.
    """

    cpus: int
    per_cache: float
    packages: int
    online: int
    maker: str | None
    model: str

    @staticmethod
    def of(facts: Facts, load: DomainLoad, shape: Shape) -> Fit:
        """Return what a machine file has to fit for a load on a machine."""
        caches = facts.llcs
        used = frozenset[int]().union(*(group.cpus for group in load.groups))
        packages = {facts.cpus[cpu].package for cpu in used if cpu in facts.cpus} - {None}
        maker = facts.settings.get("proc/cpuinfo/vendor_id") or facts.settings.get(
            "proc/cpuinfo/CPU implementer", ""
        )
        return Fit(
            shape.cpus, sum(map(len, caches)) / len(caches) if caches else 0.0,
            max(1, min(len(packages), shape.cpus)), len(facts.online), _MAKERS.get(maker),
            facts.settings.get("proc/cpuinfo/model name", ""),
        )  # fmt: skip


def _maker(title: str) -> str:
    lower = title.lower()
    if "epyc" in lower or "amd " in lower:
        return "amd"
    if any(word in lower for word in ("ampere", "neoverse", "graviton", "grace", "arm")):
        return "arm"
    return "intel" if "xeon" in lower or "intel" in lower else "other"


def distance(fit: Fit, row: Mapping[str, Any]) -> float:
    """Return the distance of a machine file from a load, in doublings."""
    cache, package = row["cpus"] / row["llcs"], row["cpus"] / row["packages"]
    # If a load is inside one cache, only its own CPUs count, not all CPUs that share the cache.
    mine, other = min(fit.per_cache, fit.cpus), min(cache, fit.cpus)
    packages = max(fit.packages, ceil(fit.cpus / package))
    far = abs(log2(mine / other)) + abs(log2(fit.packages / min(packages, row["packages"])))
    far += max(0.0, log2(fit.cpus / row["cpus"]))
    far += _OTHER_MAKER if fit.maker and fit.maker != _maker(str(row["title"])) else 0.0
    return far + _SIZE * abs(log2(fit.online / row["cpus"]))


def same_model(fit: Fit, row: Mapping[str, Any]) -> bool:
    """Whether the processor's model number is in the name of the machine file."""
    numbers = re.findall(r"\b[0-9]{4}[A-Z]?\b", fit.model)
    return any(number.lower() in str(row["name"]).split("-") for number in numbers)


def nearest(fit: Fit, known: Sequence[Mapping[str, Any]]) -> Nearest:
    """Return the machine file among ``known`` that is most like a machine and its load."""
    if not fit.per_cache:
        return Nearest(None, "all machine files, because the kernel reports no caches")
    if not known:
        return Nearest(None, "no machine file can be read")

    def rank(row: Mapping[str, Any]) -> tuple[float, bool, float, str]:
        far = distance(fit, row)
        return round(2 * far) / 2, not same_model(fit, row), far, str(row["name"])

    best = min(known, key=rank)
    far = distance(fit, best)
    has = f"{best['cpus']} CPUs, {best['llcs']} last-level caches, {best['packages']} packages"
    if far > FARTHEST:
        return Nearest(
            None,
            f"all machine files, because even the nearest, {best['name']} ({has}), is {far:.1f} "
            f"doublings away (at most {FARTHEST:.0f})",
        )
    same = "the same model" if same_model(fit, best) else f"the nearest, {far:.1f} doublings away"
    return Nearest(str(best["name"]), f"{same}: {has}")
