# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the entries of the catalogue that a machine or a profile shows, with the evidence."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence

from doctor.facts.facts import Facts
from doctor.facts.guest_caches import false_caches
from doctor.facts.load import DomainLoad
from doctor.judge.finding import Evidence, Finding, count_of, per_second
from doctor.judge.root_domains import Cost, domain_finding
from doctor.judge.severity import STORM, Policy, of_interrupts, of_invalid_partition
from doctor.known.catalogue import Catalogue
from doctor.known.kernels import state_of
from doctor.known.offers import offer
from model.machines.topo import ranges

# A part of each reason that the kernel gives in cpuset.cpus.partition, with what helps. These are
# all reasons of Linux 6.1 to 7.3 but one: that a list of CPUs is not exclusive.
_REASONS = (
    (
        "housekeeping",
        "The partition has type root and CPUs of isolcpus=, to which the kernel gives no root "
        "domain. Or it has type isolated, and would leave no housekeeping CPU outside nohz_full=. "
        "Boot without these CPUs in that option, or give the partition other CPUs.",
    ),
    (
        "hotplug",
        "All CPUs of the partition are offline: take one online, and write the partition's type to "
        "its file again.",
    ),
    (
        "empty",
        "Write the partition's CPUs to cpuset.cpus, or from Linux 6.7 on to cpuset.cpus.exclusive, "
        "and the partition's type to cpuset.cpus.partition again.",
    ),
    (
        "Invalid c",
        "No CPU of this partition is online and free for it, or the partition would take the last "
        "CPU of all other tasks. Write other CPUs to cpuset.cpus.exclusive of this cgroup and of "
        "all cgroups above it, or before Linux 6.7 to cpuset.cpus. Then write the partition's type "
        "to its file again.",
    ),
    (
        "distribute cpu downstream",
        "The partition would take the last CPU of the tasks in the cgroup above it: leave that "
        "cgroup a CPU. Or another partition, anywhere in the tree, has some of this partition's "
        "CPUs: take these CPUs out of one of the two partitions.",
    ),
    (
        "Parent is",
        "The cgroup above this one is not a valid partition. From Linux 6.7 on, write the CPUs to "
        "cpuset.cpus.exclusive of this cgroup and of all cgroups above; on older kernels make the "
        "cgroup above a partition first.",
    ),
    ("not permitted", "Only root of the host's user namespace may make this a partition."),
    (
        "remote partition underneath",
        "A cgroup below this one is a partition: first write 'member' to that cgroup's file.",
    ),
)
# From this version on CPUs in a sibling's cpuset.cpus do not make a partition invalid.
_OVERLAP = (7, 1, 0)
# The siblings of so many invalid partitions are looked at.
_LOOK = 100


def _invalid_partitions(
    facts: Facts, loads: Iterable[DomainLoad], catalogue: Catalogue
) -> list[Finding]:
    entry = catalogue.entries["partition-invalid"]
    used = set()
    for cgroup in {name for load in loads for group in load.groups for name in group.cgroups}:
        path = cgroup
        while path and path not in used:
            used.add(path)
            path = path.rpartition("/")[0]
    findings: list[Finding] = []
    for cpuset in facts.cpusets.preorder():
        if cpuset.partition == "member" or cpuset.valid:
            continue
        file = f"{facts.cpusets.place}{cpuset.path}/cpuset.cpus.partition"
        reason = f" ({cpuset.why})" if cpuset.why else ""
        evidence = [Evidence(file, f"{cpuset.partition} invalid{reason}")]
        summary = f"The partition {cpuset.path} is not in force{reason}"
        named = next((words for text, words in _REASONS if text in cpuset.why), None)
        remedy = named or entry.remedy
        shared = "not exclusive" in cpuset.why or (not cpuset.why and facts.version < _OVERLAP)
        if shared and len(findings) < _LOOK and (rivals := facts.cpusets.rivals(cpuset)):
            theirs = frozenset[int]().union(*(rival.claimed for rival in rivals))
            both = ranges(sorted(cpuset.claimed & theirs))
            names = ", ".join(rival.path for rival in rivals)
            summary += f": {names} may also use its CPUs {both}"
            remedy = (
                f"Take CPUs {both} out of the cpuset.cpus of {names} (systemd: "
                "AllowedCPUs=), and write the partition's type to its file again."
            )
            evidence += [
                Evidence(
                    f"{facts.cpusets.place}{rival.path}",
                    f"names CPUs {ranges(sorted(rival.claimed))}, including the partition's "
                    f"{ranges(sorted(rival.claimed & cpuset.claimed))}",
                )
                for rival in rivals
            ]
        severity = of_invalid_partition(cpuset.path in used)
        command = f"cat {shlex.quote(file)}"
        findings.append(Finding(entry, severity, summary, evidence, remedy, command))
    return findings


def _pushed(facts: Facts) -> Evidence | None:
    """Return the highest rate of requests to push on one CPU, or None if none is a storm.

    /proc/interrupts counts these requests as function calls, as it does wake-ups from other caches.
    On a CPU with several real-time threads the calls beyond these threads' wake-ups are requests.
    """
    worst, most = None, 0.0
    queued = Counter(
        thread.cpu for thread in facts.threads if not thread.stopper and not thread.kernel
    )
    by_mask: Counter[frozenset[int] | None] = Counter()
    for thread in facts.threads:
        if not thread.stopper:
            by_mask[thread.allowed] += thread.voluntary or 0
    woken: Counter[int] = Counter()
    for mask, count in by_mask.items():
        for cpu in facts.online if mask is None else mask:
            woken[cpu] += count
    for cpu, count in facts.calls.items():
        rate = (count - woken[cpu]) / facts.seconds
        if queued[cpu] > 1 and rate > most:
            most = rate
            worst = Evidence(
                "/proc/interrupts: CAL",
                f"CPU {cpu}, with {queued[cpu]} real-time threads, gets {per_second(rate)} "
                "per second: function calls that wake no real-time thread",
            )
    return worst if most >= STORM else None


def _unexplained(facts: Facts) -> float:
    """Return the function calls per second and CPU that no context switch explains.

    0 unless a CPU has several real-time threads: only then do others ask it to push a thread.
    """
    queued = Counter(
        thread.cpu for thread in facts.threads if not thread.stopper and not thread.kernel
    )
    slept = sum(thread.voluntary or 0 for thread in facts.threads)
    calls = facts.interrupts.get("CAL", 0) - max(slept, facts.switches or 0)
    several = max(queued.values(), default=0) > 1
    return max(calls, 0) / facts.seconds / len(facts.online) if several else 0.0


def _push_storm(facts: Facts, catalogue: Catalogue, policy: Policy) -> Finding | None:
    entry = catalogue.entries["rt-push-ipi"]
    state = state_of(entry, facts)
    if facts.seconds <= 0 or state.has is False:
        return None
    features = facts.features()
    preempt_rt = facts.config.get("PREEMPT_RT") == "y" or (
        facts.settings.get("sys/kernel/realtime") == "1"
    )
    if not ("RT_PUSH_IPI" in features if features is not None else preempt_rt):
        return None
    rate = facts.interrupts.get("IWI", 0) / facts.seconds / len(facts.online)
    severity = of_interrupts(rate, entry.id, policy)
    if severity is not None:
        # Kernels older than irq_work_queue_on() sent function calls, which the next branch counts.
        interrupts = f"{per_second(rate)} interrupts per second"
        summary = f"Each CPU gets {interrupts} that look for real-time work"
        observed = Evidence("/proc/interrupts: IWI", f"{per_second(rate)} per second and CPU")
    elif severity := of_interrupts(rate := _unexplained(facts), entry.id, policy):
        summary = (
            f"Each CPU gets {per_second(rate)} function calls per second that no context switch "
            "explains: interrupts that look for real-time work"
        )
        observed = Evidence(
            "/proc/interrupts: CAL",
            f"{per_second(facts.interrupts['CAL'] / facts.seconds)} per second in all",
        )
    elif pushed := _pushed(facts):
        summary, observed = "Interrupts ask a CPU for real-time threads that wait there", pushed
        severity = "medium"
    else:
        return None
    on = "RT_PUSH_IPI is on" if features is not None else "PREEMPT_RT, where RT_PUSH_IPI is on"
    where = "/sys/kernel/debug/sched/features" if features is not None else "configuration"
    evidence = [observed, Evidence(where, on)]
    monitors = [thread for thread in facts.threads if thread.kernel and thread.comm == "psimon"]
    if monitors:
        evidence.append(Evidence("/proc/*/comm", f"{count_of(len(monitors), 'thread')} psimon"))
    evidence.append(Evidence(f"kernel {facts.release}", state.why))
    return Finding(entry, severity, summary, evidence, *offer(entry, facts))


def _guest_caches(facts: Facts, catalogue: Catalogue) -> Finding | None:
    false = false_caches(facts)
    if false is None:
        return None
    entry = catalogue.entries["vm-llc"]
    evidence = [
        Evidence(false.where, false.value),
        Evidence("a virtual machine", str(facts.hypervisor)),
    ]
    model = facts.settings.get("proc/cpuinfo/model name")
    if model is not None:
        evidence.append(Evidence("/proc/cpuinfo: model name", model))
    return Finding(entry, "low", false.summary, evidence, entry.remedy, entry.command)


# The findings that need no profile.
FROM_FACTS = frozenset(("partition-invalid", "rd-isolated", "rd-shared", "rt-push-ipi", "vm-llc"))


def facts_findings(
    facts: Facts, loads: Sequence[DomainLoad], costs: Sequence[Cost], catalogue: Catalogue,
    policy: Policy,
) -> list[Finding]:  # fmt: skip
    """Return the findings from the machine's facts; ``costs`` are those of the loads."""
    findings = [
        domain_finding(facts, load, cost, catalogue, policy) for load, cost in zip(loads, costs)
    ]
    findings += [_push_storm(facts, catalogue, policy), _guest_caches(facts, catalogue)]
    findings += _invalid_partitions(facts, loads, catalogue)
    return [finding for finding in findings if finding is not None]
