# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Findings: entries of the catalogue that this machine or this profile shows, with the evidence."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field

from schedshard.common.paths import typed
from schedshard.doctor.facts.estimate import Busy, line_busy
from schedshard.doctor.facts.facts import Facts
from schedshard.doctor.facts.guest_caches import false_caches
from schedshard.doctor.facts.load import DomainLoad
from schedshard.doctor.judge.catalogue import Catalogue, Entry
from schedshard.doctor.predict.prediction import Prediction, Unpredicted
from schedshard.machines.topo import ranges

SEVERITIES = ("low", "medium", "high")
# Interrupts a second and CPU from which they are a storm. Those of irq_work are usually below 10.
_STORM = 1000.0
# How busy a line inside one cache may get before it is worth a word.
_CROWDED = 0.5
# docs/doctor.md has the table.
_ISOLATION = (
    "predicted in an emulator: pinned FIFO threads on Linux 7.3 wake up as often with isolcpus or "
    "isolated partitions as without isolation, and with root partitions 2.1 times as often on 16 "
    "CPUs, 3.8 times on 64; for 480 CPUs a simulation predicts 1.4 times"
)


@dataclass(frozen=True)
class Evidence:
    """One thing that was seen: where (a file, a function, a line of a profile), and its value."""

    where: str
    value: str


@dataclass
class Finding:
    """The fault, its severity, and its remedies.

    ``busy`` is set if it was computed, ``predicted`` if the load of a root domain is known.
    """

    entry: Entry
    severity: str
    summary: str
    evidence: list[Evidence]
    remedy: str
    command: str
    busy: Busy | None = None
    cpus: frozenset[int] = field(default_factory=frozenset)
    predicted: Prediction | Unpredicted | None = None

    @property
    def weight(self) -> int:
        """Return a number that grows with the severity."""
        return SEVERITIES.index(self.severity)


def per_second(rate: float) -> str:
    """Return a rate for people."""
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _load_evidence(facts: Facts, load: DomainLoad, busy: Busy) -> list[Evidence]:
    domain = load.domain
    evidence = [
        Evidence(
            "root domain (computed)",
            f"CPUs {domain.label}: {domain.because}"
            + (", on def_root_domain" if domain.default else ""),
        ),
        Evidence(
            "/proc/*/task/*/status",
            f"{per_second(load.wakeups)} real-time wake-ups a second in {facts.seconds:.1f} s, "
            f"in {count_of(len(load.apart), 'group')} that share no CPU, "
            f"{load.llcs or 'an unknown number of'} last-level caches",
        ),
    ]
    for group in load.apart[:3] or load.groups[:1]:
        names = ", ".join(group.cgroups[:2]) or "cgroup unknown"
        evidence.append(
            Evidence(
                f"CPUs {ranges(sorted(group.cpus))}",
                f"{count_of(len(group.threads), 'thread')}, {per_second(group.wakeups)} wake-ups a "
                f"second, {names}",
            )
        )
    if domain.default and domain.cpus & facts.isolated:
        isolated = ranges(sorted(facts.isolated))
        evidence.append(Evidence("/sys/devices/system/cpu/isolated", isolated))
    if domain.default:
        evidence.append(Evidence("emulated guests", _ISOLATION))
    evidence.append(
        Evidence(
            "estimate from the rate alone",
            f"the hottest line is busy {busy.words} of the time; above 100% wake-ups wait",
        )
    )
    return evidence


def _of_load(facts: Facts, load: DomainLoad, catalogue: Catalogue) -> Finding | None:
    busy = line_busy(load)
    severity = busy.severity
    if load.llcs == 1 and severity is not None:
        # No remedy makes a transfer inside one cache cheaper: only fewer transfers help.
        severity = "low" if busy.high >= _CROWDED else None
    if severity is None or len(load.domain.cpus) < 2 or load.domain.unseen or load.done:
        return None
    entry = catalogue.entries["rd-isolated" if load.domain.default else "rd-shared"]
    apart = len(load.apart) > 1
    kind = "isolated CPUs" if load.domain.default else "CPUs"
    summary = (
        f"{len(load.domain.cpus)} {kind} share one root domain on which real-time threads wake up "
        f"{per_second(load.wakeups)} times a second"
    )
    remedy, command = entry.remedy, entry.command
    if load.kernel > load.wakeups / 2:
        remedy = (
            "Most of these wake-ups are of kernel threads, with PREEMPT_RT those of interrupts. "
            "Keep the interrupts of one device inside one last-level cache, and coalesce them."
        )
        command = "grep . /proc/irq/*/smp_affinity_list"
    elif not apart and load.llcs != 1:
        remedy = (
            "These threads may run on the same CPUs, so that partitions would divide nothing. Pin "
            "them in groups first, each inside one last-level cache; then give each group a "
            "partition of type root."
        )
        command = "taskset -cp LIST PID"
        if load.deadline:
            # The kernel answers sched_setaffinity() of a deadline thread with EBUSY.
            remedy = (
                "Deadline threads may run on every CPU of their root domain, and the kernel does "
                "not let them be pinned. Start each group of them in a partition of type root that "
                "has the CPUs of that group only."
            )
            command = "systemd-run --scope --slice=NAME.slice COMMAND"
    elif load.llcs == 1:
        remedy = "The lines stay inside one last-level cache: fewer wake-ups help, or " + (
            "a partition of type root for each group." if apart else "fewer CPUs for these threads."
        )
    if facts.cpusets.part:
        remedy += (
            " This was seen from inside a container: partitions are the business of whoever owns "
            "the host. There the collector sees all of it."
        )
        if command == entry.command:
            command = typed("doctor collect > collect.sh")
    evidence = _load_evidence(facts, load, busy)
    return Finding(entry, severity, summary, evidence, remedy, command, busy, load.domain.cpus)


def _invalid_partitions(
    facts: Facts, loads: Iterable[DomainLoad], catalogue: Catalogue
) -> list[Finding]:
    entry = catalogue.entries["partition-invalid"]
    used = {
        cgroup for load in loads for group in load.groups for cgroup in group.cgroups
    }  # fmt: skip
    findings = []
    for cpuset in facts.cpusets.preorder():
        if cpuset.partition == "member" or cpuset.valid:
            continue
        inside = any(name == cpuset.path or name.startswith(f"{cpuset.path}/") for name in used)
        file = f"{facts.cpusets.place}{cpuset.path}/cpuset.cpus.partition"
        reason = f" ({cpuset.why})" if cpuset.why else ""
        evidence = [Evidence(file, f"{cpuset.partition} invalid{reason}")]
        summary, remedy = f"The partition {cpuset.path} is not in force{reason}", entry.remedy
        collisions = facts.cpusets.collisions(cpuset)
        if collisions:
            shared = frozenset[int]().union(*(cpus for _, cpus in collisions))
            names = ", ".join(sibling.path for sibling, _ in collisions)
            summary += f": {names} may use its CPUs {ranges(sorted(shared))}, too"
            remedy = (
                f"Take CPUs {ranges(sorted(shared))} out of the cpuset.cpus of {names} (systemd: "
                "AllowedCPUs=), and write the partition's type to its file again."
            )
            evidence += [
                Evidence(
                    f"{facts.cpusets.place}{sibling.path}/{name}",
                    f"{ranges(sorted(held))}, of which {ranges(sorted(cpus))} are the partition's",
                )
                for sibling, cpus in collisions
                for name, held in sibling.requested(cpus)
            ]
        elif above := facts.cpusets.broken_above(cpuset):
            evidence.append(
                Evidence(
                    f"{facts.cpusets.place}{above.path}/cpuset.cpus.partition",
                    f"{above.partition}{'' if above.valid else ' invalid'}: the cgroup above it",
                )
            )
        severity = "medium" if inside else "low"
        command = f"cat {shlex.quote(file)}"
        findings.append(Finding(entry, severity, summary, evidence, remedy, command))
    return findings


def _pushed(facts: Facts) -> Evidence | None:
    """Return interrupts that wake no thread, on CPUs with queued real-time threads.

    The profile counts requests to push as function calls; so it does wake-ups from other caches. If
    several such threads exist, calls beyond the wake-ups of real-time threads count as requests.
    """
    worst, most = None, 0.0
    for cpu, count in facts.calls.items():
        there = [each for each in facts.threads if not each.stopper and not each.kernel]
        queued = [each for each in there if each.cpu == cpu]
        woken = sum(
            each.voluntary or 0
            for each in facts.threads
            if not each.stopper and (each.allowed is None or cpu in each.allowed)
        )
        rate = (count - woken) / facts.seconds
        if len(queued) > 1 and rate > most:
            most = rate
            worst = Evidence(
                "/proc/interrupts: CAL",
                f"CPU {cpu}, with {len(queued)} real-time threads, gets {per_second(rate)} a "
                "second that wake no real-time thread",
            )
    return worst if most >= _STORM else None


def _fix(facts: Facts, entry: Entry) -> Evidence:
    """Whether the kernel is known to have an entry's fix, and what that leaves."""
    name = ".".join(map(str, facts.version))
    fix = f"the fix, commit {entry.fixed_by}"
    words = (
        f"{name} has {fix}: {entry.remains}"
        if entry.fixed(facts.version)
        else f"{name} is older than {fix}, unless the distributor added it"
    )
    return Evidence(f"kernel {facts.release}", words)


def _push_storm(facts: Facts, catalogue: Catalogue) -> Finding | None:
    entry = catalogue.entries["rt-push-ipi"]
    if facts.seconds <= 0 or not entry.concerns(facts.version):
        return None
    features = facts.features()
    preempt_rt = facts.config.get("PREEMPT_RT") == "y" or (
        facts.settings.get("sys/kernel/realtime") == "1"
    )
    if not ("RT_PUSH_IPI" in features if features is not None else preempt_rt):
        return None
    rate = facts.interrupts.get("IWI", 0) / facts.seconds / len(facts.online)
    if rate >= _STORM:
        # Kernels before irq_work_queue_on() sent a function call.
        each = f"{per_second(rate)} interrupts a second"
        summary = f"Each CPU gets {each} that look for real-time work"
        seen = Evidence("/proc/interrupts: IWI", f"{per_second(rate)} a second and CPU")
        severity = "high" if rate >= 10 * _STORM else "medium"
    elif pushed := _pushed(facts):
        summary, seen = "Interrupts look for real-time work on a CPU where it waits", pushed
        severity = "medium"
    else:
        return None
    state = "RT_PUSH_IPI is on" if features is not None else "PREEMPT_RT, where RT_PUSH_IPI is on"
    where = "/sys/kernel/debug/sched/features" if features is not None else "configuration"
    evidence = [seen, Evidence(where, state)]
    monitors = [each for each in facts.threads if each.kernel and each.comm == "psimon"]
    if monitors:
        evidence.append(Evidence("/proc/*/comm", f"{count_of(len(monitors), 'thread')} psimon"))
    evidence.append(_fix(facts, entry))
    return Finding(entry, severity, summary, evidence, entry.remedy, entry.command)


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


# What a machine's facts show without a profile.
FROM_FACTS = frozenset(("partition-invalid", "rd-isolated", "rd-shared", "rt-push-ipi", "vm-llc"))


def facts_findings(facts: Facts, loads: list[DomainLoad], catalogue: Catalogue) -> list[Finding]:
    """Return the findings from the machine's facts."""
    found = [_of_load(facts, load, catalogue) for load in loads]
    found += [_push_storm(facts, catalogue), _guest_caches(facts, catalogue)]
    found += _invalid_partitions(facts, loads, catalogue)
    return [finding for finding in found if finding is not None]
