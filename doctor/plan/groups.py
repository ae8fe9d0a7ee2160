# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The groups of real-time threads that may get partitions, and who manages each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from doctor.facts.cpusets import Cpuset
from doctor.facts.facts import Facts
from doctor.facts.load import DomainLoad, Group, joined, kind_of, unit_of
from doctor.plan.names import shown
from model.machines.topo import label

_VCPU = re.compile(r"CPU [0-9]+/(KVM|TCG)")


@dataclass(frozen=True)
class Wanted:
    """A group and all CPUs that it needs: those of its threads, and ``spare`` ones for a guest.

    A guest's process also has threads of the emulator. They need a CPU on which no FIFO thread of
    the guest runs.
    """

    group: Group
    units: tuple[str, ...]
    kind: str
    spare: frozenset[int] = frozenset()

    @property
    def cpus(self) -> frozenset[int]:
        """Return the CPUs of its partition."""
        return self.group.cpus | self.spare

    @property
    def title(self) -> str:
        """Return the group's name in messages."""
        names = [shown(unit) for unit in self.units[:2]] or ["threads of the root cgroup"]
        return ", ".join(names) + (
            f" and {len(self.units) - 2} more" if len(self.units) > 2 else ""
        )


@dataclass(frozen=True)
class Partition:
    """The cgroup that becomes a group's partition; ``path`` is relative to the mount.

    ``found`` is the existing cgroup, or None if the plan makes it. ``mems`` are memory nodes, empty
    for those of the parent. ``remote``: the cgroup stays below cgroups that are not partitions.
    """

    path: str
    wanted: Wanted
    mems: frozenset[int]
    found: Cpuset | None = None
    remote: bool = False

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def cpus(self) -> frozenset[int]:
        """Return the partition's CPUs."""
        return self.wanted.cpus

    @property
    def listed(self) -> frozenset[int]:
        """Return the CPUs of its ``cpuset.cpus``, of which no sibling may list one.

        That of an existing cgroup may contain CPUs that are offline.
        """
        return self.cpus.union((self.found and self.found.cpus) or ())

    @property
    def group(self) -> Group:
        """Return the group of its threads."""
        return self.wanted.group

    @property
    def units(self) -> tuple[str, ...]:
        """Return the services, scopes or cgroups of the threads."""
        return self.wanted.units


def merged(groups: Iterable[Group]) -> list[Group]:
    """Join groups that can only be in one partition."""
    return [
        members[0] if len(members) == 1 else Group(
            frozenset[int]().union(*(each.cpus for each in members)),
            tuple(thread for each in members for thread in each.threads),
            sum(each.wakeups for each in members),
            tuple(sorted({name for each in members for name in each.cgroups})),
            frozenset[object]().union(*(each.whole for each in members)),
        )
        for members in joined(groups)
    ]  # fmt: skip


def _wanted(group: Group) -> Wanted:
    units = tuple(sorted({unit_of(name) for name in group.cgroups if name != "/"}))
    kinds = {kind_of(unit) for unit in units}
    kind = kinds.pop() if len(kinds) == 1 else "other"
    if kind == "other" and any(_VCPU.match(thread.comm) for thread in group.threads):
        kind = "guest"
    return Wanted(group, units, kind)


def _why_one(groups: tuple[Group, ...]) -> str:
    """Return why groups can only be in one partition, in a sentence."""
    shared = [group for group in groups if len({unit_of(name) for name in group.cgroups}) > 1]
    if shared and len(joined(group for group in groups if group not in shared)) > 1:
        units = sorted({unit_of(name) for group in shared for name in group.cgroups})
        more = f" and {len(units) - 3} more" if len(units) > 3 else ""
        threads = sorted({shown(each.comm) for group in shared for each in group.threads})
        return (
            f"threads ({', '.join(threads[:3])}) of {', '.join(map(shown, units[:3]))}{more} share "
            f"CPUs {label(frozenset[int]().union(*(group.cpus for group in shared)))}, which joins "
            "all groups: pin these threads to CPUs of their own group first"
        )
    counts = Counter(key for group in groups for key in group.whole)
    spread = [
        each for group in groups for each in group.threads
        if counts[each.tgid] > 1 or counts[unit_of(each.cgroup or "/")] > 1
    ]  # fmt: skip
    units = sorted({unit_of(each.cgroup or "/") for each in spread})
    said = (
        "all of these threads belong to one process, service, guest or container, which can only "
        "be in one partition"
    )
    if shared:
        more = f" and {len(units) - 3} more" if len(units) > 3 else ""
        said = (
            f"threads of {', '.join(map(shown, units[:3]))}{more} are in several of these groups, "
            "and a process, service, guest or container can only be in one partition"
        )
    split = any(counts[each.tgid] > 1 for each in spread)
    if not split and len(units) == 1 and kind_of(units[0]) == "service":
        said += f": start {shown(units[0])} as several services first, one per group"
    return said


def _in_invalid(group: Group, facts: Facts) -> bool:
    """Whether all threads of a group are in partitions that the kernel does not accept."""
    held = [facts.cpusets.of(thread.cgroup) for thread in group.threads if thread.cgroup]
    return bool(held) and all(each is not None and not each.valid for each in held)


def _crosses(
    wanted: Wanted, domain: frozenset[int], wide: list[Group], facts: Facts, left: list[str]
) -> bool:
    """Whether threads of this group or of a ``wide`` one would lose CPUs to its partition.

    ``domain`` are the CPUs of its root domain. ``left`` receives the reason.
    """
    beyond = (wanted.group.asked & facts.online) - domain
    if beyond:
        left.append(
            f"CPUs {label(wanted.cpus)}: threads of {wanted.title} may also run on CPUs "
            f"{label(beyond)} of another root domain: pin them to CPUs of one first"
        )
        return True
    for group in wide:
        shared = group.asked & wanted.cpus
        if shared:
            left.append(
                f"CPUs {label(wanted.cpus)}: threads of {_wanted(group).title}, of another root "
                f"domain, may also run on CPUs {label(shared)}: pin them to CPUs of one first"
            )
            return True
    return False


def candidates(loads: Iterable[DomainLoad], facts: Facts, left: list[str]) -> list[Wanted]:
    """Return the groups that may get partitions. ``left`` receives why others get none."""
    found = []
    loads = list(loads)
    wide = [
        group for load in loads for group in load.apart
        if (group.asked & facts.online) - load.domain.cpus
    ]  # fmt: skip
    for load in loads:
        groups = merged(group for group in load.apart if group.cpus)
        if load.done:
            continue
        alone = len(groups) == 1 and not _in_invalid(groups[0], facts)
        if alone and len(load.apart) > 1:
            left.append(f"CPUs {label(groups[0].cpus)}: {_why_one(load.apart)}")
        elif alone and not any(group.roams for group in load.groups):
            left.append(
                f"CPUs {label(groups[0].cpus)}: this is the only group of its root domain, so that "
                "a partition would separate nothing"
            )
        else:
            for group in map(_wanted, groups):
                if not _crosses(group, load.domain.cpus, wide, facts, left):
                    found.append(group)
    return sorted(found, key=lambda each: min(each.group.cpus))


def _near(
    cpu: int, cpus: frozenset[int], inside: list[frozenset[int]], facts: Facts
) -> tuple[int, bool, bool, bool, int]:
    """Return a sort key for spare CPUs; the lowest is the best.

    CPUs of the guest's cpusets come first, then isolated ones, those of the same cache, and those
    of the same node. Higher numbers come first, because low CPUs do more work for the system.
    """
    places = [facts.cpus[each] for each in cpus if each in facts.cpus]
    place = facts.cpus.get(cpu)
    same_llc = place is not None and any(each.llc and cpu in each.llc for each in places)
    same_node = place is not None and any(each.node == place.node for each in places)
    level = next((level for level, held in enumerate(inside) if cpu in held), len(inside))
    return level, cpu not in facts.isolated, not same_llc, not same_node, -cpu


def _cpusets_above(group: Group, facts: Facts) -> list[frozenset[int]]:
    """Return the CPUs of the cpusets of a group's first cgroup, the innermost first."""
    found = []
    path = group.cgroups[0] if group.cgroups else ""
    while path.strip("/"):
        held = facts.cpusets.sets.get(path)
        if held is not None and held.cpus:
            found.append(held.cpus)
        path = path.rpartition("/")[0]
    return found


def with_spare(
    wanted: Iterable[Wanted], facts: Facts, free: frozenset[int], need: int, left: list[str]
) -> list[Wanted]:
    """Return the groups, where each guest got a spare CPU for its emulator's threads.

    CPUs of the guest's own cpuset come first. ``need`` of the ``free`` CPUs stay free; ``left``
    receives the guests for which none is left. With cgroup v1 only the real-time threads move, so
    that no guest needs a spare CPU.
    """
    made = []
    for each in wanted:
        if each.kind != "guest" or facts.cpusets.version == 1:
            made.append(each)
            continue
        inside = _cpusets_above(each.group, facts)
        if len(free) <= need:
            left.append(
                f"{each.title}, CPUs {label(each.cpus)}: this guest's FIFO virtual CPUs run on all "
                "of them. Its emulator's threads need another CPU in the partition, and none is "
                "left"
            )
            continue
        spare = -min(_near(cpu, each.group.cpus, inside, facts) for cpu in free)[-1]
        free -= {spare}
        made.append(replace(each, spare=frozenset({spare})))
    return made
