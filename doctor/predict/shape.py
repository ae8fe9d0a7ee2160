# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reduces a root domain's load to the few numbers that the model takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median

from doctor.facts.facts import Facts, Thread
from doctor.facts.load import DomainLoad, Group, parts_of, unit_of
from doctor.known.push_ipi import push_ipi
from doctor.predict.rates import SHARD, Asked

STOCK = "stock"
# The titles of the variants that are remedies. The first two need no other kernel.
PARTITION, PIN = "partition", "pin"
REMEDIES = {
    PARTITION: "a partition of type root for each group",
    PIN: "threads pinned to one last-level cache each, and a partition of type root for each",
    SHARD: "a kernel with schedshard's series",
}
# CPUs that are more than this share of a package, in a machine file, are as near as possible.
_FULL = 0.75
# Groups with at most this share of the wake-ups can be moved without a change of the cost.
_LITTLE = 0.05
TITLES = {STOCK: "as it is", **REMEDIES}


@dataclass(frozen=True)
class Shape:
    """Groups of equally many CPUs. ``rate`` is the wake-ups per second of all groups.

    ``level`` is the highest priority of a thread, and ``levels`` the number of priorities.
    ``online`` counts the machine's CPUs. ``pinned``: most wake-ups are of threads that may run on
    only one CPU. ``packages`` counts the packages of all groups, ``group_packages`` those of the
    largest group. ``caches`` counts the last-level caches of all groups.
    ``push``: whether RT_PUSH_IPI is on, None if unknown. ``busy`` is the fraction of time in which
    the machine's CPUs were busy, which no cost exceeds. ``joined`` counts the services, guests or
    containers of the largest group, whose threads share CPUs. ``moved`` is the fraction of the
    wake-ups that happen inside partitions once these are made.
    """

    groups: int
    cpus_per_group: int
    level: int
    levels: int
    rate: float
    online: int
    pinned: bool = False
    packages: int = 1
    group_packages: int = 1
    caches: int = 1
    push: bool | None = True
    busy: float = 1.0
    joined: int = 1
    moved: float = 1.0

    @property
    def cpus(self) -> int:
        """Return the number of CPUs of all groups."""
        return self.groups * self.cpus_per_group

    @property
    def words(self) -> str:
        """Return the shape as text."""
        push = {True: "on", False: "off", None: "unknown"}[self.push]
        return (
            f"{self.groups} group{'s' if self.groups > 1 else ''} of {self.cpus_per_group} "
            f"CPU{'s' if self.cpus_per_group > 1 else ''}"
            f"{f' in {self.packages} packages' if self.packages > 1 else ''}, "
            f"{self.rate / self.cpus:,.0f} wake-ups per second and CPU"
            f"{', each thread pinned to one CPU' if self.pinned else ''}, RT_PUSH_IPI {push}"
        )

    def asked(self, push: bool, package: float) -> dict[str, Asked]:
        """Return what to ask the model for the current load and for each remedy that applies.

        ``package`` is the number of CPUs per package of the machine file.
        """
        cpus, rate, far = self.cpus, self.rate, _far(self.cpus, self.packages, package)
        # Threads of a group of one CPU are pinned in effect.
        pinned = self.pinned or self.cpus_per_group == 1
        made = {STOCK: Asked(STOCK, push, pinned, far, cpus, rate)}
        if self.groups > 1:
            made[PARTITION] = Asked(
                STOCK, push, pinned, _far(self.cpus_per_group, self.group_packages, package),
                self.cpus_per_group, rate / self.groups,
            )  # fmt: skip
        elif (cuts := max(self.joined, 1 if pinned else self.caches)) > 1:
            share = ceil(cpus / cuts)
            made[PIN] = Asked(STOCK, push, pinned, False, share, rate * share / cpus)
        made[SHARD] = Asked(SHARD, push, pinned, far, cpus, rate, self.cpus_per_group)
        return made


def _far(cpus: int, packages: int, package: float) -> bool:
    """Whether CPUs in several packages need clearly fewer packages of ``package`` CPUs."""
    return packages > 1 and cpus / packages < _FULL * min(cpus, package)


def _alike(rates: Sequence[float]) -> int:
    """Return how many units with equal rates have this sum and sum of squares of rates."""
    return max(1, round(sum(rates) ** 2 / sum(rate * rate for rate in rates)))


def _without_links(groups: list[Group], rate: float) -> list[Group]:
    """Return the groups without those that only link others, if these hardly ever wake up.

    Threads of several guests on the same CPUs, such as iothreads, link the guests. An administrator
    can pin them elsewhere.
    """
    links = [group for group in groups if len({unit_of(name) for name in group.cgroups}) > 1]
    if len(links) == len(groups) or sum(group.wakeups for group in links) > _LITTLE * rate:
        return groups
    return [group for group in groups if group not in links]


def _awake(threads: Sequence[Thread], cpus: frozenset[int]) -> tuple[int, frozenset[int]]:
    """Return the effective number of CPUs on which threads wake up, and which CPUs these are.

    It is at most one per thread. Each thread's wake-ups are spread evenly over its CPUs.
    """
    by_mask: Counter[frozenset[int]] = Counter()
    for thread in threads:
        mask = cpus if thread.allowed is None else thread.allowed & cpus or cpus
        by_mask[mask] += thread.voluntary or 0
    rates = dict.fromkeys(cpus, 0.0)
    for mask, rate in by_mask.items():
        for cpu in mask:
            rates[cpu] += rate / len(mask)
    size = min(_alike(list(rates.values())), len(threads))
    least = sorted(rates.values())[-size]
    return size, frozenset(cpu for cpu, rate in rates.items() if rate >= least)


def _packages(cpus: frozenset[int], used: int, facts: Facts) -> int:
    """Return the number of packages of CPUs, if ``used`` of them run at once."""
    packages = {facts.cpus[cpu].package for cpu in cpus if cpu in facts.cpus} - {None}
    return max(1, min(len(packages), used))


def _busy(facts: Facts) -> float:
    """Return the fraction of time in which the online CPUs were busy, 1 if unknown."""
    if not facts.online <= facts.busy.keys():
        return 1.0
    return sum(facts.busy[cpu] for cpu in facts.online) / len(facts.online)


def shape_of(load: DomainLoad, facts: Facts) -> Shape | None:
    """Return the shape of a root domain's load, or None if nothing in it wakes up.

    Deadline threads count like real-time threads: they write the same lines, and others as well.
    """
    rate = load.wakeups
    apart = [group for group in load.apart if group.wakeups > 0]
    # If threads that roam make most wake-ups, all count as one group.
    roam = sum(group.wakeups for group in apart) < load.wakeups / 2
    joined = 1
    if roam:
        apart = [group for group in load.groups if group.wakeups > 0]
        units = [apart] if apart else []
    else:
        parts = parts_of(_without_links(apart, rate), facts)
        units = [list(part.groups) for part in parts]
        joined = max((len(part.places) for part in parts), default=1)
    if not units or rate <= 0:
        return None
    # Threads that roam wake up outside of partitions; kernel threads cannot even be pinned.
    inside = rate - load.kernel if roam else sum(group.wakeups for group in apart)
    threads = [thread for group in apart for thread in group.threads if thread.voluntary]
    weights: Counter[int] = Counter()
    one_cpu = 0
    for thread in threads:
        weights[max(1, min(thread.priority, 99))] += thread.voluntary or 0
        if thread.allowed is not None and len(thread.allowed) == 1:
            one_cpu += thread.voluntary or 0
    level = max(weights)
    # A group uses at most one CPU per thread. Its other CPUs are idle.
    sizes = [
        max(1, sum(min(len(group.cpus), len(group.threads)) for group in unit)) for unit in units
    ]
    groups = _alike([sum(group.wakeups for group in unit) for unit in units])
    size = max(1, round(median(sizes)))
    everywhere = frozenset[int]().union(*(group.cpus for group in apart))
    largest = max(units, key=lambda unit: sum(group.wakeups for group in unit))
    of_one = frozenset[int]().union(*(group.cpus for group in largest))
    # Groups of threads that roam overlap, and kernel threads are pinned one by one.
    if roam:
        size, everywhere = _awake(threads, load.domain.cpus)
        of_one = everywhere
    return Shape(
        groups, size, level, min(len(weights), level), rate, len(facts.online),
        2 * one_cpu > sum(weights.values()), _packages(everywhere, groups * size, facts),
        _packages(of_one, size, facts), max(load.llcs, 1), push_ipi(facts).on, _busy(facts),
        joined, min(inside / rate, 1.0),
    )  # fmt: skip
