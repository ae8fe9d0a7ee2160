# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The groups of real-time threads that a plan may part, and by whom each is moved."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from schedshard.doctor.facts.facts import DEADLINE, Facts
from schedshard.doctor.facts.load import DomainLoad, Group, unit_of
from schedshard.doctor.plan.names import shown
from schedshard.machines.topo import ranges

_VCPU = re.compile(r"CPU \d+/(KVM|TCG)")
_PROXMOX = re.compile(r"/(?:qemu\.slice/|lxc/)(\d+)")
# What is moved as one, whatever it consists of.
_WHOLE = ("guest", "proxmox", "pod", "container")


def label(cpus: Iterable[int]) -> str:
    """Return CPUs or nodes as the kernel lists them."""
    return ranges(sorted(cpus))


def kind_of(unit: str) -> str:
    """Return whose business a unit is: pod, proxmox, guest, container, service or other."""
    if "kubepods" in unit:
        return "pod"
    if _PROXMOX.match(unit):
        return "proxmox"
    if unit.startswith(("/machine.slice/", "/machine/")) or "/libvirt" in unit:
        return "guest"
    if any(mark in unit for mark in ("docker-", "libpod-", "/docker/", "crio-")):
        return "container"
    return "service" if unit.endswith(".service") else "other"


def proxmox_id(unit: str) -> str:
    """Return the number of a guest or container of Proxmox."""
    match = _PROXMOX.match(unit)
    return match[1] if match is not None else ""


@dataclass(frozen=True)
class Wanted:
    """A group and all CPUs that it needs: those of its threads, and ``spare`` ones for a guest.

    A guest's process has more threads than its virtual CPUs, the emulator's. They need a CPU that
    no FIFO thread of the guest has.
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
        """Return a name for people."""
        names = [shown(unit) for unit in self.units[:2]] or ["threads of the root cgroup"]
        return ", ".join(names) + (
            f" and {len(self.units) - 2} more" if len(self.units) > 2 else ""
        )


def _keys(group: Group) -> set[object]:
    """Return what keeps threads together: their process, or the guest, pod or container."""
    keys: set[object] = {each.tgid for each in group.threads}
    units = {unit_of(name) for name in group.cgroups}
    return keys | {unit for unit in units if kind_of(unit) in _WHOLE}


def merged(groups: Iterable[Group]) -> list[Group]:
    """Join groups that have a process, a guest, a pod or a container in common."""
    above: dict[int, int] = {}

    def top(index: int) -> int:
        while above[index] != index:
            above[index] = index = above[above[index]]
        return index

    held = list(groups)
    seen: dict[object, int] = {}
    for index, group in enumerate(held):
        above[index] = index
        for key in _keys(group):
            above[top(index)] = top(seen.setdefault(key, index))
    together: dict[int, list[Group]] = {}
    for index, group in enumerate(held):
        together.setdefault(top(index), []).append(group)
    return [
        members[0] if len(members) == 1 else Group(
            frozenset[int]().union(*(each.cpus for each in members)),
            tuple(thread for each in members for thread in each.threads),
            sum(each.wakeups for each in members),
            tuple(sorted({name for each in members for name in each.cgroups})),
        )
        for members in together.values()
    ]  # fmt: skip


def _wanted(group: Group) -> Wanted:
    units = tuple(sorted({unit_of(name) for name in group.cgroups if name != "/"}))
    kinds = {kind_of(unit) for unit in units}
    kind = kinds.pop() if len(kinds) == 1 else "other"
    if kind == "other" and any(_VCPU.match(thread.comm) for thread in group.threads):
        kind = "guest"
    return Wanted(group, units, kind)


def _in_invalid(group: Group, facts: Facts) -> bool:
    """Whether the threads are in a partition that the kernel does not accept."""
    held = [facts.cpusets.of(thread.cgroup) for thread in group.threads if thread.cgroup]
    return bool(held) and all(each is not None and not each.valid for each in held)


def candidates(loads: Iterable[DomainLoad], facts: Facts, left: list[str]) -> list[Wanted]:
    """Return the groups to part. ``left`` gets the reasons why others stay as they are."""
    found = []
    for load in loads:
        groups = merged(group for group in load.apart if group.cpus)
        if load.done:
            continue
        alone = len(groups) == 1 and not _in_invalid(groups[0], facts)
        if alone and len(load.apart) > 1:
            left.append(
                f"CPUs {label(groups[0].cpus)}: all of these threads are of one process or guest, "
                "and that is in one partition"
            )
        elif alone and not any(group.roams for group in load.groups):
            left.append(
                f"CPUs {label(groups[0].cpus)}: the only group of its root domain, so that a "
                "partition would part nothing"
            )
        else:
            found += [_wanted(group) for group in groups]
    return sorted(found, key=lambda each: min(each.group.cpus))


def _near(
    cpu: int, cpus: frozenset[int], inside: list[frozenset[int]], facts: Facts
) -> tuple[int, bool, bool, bool, int]:
    """Order spare CPUs: of the guest's cpusets, isolated, of the same cache, of the same node.

    The first CPUs do more for the system than others: the last ones are taken.
    """
    places = [facts.cpus[each] for each in cpus if each in facts.cpus]
    place = facts.cpus.get(cpu)
    same_llc = place is not None and any(each.llc and cpu in each.llc for each in places)
    same_node = place is not None and any(each.node == place.node for each in places)
    level = next((level for level, held in enumerate(inside) if cpu in held), len(inside))
    return level, cpu not in facts.isolated, not same_llc, not same_node, -cpu


def _cpusets_above(group: Group, facts: Facts) -> list[frozenset[int]]:
    """Return the CPUs of the cpusets of a group's first thread, the innermost first."""
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
    """Give each guest with real-time virtual CPUs a CPU for its emulator's threads.

    CPUs that the guest's own cpuset has, and that no group uses, come first. ``need`` of the free
    CPUs stay. With cgroup v1 only the real-time threads move, so that no guest needs one.
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
                "of them, and its emulator's threads need another one in the partition: none is "
                "left"
            )
            continue
        spare = -min(_near(cpu, each.group.cpus, inside, facts) for cpu in free)[-1]
        free -= {spare}
        made.append(replace(each, spare=frozenset({spare})))
    return made


def deadline_names(groups: Iterable[Group]) -> list[str]:
    """Return the cgroups of deadline threads in groups."""
    return sorted({
        shown(thread.cgroup or "/") for group in groups for thread in group.threads
        if thread.policy == DEADLINE and not thread.kernel
    })  # fmt: skip
