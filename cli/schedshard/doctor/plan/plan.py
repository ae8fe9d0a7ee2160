# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Cpuset partitions that would separate the groups of real-time threads on the machine.

The kernel accepts a partition on three conditions. No sibling has its CPUs. Its parent is a
partition (the root cgroup is one). It leaves its parent a CPU for the tasks there.
(kernel/cgroup/cpuset.c: validate_change(), update_prstate(), prstate_housekeeping_conflict(); read
for 6.12 and 7.3.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from schedshard.common.errors import UserError
from schedshard.doctor.facts.cpusets import Cpuset
from schedshard.doctor.facts.domains import Domains
from schedshard.doctor.facts.facts import Facts, Thread
from schedshard.doctor.facts.load import DomainLoad, Group, unit_of
from schedshard.machines.topo import ranges

# cpuset.cpus.partition came with 4.20 as a debug file, and with 5.0 under this name.
_PARTITIONS = (5, 0, 0)
# systemd 244 has AllowedCPUs=, 261 has CPUSetPartition=.
ALLOWED_CPUS, CPUSET_PARTITION = 244, 261
# Paths that a shell and systemd take between quotes.
_PLAIN = re.compile(r"[!#-&(-~]+")


@dataclass(frozen=True)
class Partition:
    """A partition of type root to make; ``path`` is its cgroup below the mount.

    ``found`` is the existing cgroup, None: the plan makes it. ``group`` are the threads, ``units``
    their cgroups. ``mems`` are memory nodes, empty for those of the parent.
    """

    path: str
    cpus: frozenset[int]
    mems: frozenset[int]
    group: Group
    units: tuple[str, ...]
    found: Cpuset | None = None

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Narrowed:
    """A cgroup beside the partitions that loses their CPUs."""

    found: Cpuset
    cpus: frozenset[int]


@dataclass(frozen=True)
class Plan:
    """The partitions to make, their obstacles, and what the plan leaves alone and why.

    ``rest`` are the CPUs that no partition takes. ``boot`` says how the boot options must change
    first, empty if they may stay.
    """

    place: str
    systemd: int | None
    partitions: tuple[Partition, ...]
    narrowed: tuple[Narrowed, ...]
    rest: frozenset[int]
    left: tuple[str, ...]
    boot: str
    boot_words: tuple[str, ...]
    crowd: tuple[tuple[int, frozenset[int]], ...]


def label(cpus: Iterable[int]) -> str:
    """Return CPUs or nodes as the kernel lists them."""
    return ranges(sorted(cpus))


def _merged(groups: Iterable[Group]) -> list[Group]:
    """Join groups that have a process in common: its threads are in one cgroup."""
    merged: list[Group] = []
    for group in groups:
        processes = {each.tgid for each in group.threads}
        apart = []
        for held in merged:
            if processes & {each.tgid for each in held.threads}:
                cgroups = tuple(sorted({*held.cgroups, *group.cgroups}))
                group = Group(
                    held.cpus | group.cpus,
                    held.threads + group.threads,
                    held.wakeups + group.wakeups,
                    cgroups,
                )
                processes = {each.tgid for each in group.threads}
            else:
                apart.append(held)
        merged = [*apart, group]
    return merged


def _host(group: Group, facts: Facts) -> Cpuset | None:
    """Return the cgroup that can become the group's partition where it is, None if none can.

    That is an isolated or invalid partition, or a child of the root, which has exactly the
    group's CPUs and all of its threads.
    """
    held: set[str | None] = set()
    for thread in group.threads:
        cpuset = facts.cpusets.of(thread.cgroup) if thread.cgroup else None
        while cpuset is not None and cpuset.path != "/" and not cpuset.cpus:
            cpuset = facts.cpusets.of(cpuset.path.rpartition("/")[0] or "/")
        held.add(cpuset.path if cpuset is not None else None)
    path = held.pop() if len(held) == 1 else None
    if path is None or path == "/" or _PLAIN.fullmatch(path) is None:
        return None
    cpuset = facts.cpusets.sets[path]
    below_root = path.count("/") == 1
    if cpuset.cpus is None or cpuset.cpus & facts.online != group.cpus & facts.online:
        return None
    return cpuset if below_root or cpuset.isolated_partition else None


def _mems(group: Group, facts: Facts) -> frozenset[int]:
    """Return the memory nodes that all threads of the group are limited to, empty if none are."""
    found = set()
    for thread in group.threads:
        cpuset = facts.cpusets.of(thread.cgroup) if thread.cgroup else None
        while cpuset is not None and cpuset.path != "/" and not cpuset.mems:
            cpuset = facts.cpusets.of(cpuset.path.rpartition("/")[0] or "/")
        found.add(cpuset.mems or frozenset() if cpuset is not None else frozenset())
    return frozenset[int]().union(*found) if found and all(found) else frozenset()


def _candidates(loads: Iterable[DomainLoad], left: list[str]) -> list[Group]:
    found = []
    for load in loads:
        groups = _merged(group for group in load.apart if group.cpus)
        if len(groups) == 1 and load.domain.because.startswith("partition "):
            continue
        if len(groups) == 1 and len(load.apart) > 1:
            left.append(
                f"CPUs {label(groups[0].cpus)}: all of these threads are of one process, and a "
                "process is in one partition"
            )
        elif len(groups) == 1 and not any(group.roams for group in load.groups):
            left.append(
                f"CPUs {label(groups[0].cpus)}: the only group of its root domain, so that a "
                "partition would part nothing"
            )
        else:
            found += groups
    return found


def _systemd(facts: Facts) -> int | None:
    """Return the version of a systemd that can set CPUs, 0: unknown, None: there is none."""
    version = facts.systemd
    return None if version is not None and 0 < version < ALLOWED_CPUS else version


def _free_names(facts: Facts, suffix: str) -> Iterable[str]:
    number = 0
    while True:
        path = f"/schedshard{number}{suffix}"
        if path not in facts.cpusets.sets:
            yield path
        number += 1


def _placed(groups: Iterable[Group], facts: Facts) -> list[Partition]:
    names = iter(_free_names(facts, ".slice" if _systemd(facts) is not None else ""))
    made = []
    for group in sorted(groups, key=lambda each: min(each.cpus)):
        host = _host(group, facts)
        units = tuple(sorted({unit_of(each) for each in group.cgroups if each != "/"}))
        path = host.path if host is not None else next(names)
        made.append(
            Partition(path, group.cpus & facts.online, _mems(group, facts), group, units, host)
        )
    return made


def _inside_others(wanted: list[Partition], facts: Facts, left: list[str]) -> list[Partition]:
    """Leave out a partition whose CPUs another one has that stays as it is."""
    own = {each.path for each in wanted}
    kept = []
    for each in wanted:
        above = next(
            (
                held.path for held in facts.cpusets.preorder()
                if held.path not in own and held.path != "/"
                and (held.root_partition or held.isolated_partition)
                and (held.cpus or held.effective or frozenset()) & each.cpus
            ),
            None,
        )  # fmt: skip
        if above is None:
            kept.append(each)
        else:
            left.append(
                f"CPUs {label(each.cpus)}: the partition {above} has them, with others: give "
                "each group a cgroup and a partition of its own there"
            )
    return kept


def _narrowed(partitions: list[Partition], facts: Facts) -> tuple[list[Narrowed], dict[str, str]]:
    """Return the siblings that lose CPUs, and by path of a partition why a sibling forbids it."""
    own = {each.path for each in partitions}
    taken = frozenset[int]().union(*(each.cpus for each in partitions))
    narrowed, forbidden = [], {}
    for sibling in facts.cpusets.children("/"):
        have = (sibling.cpus or frozenset()) | (sibling.exclusive or frozenset())
        if sibling.path in own or not have & taken or sibling.root_partition:
            continue
        if any(path.startswith(f"{sibling.path}/") for path in own):
            continue
        if not have - taken or sibling.exclusive or _PLAIN.fullmatch(sibling.path) is None:
            for each in partitions:
                if each.cpus & have:
                    forbidden[each.path] = sibling.path
        else:
            narrowed.append(Narrowed(sibling, have - taken))
    return narrowed, forbidden


def _boot(facts: Facts, taken: frozenset[int]) -> tuple[str, tuple[str, ...]]:
    """Return what to change in the boot options, and the options that have to go."""
    if not facts.boot_isolated & taken:
        return "", ()
    words = [word for word in facts.cmdline if word.startswith("isolcpus=")]
    changes = []
    for word in words:
        flags = [part for part in word.partition("=")[2].split(",") if not part[:1].isdigit()]
        kept = [flag for flag in flags if flag not in ("domain", "nohz")]
        listed = [part for part in word.partition("=")[2].split(",") if part[:1].isdigit()]
        instead = f"use isolcpus={','.join([*kept, *listed])}" if kept else "leave it out"
        changes.append(f"{word}: {instead}")
    return "; ".join(changes), tuple(words)


def _crowd(partitions: Iterable[Partition], facts: Facts) -> list[tuple[int, frozenset[int]]]:
    """Return how many threads besides the group's may run on CPUs of each partition only."""
    found = []
    for each in partitions:
        inside = sum(count for count, mask in facts.affinities if mask and mask <= each.cpus)
        mine: list[Thread] = [
            thread for thread in facts.threads if thread.allowed and thread.allowed <= each.cpus
        ]
        found.append((max(inside - len(mine), 0), each.cpus))
    return found


def make_plan(facts: Facts, domains: Domains, loads: Iterable[DomainLoad]) -> Plan:
    """Return the plan for a machine. A UserError says why none can be made."""
    if facts.cpusets.part:
        raise UserError("no plan: this is a container's view: collect on the host itself")
    if facts.cpusets.version == 1:
        raise UserError(
            "no plan: cpusets are on cgroup v1 here, and partitions need v2: boot with "
            "systemd.unified_cgroup_hierarchy=1"
        )
    if facts.cpusets.version == 0:
        raise UserError("no plan: no cgroup tree with cpusets was seen, and partitions need one")
    if facts.version < _PARTITIONS:
        raise UserError(
            f"no plan: Linux {facts.release} has no cpuset partitions, 5.0 and later do"
        )
    if any(domain.unseen for domain in domains.domains):
        raise UserError(f"no plan: {domains.unsure[-1]}")
    left: list[str] = []
    wanted = _placed(_candidates(loads, left), facts)
    wanted = _inside_others(wanted, facts, left)
    while True:
        narrowed, forbidden = _narrowed(wanted, facts)
        for each in wanted:
            if each.path in forbidden:
                left.append(
                    f"CPUs {label(each.cpus)}: {forbidden[each.path]} may use these CPUs only, or "
                    "claims them alone: change its cpuset.cpus first"
                )
        kept = [each for each in wanted if each.path not in forbidden]
        rest = facts.online.difference(*(each.cpus for each in kept))
        if kept and not rest:
            quiet = min(kept, key=lambda each: (each.group.wakeups, min(each.cpus)))
            kept.remove(quiet)
            left.append(
                f"CPUs {label(quiet.cpus)}: the group that wakes up least stays where it is, "
                "since the root cgroup needs a CPU for all other tasks"
            )
        if kept == wanted:
            break
        wanted = [replace(each) for each in kept]
    taken = facts.online - rest
    return Plan(
        facts.cpusets.place, _systemd(facts), tuple(wanted), tuple(narrowed),
        rest, tuple(left), *_boot(facts, taken), tuple(_crowd(wanted, facts)),
    )  # fmt: skip
