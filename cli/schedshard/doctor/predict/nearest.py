# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The machine file that stands for a machine: the nearest in what decides the cost of a line.

That is how many CPUs share a cache where the load is, how many packages the load is in, and who
made the processor, since one maker's machines have like latencies. The name of the processor only
decides between equals: a part of a machine, or a guest, has its processor's name and other caches.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Any

from schedshard.doctor.facts.facts import Facts
from schedshard.doctor.facts.load import DomainLoad
from schedshard.doctor.predict.shape import Shape

# Doublings by which a machine may differ: twice the CPUs per cache are as far as half the packages.
FARTHEST = 2.0
_OTHER_MAKER = 1.0
# A machine that differs in its size alone is less far, but farther than one that does not.
_SIZE = 0.1
_MAKERS = {
    "AuthenticAMD": "amd", "HygonGenuine": "amd", "GenuineIntel": "intel", "0x41": "arm",
    "0xc0": "arm", "0x48": "arm",
}  # fmt: skip


@dataclass(frozen=True)
class Nearest:
    """The name of a machine file, and why it was chosen. Without a name ``why`` is why not."""

    name: str | None
    why: str


@dataclass(frozen=True)
class Fit:
    """What a machine file has to fit: the load's CPUs, and the caches and packages around them."""

    cpus: int
    per_cache: float
    packages: int
    online: int
    maker: str | None
    model: str

    @staticmethod
    def of(facts: Facts, load: DomainLoad, shape: Shape) -> Fit:
        """Return what a load on a machine asks for; ``per_cache`` 0: the kernel knows no caches."""
        caches = facts.llcs
        used = frozenset[int]().union(*(group.cpus for group in load.groups))
        there = {facts.cpus[cpu].package for cpu in used if cpu in facts.cpus} - {None}
        maker = facts.settings.get("proc/cpuinfo/vendor_id") or facts.settings.get(
            "proc/cpuinfo/CPU implementer", ""
        )
        return Fit(
            shape.cpus, sum(map(len, caches)) / len(caches) if caches else 0.0,
            max(1, min(len(there), shape.cpus)), len(facts.online), _MAKERS.get(maker),
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
    """Return how far a machine file is from what a load asks for, in doublings."""
    cache, package = row["cpus"] / row["llcs"], row["cpus"] / row["packages"]
    # Inside one cache only the load's own CPUs count, however many others share the cache.
    mine, other = min(fit.per_cache, fit.cpus), min(cache, fit.cpus)
    packages = max(fit.packages, ceil(fit.cpus / package))
    far = abs(log2(mine / other)) + abs(log2(fit.packages / min(packages, row["packages"])))
    far += max(0.0, log2(fit.cpus / row["cpus"]))
    far += _OTHER_MAKER if fit.maker and fit.maker != _maker(str(row["title"])) else 0.0
    return far + _SIZE * abs(log2(fit.online / row["cpus"]))


def same_model(fit: Fit, row: Mapping[str, Any]) -> bool:
    """Whether the processor's model number is in the name of the machine file."""
    numbers = re.findall(r"\b\d{4}[A-Z]?\b", fit.model)
    return any(number.lower() in str(row["name"]).split("-") for number in numbers)


def nearest(fit: Fit, known: Sequence[Mapping[str, Any]]) -> Nearest:
    """Return the machine file among ``known`` that is nearest to a load on a machine."""
    if not fit.per_cache:
        return Nearest(None, "the kernel knows no caches here: the range of all machine files")
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
            f"the range of all machine files: the nearest, {best['name']} ({has}), is {far:.1f} "
            f"doublings away, and {FARTHEST:.0f} are the limit",
        )
    same = "the same model" if same_model(fit, best) else f"the nearest, {far:.1f} doublings away"
    return Nearest(str(best["name"]), f"{same}: {has}")
