# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The reasons that forbid a plan, and the warnings that a plan contains."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from common.errors import UserError
from doctor.facts.facts import DEADLINE, Facts, Thread
from doctor.facts.load import DomainLoad, Group
from doctor.facts.values import cpu_list
from doctor.plan.names import shown
from model.machines.topo import label

_PER_NODE = 2
# If no group runs on a CPU that is busier than this, something counts as polling there.
_POLLS = 0.5
# Without throttling, real-time threads that use a larger share may starve other threads.
_LITTLE = 0.01
_IRQ = re.compile(r"proc/irq/([0-9]{1,9})/smp_affinity_list")


@dataclass(frozen=True)
class Staying:
    """Real-time threads that get no partition: groups, and threads that may run anywhere."""

    groups: tuple[Group, ...]
    roaming: tuple[Thread, ...]

    @property
    def cpus(self) -> frozenset[int]:
        """Return the CPUs on which threads of the groups may run, in any root domain."""
        return frozenset[int]().union(*(each.asked for each in self.groups))


def throttled(facts: Facts) -> bool:
    """Whether the kernel reserves a share of each CPU for threads that are not real-time."""
    return not facts.unthrottled


def others_use(facts: Facts, kept: frozenset[int] = frozenset()) -> float | None:
    """Return how many CPUs all but real-time threads used, or None if that was not measured.

    Time on the CPUs in ``kept`` does not count, because what polls there stays there.
    """
    mine = [each.ran for each in facts.threads if not each.kernel and each.ran is not None]
    user = sum(not each.kernel for each in facts.threads)
    if not facts.busy or facts.seconds <= 0 or len(mine) < user:
        return None
    busy = sum(part for cpu, part in facts.busy.items() if cpu in facts.online - kept)
    return max(busy - sum(mine) / 1e9 / facts.seconds, 0.0)


def needed(facts: Facts, kept: frozenset[int]) -> tuple[int, str]:
    """Return how many CPUs other tasks need beside those in ``kept``, and why."""
    nodes = sum(bool(cpus & facts.online) for cpus in facts.nodes.values()) or 1
    floor = min(_PER_NODE * nodes, max(len(facts.online) // 2, 1))
    use = others_use(facts, kept)
    if use is not None and math.ceil(use) > floor:
        return math.ceil(use), f"it used {use:.1f} between the two readings"
    why = f"2 per NUMA node; it used {use:.1f}" if use is not None else "2 per NUMA node"
    return floor, f"{why} between the two readings" if use is not None else why


def staying(loads: Iterable[DomainLoad], parted: frozenset[int]) -> Staying:
    """Return the real-time threads, kernel threads aside, that get no partition.

    Those of a partition that loses no CPU are not among them: nothing changes for them.
    """
    groups, roaming = [], []
    for load in loads:
        if load.domain.partition and not load.domain.cpus & parted:
            continue
        for group in load.groups:
            user = [thread for thread in group.threads if not thread.kernel]
            if group.roams:
                roaming += user
            elif user and not group.cpus <= parted:
                groups.append(group)
    return Staying(tuple(groups), tuple(roaming))


def _names(threads: Iterable[Thread]) -> str:
    found = sorted({f"{shown(each.comm)} in {shown(each.cgroup or '/')}" for each in threads})
    return ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")


def uses_little(threads: Iterable[Thread], facts: Facts) -> bool:
    """Whether threads are known to use so little that others run beside them at any time."""
    ran = [each.ran for each in threads]
    known = [each for each in ran if each is not None]
    return len(known) == len(ran) and sum(known) <= _LITTLE * 1e9 * facts.seconds


def _quiet(users: Iterable[Group], missing: int) -> str:
    """Return the names of the groups that wake up least and use the ``missing`` CPUs."""
    names, count = [], 0
    for group in sorted(users, key=lambda each: (each.wakeups, min(each.cpus, default=0))):
        if count >= missing:
            break
        count += len(group.cpus)
        names.append(f"{shown(group.cgroups[0]) if group.cgroups else '/'} ({label(group.cpus)})")
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def refuse(
    facts: Facts, rest: frozenset[int], free: frozenset[int], kept: frozenset[int], stay: Staying,
    users: Iterable[Group],
) -> None:  # fmt: skip
    """Raise a UserError if other tasks would get too few CPUs, or CPUs on which they may starve."""
    need, why = needed(facts, kept)
    off = (
        ""
        if throttled(facts)
        else f" Throttling is off ({facts.unthrottled}): if a real-time thread does not "
        "sleep, no other thread on its CPU ever runs, sshd included."
    )
    if len(free) < need:
        held = f"CPUs {label(free)}" if free else "no CPU"
        raise UserError(
            f"no plan: {held} would be left for all other tasks without real-time threads on them, "
            f"and {need} are needed ({why}): stop, or give fewer CPUs, first "
            f"{_quiet(users, need - len(free))}; then collect again.{off}"
        )
    # A group outside of ``rest`` is in a partition of type isolated, which loses no CPU.
    beside = [each for group in stay.groups if group.cpus & rest for each in group.threads]
    deadline = [each for each in (*stay.roaming, *beside) if each.policy == DEADLINE]
    if deadline:
        raise UserError(
            f"no plan: deadline threads ({_names(deadline)}) must be able to run on every CPU of "
            "their root domain, and partitions would take CPUs away: start them in a separate "
            "partition first"
        )
    unsafe = [each for each in (*beside, *stay.roaming) if not each.kernel]
    if off and unsafe and not uses_little(unsafe, facts):
        raise UserError(
            f"no plan: {_names(unsafe)} would stay on the CPUs of all other tasks ({label(rest)})."
            f"{off} Set sched_rt_runtime_us to 950000, or pin these threads to a group first"
        )


def refuse_exclusive(facts: Facts, new: frozenset[int]) -> None:
    """Raise a UserError if the kernel refuses the CPUs of ``new`` cpusets of version 1."""
    for cpuset in facts.cpusets.children("/"):
        cpus = (cpuset.cpus or frozenset()) & new
        if cpuset.cpu_exclusive and cpus:
            raise UserError(
                f"no plan: the cpuset {shown(cpuset.path)} has cpu_exclusive 1, so that no new "
                f"cpuset beside it can have its CPUs {label(cpus)}: write 0 to its cpu_exclusive "
                "first"
            )


def _stay_words(stay: Staying, free: frozenset[int], online: frozenset[int]) -> list[str]:
    # Each pinned thread is a group. Groups of one service share a sentence.
    cpus: dict[str, frozenset[int]] = {}
    for group in stay.groups:
        names = _names(group.threads)
        cpus[names] = cpus.get(names, frozenset()) | (group.asked & online)
    said = [
        f"{names}: stays on CPUs {label(held)}, without a partition. Other tasks may run there as "
        f"before; CPUs {label(free)} are free of real-time threads."
        for names, held in cpus.items()
    ]
    if stay.roaming:
        said.append(
            f"{_names(stay.roaming)}: may run on all CPUs now, and afterwards only on CPUs of no "
            "partition. Pin such threads, or check that they use little."
        )
    return said


def _irq_thread_words(facts: Facts, taken: frozenset[int], rest: frozenset[int]) -> list[str]:
    """Return a warning about threaded interrupts, whose threads no partition contains."""
    names = sorted(
        shown(each.comm) for each in facts.threads
        if each.kernel and each.comm.startswith("irq/") and each.allowed
        and each.allowed & facts.online <= taken
    )  # fmt: skip
    # With cgroup v1 the root cpuset keeps all CPUs.
    if not names or facts.cpusets.version == 1:
        return []
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return [
        f"{', '.join(names[:3])}{more}: these threads of interrupts run on CPUs of partitions "
        f"only, but are in the root cgroup. The kernel may move them to CPUs {label(rest)}, away "
        "from the real-time threads that wait for them. undo.sh pins them again."
    ]


def _irq_words(facts: Facts, taken: frozenset[int], free: frozenset[int]) -> list[str]:
    masks: dict[str, frozenset[int]] = {}
    inside = set()
    seen = False
    for key, value in facts.settings.items():
        match = _IRQ.fullmatch(key)
        if match is None:
            continue
        seen = True
        if value not in masks:
            try:
                masks[value] = cpu_list(value)
            except ValueError:
                masks[value] = frozenset()
        if masks[value] and masks[value] <= taken:
            inside.add(int(match[1]))
    if inside:
        return [
            f"The smp_affinity_list of interrupts {label(inside)} names CPUs of partitions only, "
            "and these stay interrupted. If no real-time thread waits for the device, write "
            f"{label(free)} to /proc/irq/NUMBER/smp_affinity_list, and keep irqbalance away."
        ]
    if seen:
        return []
    return [
        "The archive does not show where interrupts go: grep . /proc/irq/*/smp_affinity_list shows "
        "those that interrupt CPUs of partitions."
    ]


def _tick_words(facts: Facts, quiet: frozenset[int], mine: frozenset[int]) -> list[str]:
    """Return warnings about lists of nohz_full and rcu_nocbs that do not fit the partitions."""
    said = []
    for word in facts.cmdline:
        name, _, value = word.partition("=")
        if name not in ("nohz_full", "rcu_nocbs") or not value:
            continue
        try:
            listed = cpu_list(value) & facts.online
        except ValueError:
            said.append(f"{shown(word)}: compare it with the partitions yourself.")
            continue
        if listed - quiet:
            better = f"{name}={label(listed & quiet)}" if listed & quiet else f"no {name}"
            said.append(
                f"{shown(word)} no longer fits: CPUs {label(listed - quiet)} are for all other "
                f"tasks now. Boot with {better}."
            )
        if mine - listed and mine & listed:
            said.append(
                f"{shown(word)} lacks CPUs {label(mine - listed)} of the partitions: add them, or "
                "their ticks go on."
            )
    return said


def warnings(
    facts: Facts, stay: Staying, rest: frozenset[int], free: frozenset[int], taken: frozenset[int],
    kept: frozenset[int], mine: frozenset[int],
) -> list[str]:  # fmt: skip
    """Return the warnings of a plan.

    ``rest`` are the CPUs of no partition, ``free`` those of them without real-time threads, and
    ``taken`` the CPUs of partitions. ``kept`` are CPUs that stay isolated. ``mine`` are the CPUs of
    the threads that get partitions.
    """
    said = []
    if not throttled(facts):
        said.append(
            f"{facts.unthrottled}: throttling is off. If a real-time thread does not sleep, "
            "nothing else can run on its CPU, not even other threads of its service or the "
            "kernel's threads for that CPU."
        )
    said += _stay_words(stay, free, facts.online)
    use = others_use(facts)
    if use is None:
        said.append("How much CPU time other tasks use was not measured: check before you apply.")
    bare = sorted(node for node, cpus in facts.nodes.items() if cpus and not cpus & free)
    if bare:
        said.append(
            f"NUMA node {label(bare)}: no CPU stays free for other tasks there, so that they use "
            "memory and devices of that node from other nodes."
        )
    if kept:
        said.append(
            f"CPUs {label(kept)} stay isolated: each is busy, or a thread is pinned to it, which "
            "relies on the isolation."
        )
    said += _irq_words(facts, taken, free) + _irq_thread_words(facts, taken, rest)
    if any("kubepods" in path for path in facts.cpusets.sets):
        return said  # the node's operator writes these lists
    return said + _tick_words(facts, taken | kept, mine)


def _singles(facts: Facts) -> Mapping[int, int]:
    """Return by CPU how many threads are pinned to that CPU alone."""
    counts: Counter[int] = Counter()
    for count, mask in facts.affinities:
        if len(mask) == 1:
            counts[min(mask)] += count
    return counts


def relied_on(facts: Facts, groups: Iterable[Group]) -> frozenset[int]:
    """Return the isolated CPUs, outside of the groups, on which a user's thread seems to run.

    The kernel itself pins some threads to each CPU. More pinned threads than on a CPU that is
    not isolated, or a busy CPU, show that a user's thread runs there.
    """
    mine = frozenset[int]().union(*(each.cpus for each in groups))
    singles = _singles(facts)
    usual = facts.online - facts.isolated
    if facts.busy and usual:
        limit = max(singles.get(cpu, 0) for cpu in usual)
    else:
        limit = min((singles.get(cpu, 0) for cpu in facts.online), default=0)
    return frozenset(
        cpu for cpu in (facts.boot_isolated & facts.online) - mine
        if singles.get(cpu, 0) > limit or facts.busy.get(cpu, 0.0) >= _POLLS
    )  # fmt: skip


def boot_options(
    facts: Facts, taken: frozenset[int], kept: frozenset[int]
) -> tuple[str, tuple[str, ...]]:
    """Return how to change the boot options, as text, and the options to change."""
    if not facts.boot_isolated & taken:
        return "", ()
    words = [word for word in facts.cmdline if word.startswith("isolcpus=")]
    changes = []
    for word in words:
        parts = word.partition("=")[2].split(",")
        listed = [part for part in parts if re.match("[0-9]", part)]
        flags = [part for part in parts if part not in listed]
        others = [flag for flag in flags if flag not in ("domain", "nohz")]
        if kept:
            instead = f"use isolcpus={shown(','.join([*flags, label(kept)]))}"
        elif others:
            instead = f"use isolcpus={shown(','.join([*others, *listed]))}"
        else:
            instead = "leave it out"
        changes.append(f"{shown(word)}: {instead}")
    return "; ".join(changes), tuple(words)
