# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Checks whether hardware can have the last-level caches that a guest sees."""

from __future__ import annotations

from dataclasses import dataclass

from doctor.facts.facts import Facts
from model.machines.topo import label

# Real machines with fewer CPUs may have one cache for all CPUs, or one for each CPU.
_LEAST_CPUS = 4
# Zen 4c and 5c have 16 cores of 2 threads per L3, the most of any EPYC.
_MOST_OF_AMD = 32


@dataclass(frozen=True)
class FalseCaches:
    """What the hypervisor does with caches, the files that show it, and what they contain."""

    summary: str
    where: str
    value: str


def false_caches(facts: Facts) -> FalseCaches | None:
    """Return what cannot be true of a guest's caches, or None if nothing is known to be false."""
    if facts.hypervisor is None or len(facts.online) < _LEAST_CPUS:
        return None
    where = "/sys/devices/system/cpu/cpu*/cache/index*"
    online = [facts.cpus[cpu] for cpu in sorted(facts.online) if cpu in facts.cpus]
    levels = [cpu.llc_level for cpu in online if cpu.llc_level is not None]
    if not levels:
        summary = "The hypervisor hides all caches from this guest"
        return FalseCaches(summary, where, f"no cache for {len(facts.online)} CPUs")
    amd = facts.settings.get("proc/cpuinfo/vendor_id") == "AuthenticAMD"
    intel = facts.settings.get("proc/cpuinfo/vendor_id") == "GenuineIntel"
    if max(levels) < 3 and (amd or intel):
        summary = "The hypervisor hides the last-level caches from this guest"
        return FalseCaches(summary, where, f"no cache above level {max(levels)}")
    caches = facts.llcs
    if len(caches) == len(facts.online):
        summary = "The hypervisor gives each virtual CPU a last-level cache of its own"
        return FalseCaches(summary, where, f"{len(caches)} caches for {len(facts.online)} CPUs")
    largest = max(caches, key=len)
    if amd and len(largest) > _MOST_OF_AMD:
        summary = f"The hypervisor makes one last-level cache of {len(largest)} CPUs"
        value = f"CPUs {label(largest)} share a cache; on an EPYC at most {_MOST_OF_AMD} do"
        return FalseCaches(summary, where, value)
    for cache in caches:
        packages = {facts.cpus[cpu].package for cpu in cache if cpu in facts.cpus}
        if len(packages - {None}) > 1:
            summary = "The hypervisor lets a last-level cache span packages"
            value = f"CPUs {label(cache)} share a cache, and are in {len(packages)} packages"
            return FalseCaches(summary, where, value)
    return None
