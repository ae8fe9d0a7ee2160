# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plans cpuset partitions that separate a machine's groups of real-time threads.

The kernel accepts a partition on three conditions. No sibling has its CPUs. Its parent is a
partition (the root cgroup is one). It leaves its parent a CPU for the tasks there. From 6.7 on, a
cgroup needs no partition above it if it and all cgroups above it list its CPUs in
cpuset.cpus.exclusive.
(kernel/cgroup/cpuset.c: validate_change(), update_prstate(), prstate_housekeeping_conflict(),
remote_partition_enable(); read for 6.12 and 7.3.)

With cgroup v1 a cpuset that balances load is a root domain, unless one above it balances load.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from common.errors import UserError
from doctor.facts.cpusets import Cpuset
from doctor.facts.domains import Domains
from doctor.facts.facts import Facts
from doctor.facts.load import DomainLoad, Group, kind_of, whole_kinds
from doctor.plan.groups import Partition, Wanted, candidates, with_spare
from doctor.plan.limits import (
    Staying,
    boot_options,
    needed,
    refuse,
    refuse_exclusive,
    relied_on,
    staying,
    throttled,
    uses_little,
    warnings,
)
from doctor.plan.names import plain, shown
from model.machines.topo import label

# cpuset.cpus.partition came with 4.20 as a debug file, and with 5.0 under this name.
_PARTITIONS = (5, 0, 0)
# cpuset.cpus.exclusive
_EXCLUSIVE = (6, 7, 0)
# systemd 261 has CPUSetPartition=.
CPUSET_PARTITION = 261
# Groups whose cgroups a manager makes, and what is said of those that cannot stay in place.
_ELSEWHERE = {
    "pod": "see Kubernetes.",
    "proxmox": "see Proxmox.",
    "job": "SLURM makes this cgroup, and starts nothing in others. It can be a partition where it "
    "is from Linux 6.7 on, if its cpuset.cpus has exactly these CPUs (ConstrainCores=yes)",
}


@dataclass(frozen=True)
class Plan:
    """The partitions to make, their obstacles, and the groups that get none.

    ``rest`` are the CPUs that no partition takes. ``free`` are those of them that have no real-time
    threads of users and do not stay isolated; ``need`` is how many of these other tasks need.
    ``siblings`` are cgroups that lose CPUs; with cgroup v1, cpusets that must not balance load.
    ``left`` says why groups get no partition. ``boot`` says how the boot options must change first,
    "" if they may stay. ``pods`` and ``proxmox`` are groups that need settings elsewhere.
    """

    place: str
    version: int
    prefix: str
    systemd: int | None
    partitions: tuple[Partition, ...]
    siblings: tuple[Cpuset, ...]
    rest: frozenset[int]
    free: frozenset[int]
    need: int
    throttled: bool
    left: tuple[str, ...]
    warnings: tuple[str, ...]
    boot: str
    boot_words: tuple[str, ...]
    pods: tuple[Wanted, ...] = ()
    proxmox: tuple[Wanted, ...] = ()
    reserved: frozenset[int] = frozenset()
    exclusive: bool = False
    release: str = ""
    mems: frozenset[int] = frozenset()

    def losses(self, sibling: Cpuset) -> list[Partition]:
        """Return the partitions for which a sibling's ``cpuset.cpus`` loses CPUs."""
        return _beside(sibling, self.partitions)


def _beside(cpuset: Cpuset, partitions: Iterable[Partition]) -> list[Partition]:
    """Return the partitions that are not below a cpuset, but list CPUs that its files name.

    A partition below it needs no change of its list: the kernel takes the CPUs from that list.
    """
    return [
        each for each in partitions
        if each.listed & cpuset.claimed and not each.path.startswith(f"{cpuset.path}/")
    ]  # fmt: skip


def _of(cgroup: str | None, facts: Facts) -> Cpuset | None:
    """Return the nearest cpuset at or above a cgroup that lists CPUs, or the root."""
    cpuset = facts.cpusets.of(cgroup) if cgroup else None
    while cpuset is not None and cpuset.path != "/" and not cpuset.cpus:
        cpuset = facts.cpusets.of(cpuset.path.rpartition("/")[0] or "/")
    return cpuset


def _host(wanted: Wanted, facts: Facts) -> Cpuset | None:
    """Return the existing cgroup that can become the group's partition, or None.

    It must have exactly the group's CPUs, and contain all of its threads. With cgroup v2 it must
    also be a child of the root or an isolated partition.
    """
    found = {id(held): held for each in wanted.group.threads for held in (_of(each.cgroup, facts),)}
    cpuset = next(iter(found.values())) if len(found) == 1 else None
    if cpuset is None or cpuset.path == "/" or not plain(cpuset.path):
        return None
    if cpuset.cpus is None or cpuset.cpus & facts.online != wanted.group.cpus & facts.online:
        return None
    below_root = cpuset.path.count("/") == 1 or facts.cpusets.version == 1
    return cpuset if below_root or cpuset.isolated_partition else None


def _remote(wanted: Wanted, facts: Facts) -> Cpuset | None:
    """Return the cgroup of a pod or job that can become a remote partition, or None."""
    if not _has_exclusive(facts) or len(wanted.units) != 1:
        return None
    cpuset = facts.cpusets.sets.get(wanted.units[0])
    if cpuset is None or cpuset.cpus is None or not plain(cpuset.path):
        return None
    return cpuset if cpuset.cpus & facts.online == wanted.cpus & facts.online else None


def _has_exclusive(facts: Facts) -> bool:
    """Whether the kernel has cpuset.cpus.exclusive, by the collected files or its version."""
    below = [each for each in facts.cpusets.sets.values() if each.path != "/" and each.partitions]
    if below:
        # A partition below a cgroup that is not one needs this file.
        return any(
            each.exclusive is not None
            or (
                (each.isolated_partition or each.root_partition)
                and facts.cpusets.broken_above(each) is not None
            )
            for each in below
        )
    return facts.version >= _EXCLUSIVE


def _mems(group: Group, facts: Facts) -> frozenset[int]:
    """Return the memory nodes of the group's cpusets, empty if a thread has no such limit."""
    found = set()
    for thread in group.threads:
        cpuset = facts.cpusets.of(thread.cgroup) if thread.cgroup else None
        while cpuset is not None and cpuset.path != "/" and not cpuset.mems:
            cpuset = facts.cpusets.of(cpuset.path.rpartition("/")[0] or "/")
        found.add(cpuset.mems or frozenset() if cpuset is not None else frozenset())
    return frozenset[int]().union(*found) if found and all(found) else frozenset()


def _placed(wanted: Iterable[Wanted], facts: Facts, left: list[str]) -> list[Partition]:
    suffix = ".slice" if facts.systemd is not None else ""
    number = 0
    made = []
    for each in wanted:
        found = None if each.spare else _host(each, facts)
        first = facts.cpusets.version == 1
        if found is None and each.kind in ("pod", "job") and not first:
            found = _remote(each, facts)
        remote = found is not None and found.path.count("/") > 1 and not first
        remote = remote and not (found is not None and found.isolated_partition)
        if found is None and each.kind in _ELSEWHERE and not first:
            left.append(f"{each.title}, CPUs {label(each.cpus)}: {_ELSEWHERE[each.kind]}")
            continue
        if found is not None:
            path = found.path
        else:
            while f"/schedshard{number}{suffix}" in facts.cpusets.sets:
                number += 1
            path = f"/schedshard{number}{suffix}"
            number += 1
        made.append(Partition(path, each, _mems(each.group, facts), found, remote))
    return made


def _refused_names(wanted: list[Wanted], left: list[str]) -> list[Wanted]:
    kept = []
    for each in wanted:
        bad = [unit for unit in each.units if not plain(unit)]
        if bad:
            left.append(
                f"{shown(bad[0])}, CPUs {label(each.cpus)}: the name of this cgroup contains "
                "characters that a plan cannot use (escaped here): rename it first"
            )
        else:
            kept.append(each)
    return kept


def _inside_others(wanted: list[Partition], facts: Facts, left: list[str]) -> list[Partition]:
    """Return the partitions whose CPUs overlap no other existing partition.

    ``left`` receives a sentence about each of the others.
    """
    own = {each.path for each in wanted}
    kept = []
    for each in wanted:
        above = next(
            (
                held.path for held in facts.cpusets.preorder()
                if held.path not in own and held.path != "/"
                and (held.root_partition or held.isolated_partition)
                and (held.cpus or held.effective or frozenset()) & each.listed
            ),
            None,
        )  # fmt: skip
        if above is None:
            kept.append(each)
        else:
            left.append(
                f"CPUs {label(each.listed)}: the partition {shown(above)} contains some or all "
                "of them, with others: give each group its own cgroup and partition there"
            )
    return kept


def _leaving(partitions: list[Partition], facts: Facts) -> set[str]:
    """Return the units that the plan moves with all of their threads."""
    kinds = whole_kinds(facts)
    whole = [each for each in partitions if each.found is None and each.wanted.kind in kinds]
    return {unit for each in whole for unit in each.units if kind_of(unit) in kinds}


def _with_others(mine: tuple[str, ...], facts: Facts) -> set[str]:
    """Return the cpusets below which a cgroup or a real-time thread is that is not in ``mine``."""
    within = [
        path.rpartition("/")[0] for path in facts.cpusets.sets
        if not f"{path}/".startswith(mine) and not any(each.startswith(f"{path}/") for each in mine)
    ]  # fmt: skip
    groups = {each.cgroup for each in facts.threads if each.cgroup}
    within += [path for path in groups if not f"{path}/".startswith(mine)]
    found: set[str] = set()
    for path in within:
        held = facts.cpusets.of(path)
        while held is not None and held.path != "/" and held.path not in found:
            found.add(held.path)
            held = facts.cpusets.of(held.path.rpartition("/")[0])
    return found


def _beside_remote(partitions: list[Partition], facts: Facts) -> dict[str, str]:
    """Return by remote partition the cgroup below the top because of which the kernel refuses it.

    No sibling of the partition may list any of its CPUs. Beside a cgroup above it none may have all
    of its CPUs in that cgroup's cpuset.cpus.exclusive, or any in its own one.
    """
    found: dict[str, str] = {}
    for each in partitions:
        path = each.path
        while each.remote and path.count("/") > 1:
            listed = frozenset[int]().union(
                *(other.listed for other in partitions if f"{other.path}/".startswith(f"{path}/"))
            )
            for sibling in facts.cpusets.children(path.rpartition("/")[0]):
                cpus = sibling.cpus or frozenset()
                refused = (sibling.exclusive or frozenset()) & listed
                refused |= cpus & listed if path == each.path or cpus <= listed else frozenset()
                if refused and sibling.path != path:
                    found[each.path] = sibling.path
            path = path.rpartition("/")[0]
    return found


def _siblings(
    partitions: list[Partition], facts: Facts, loads: list[DomainLoad], kept: frozenset[int]
) -> tuple[list[Cpuset], dict[str, str]]:
    """Return two results on the cgroups beside the partitions.

    The first lists those below the root that lose CPUs. The second maps a partition's path to the
    cgroup that forbids it. A cgroup forbids what leaves it only isolated CPUs and those of
    real-time threads without a partition: all of its other threads would wait there. It also
    forbids what the kernel refuses.
    """
    own = {each.path for each in partitions}
    taken = frozenset[int]().union(*(each.cpus for each in partitions))
    crowded = taken | staying(loads, taken).cpus | kept
    mine = tuple(f"{path}/" for path in own | _leaving(partitions, facts))
    others = _with_others(mine, facts)
    losing = []
    forbidden = _beside_remote(partitions, facts)
    for cpuset in facts.cpusets.preorder():
        # It may list CPUs that the cgroup above it lacks.
        have = (cpuset.cpus or frozenset()) & (cpuset.effective or facts.online) & facts.online
        over = [each for each in partitions if each.cpus & have]
        inside = f"{cpuset.path}/".startswith(mine)
        above = any(path.startswith(f"{cpuset.path}/") for path in own)
        if inside or cpuset.root_partition or cpuset.isolated_partition or have - crowded:
            continue
        # Without any CPU left it has those of the cgroup above, but only after the last partition.
        # A slice has no threads of its own, nor has what is above a partition. A user's has shells.
        slices = cpuset.path.endswith(".slice") and not cpuset.path.startswith("/user.slice/")
        gone = (slices or above) and cpuset.path not in others
        if have - taken or (len(over) > 1 and not gone):
            forbidden.update((each.path, cpuset.path) for each in over)
    for sibling in facts.cpusets.children("/"):
        over = [each for each in _beside(sibling, partitions) if each.path != sibling.path]
        if not over or sibling.root_partition:
            continue
        lost = frozenset[int]().union(*(each.listed for each in over))
        claims = sibling.path in own or (sibling.exclusive or frozenset()) & lost
        cpus = sibling.cpus or frozenset()
        # Offline CPUs alone would leave it all CPUs that the partitions do not have yet.
        stays = ((cpus & facts.online) or cpus) - lost
        if claims or not stays or not plain(sibling.path):
            forbidden.update((each.path, sibling.path) for each in over)
        else:
            losing.append(sibling)
    return losing, forbidden


def _balancing(
    partitions: list[Partition], facts: Facts, left: list[str]
) -> tuple[list[Partition], list[Cpuset]]:
    """Return with cgroup v1 the partitions, and the cpusets that must not balance load.

    These cpusets overlap groups. Without throttling that forbids the groups: a thread of such a
    cpuset would never be moved away from a real-time thread that does not sleep. The archive does
    not say whether such a cpuset has threads.
    """
    own = {each.path for each in partitions}
    found = []
    for cpuset in facts.cpusets.preorder():
        cpus = (cpuset.cpus or cpuset.effective or frozenset()) & facts.online
        inside = any(cpuset.path == path or cpuset.path.startswith(f"{path}/") for path in own)
        if cpuset.path == "/" or cpuset.load_balance is False or inside:
            continue
        over = [each for each in partitions if cpus & each.cpus and not cpus <= each.cpus]
        busy = [each for each in over if not uses_little(each.group.threads, facts)]
        if busy and facts.unthrottled:
            left += [
                f"CPUs {label(each.cpus)}: throttling is off ({facts.unthrottled}), so that other "
                f"threads of the cpuset {shown(cpuset.path)}, if it has any, might wait forever "
                "behind this group's. If cat tasks there shows none, write 0 to its "
                f"{'cpuset.' if facts.cpusets.prefixed else ''}sched_load_balance and collect "
                "again. If not, set sched_rt_runtime_us to 950000, or give them a separate cpuset "
                "first"
                for each in busy
            ]
            return _balancing([each for each in partitions if each not in busy], facts, left)
        if over:
            if not plain(cpuset.path):
                raise UserError(
                    f"no plan: the cpuset {shown(cpuset.path)} balances load over several groups, "
                    "and its name contains characters that a plan cannot use"
                )
            found.append(cpuset)
    return partitions, found


def _check(facts: Facts, domains: Domains) -> None:
    """Raise a UserError if no plan can be made for this machine."""
    if facts.cpusets.part:
        raise UserError("no plan: this is a container's view: collect on the host itself")
    if facts.cpusets.version == 0:
        raise UserError("no plan: no cgroup tree with cpusets was seen, and partitions need one")
    seen = any(each.partitions for each in facts.cpusets.sets.values())
    if facts.cpusets.version == 2 and facts.version < _PARTITIONS and not seen:
        raise UserError(
            f"no plan: Linux {shown(facts.release)} is older than 5.0, which brought cpuset "
            "partitions. A distribution may have added them: look for cpuset.cpus.partition in a "
            "cgroup below the root. With cpusets on cgroup v1, sched_load_balance gives root "
            "domains on this kernel"
        )
    if any(domain.unseen for domain in domains.domains):
        raise UserError(f"no plan: {domains.unsure[-1]}")
    if not plain(facts.cpusets.place):
        raise UserError(
            f"no plan: cgroups are mounted at {shown(facts.cpusets.place)}, a name with characters "
            "that a plan cannot use (escaped here)"
        )
    bad = [word for word in facts.cmdline if word.startswith("isolcpus=") and not plain(word)]
    if bad:
        raise UserError(f"no plan: the boot option {shown(bad[0])} is not valid for the kernel")


def _without_forbidden(
    wanted: list[Partition], facts: Facts, loads: list[DomainLoad], kept: frozenset[int],
    left: list[str],
) -> tuple[list[Partition], list[Cpuset]]:  # fmt: skip
    while True:
        siblings, forbidden = _siblings(wanted, facts, loads, kept)
        if not forbidden:
            return wanted, siblings
        left += [
            f"CPUs {label(each.cpus)}: {shown(forbidden[each.path])} has no other CPUs that are "
            "neither isolated nor of real-time threads, or claims these as well: change its "
            "cpuset.cpus first"
            for each in wanted if each.path in forbidden
        ]  # fmt: skip
        wanted = [each for each in wanted if each.path not in forbidden]


def _reserved(facts: Facts, free: frozenset[int], need: int) -> frozenset[int]:
    """Return the CPUs for a Kubernetes node's system: those that it has now, or ``need`` ones."""
    pods = [each for path, each in facts.cpusets.sets.items() if path.startswith("/kubepods")]
    had = [each.cpus for each in pods if each.path.count("/") == 1 and each.cpus]
    if had:
        kept = (facts.online - frozenset[int]().union(*had)) & free
        if kept:
            return kept
    if facts.nohz_full and facts.online - facts.nohz_full and (free - facts.nohz_full):
        return free - facts.nohz_full
    return frozenset(sorted(free, key=lambda cpu: (_rank(cpu, free, facts), cpu))[:need])


def _rank(cpu: int, among: frozenset[int], facts: Facts) -> int:
    """Return how many CPUs of the same node have lower numbers, to spread a choice over nodes."""
    node = facts.cpus[cpu].node if cpu in facts.cpus else None
    return sum(
        other < cpu for other in among if other in facts.cpus and facts.cpus[other].node == node
    )


def make_plan(facts: Facts, domains: Domains, loads: Iterable[DomainLoad]) -> Plan:
    """Return the plan for a machine. Raise a UserError with the reason if none can be made."""
    _check(facts, domains)
    loads = list(loads)
    left: list[str] = []
    top = facts.cpusets.sets.get("/")
    outside = top.effective & facts.online if top and top.effective else facts.online
    users = [
        group for load in loads for group in load.apart
        if any(not thread.kernel for thread in group.threads)
    ]  # fmt: skip
    kept = relied_on(facts, users)
    busy = frozenset[int]().union(*(group.asked for group in users))
    asked = _refused_names(candidates(loads, facts, left), left)
    need, _ = needed(facts, kept)
    asked = with_spare(asked, facts, outside - busy - kept, need, left)
    wanted = _inside_others(_placed(asked, facts, left), facts, left)
    if facts.cpusets.version == 2:
        wanted, siblings = _without_forbidden(wanted, facts, loads, kept, left)
    else:
        wanted, siblings = _balancing(wanted, facts, left)
    taken = frozenset[int]().union(*(each.cpus for each in wanted)) & facts.online
    rest = outside - taken
    stay: Staying = staying(loads, taken)
    free = rest - kept - stay.cpus
    if wanted:
        refuse(facts, rest, free, kept, stay, users)
    if wanted and facts.cpusets.version == 1:
        refuse_exclusive(facts, rest.union(*(each.cpus for each in wanted if not each.found)))
    found = {each.path for each in wanted}
    return Plan(
        facts.cpusets.place, facts.cpusets.version, "cpuset." if facts.cpusets.prefixed else "",
        facts.systemd, tuple(wanted), tuple(siblings), rest, free, need, throttled(facts),
        tuple(left), tuple(warnings(facts, stay, rest, free, taken, kept, taken & busy)),
        *boot_options(facts, taken, kept),
        pods=tuple(each for each in asked if each.kind == "pod"),
        proxmox=tuple(
            each for each in asked
            if each.kind == "proxmox" and not found & set(each.units)
        ),
        reserved=_reserved(facts, free, need), exclusive=_has_exclusive(facts),
        release=facts.release, mems=frozenset(facts.nodes) or frozenset({0}),
    )  # fmt: skip
