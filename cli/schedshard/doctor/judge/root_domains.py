# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The finding of a root domain: what its shared lines cost, and whether it can cost less.

Severity is the cost's share of the machine's CPU time. What costs little, or can be had for no less
without another kernel, is not a finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from schedshard.common.paths import typed
from schedshard.doctor.facts.facts import Facts
from schedshard.doctor.facts.load import DomainLoad
from schedshard.doctor.judge.finding import Evidence, Finding, count_of, per_second
from schedshard.doctor.judge.predictions import delay_words, share_words
from schedshard.doctor.known.catalogue import Catalogue
from schedshard.doctor.known.offers import no_partitions
from schedshard.doctor.known.push_ipi import push_ipi
from schedshard.doctor.predict.prediction import (
    PARTITION,
    PIN,
    Prediction,
    Range,
    Unpredicted,
    total,
)
from schedshard.machines.topo import ranges

Cost = Union[Prediction, Unpredicted]
# The least share of the machine's CPU time for each severity.
_LIMITS = ((0.05, "high"), (0.01, "medium"), (0.001, "low"))
# A remedy has to save this share, and as many CPUs: a partition takes more than that away.
LEAST_SHARE, LEAST_CPUS = 0.001, 0.05
# An interval whose ends are apart by more than this factor is explained.
_WIDE = 6.0
# docs/doctor.md has the table.
_ISOLATION = (
    "predicted in an emulator: pinned FIFO threads on Linux 7.3 wake up as often with isolcpus or "
    "isolated partitions as without isolation, and with root partitions 2.1 times as often on 16 "
    "CPUs, 3.8 times on 64; for 480 CPUs a simulation predicts 1.4 times"
)


def _evidence(facts: Facts, load: DomainLoad, cost: Prediction) -> list[Evidence]:
    domain = load.domain
    push = push_ipi(facts)
    state = {True: "on", False: "off", None: "on or off"}[push.on]
    evidence = [
        Evidence(
            "root domain (computed)",
            f"CPUs {domain.label}: {domain.because}"
            + (", on def_root_domain" if domain.default else ""),
        ),
        Evidence(
            "/proc/*/task/*/status",
            f"{per_second(load.wakeups)} real-time wake-ups per second in {facts.seconds:.1f} s, "
            f"in {count_of(len(load.apart), 'group')} that share no CPU, "
            f"{load.llcs or 'an unknown number of'} last-level caches",
        ),
    ]
    for group in load.apart[:3] or load.groups[:1]:
        names = ", ".join(group.cgroups[:2]) or "cgroup unknown"
        evidence.append(
            Evidence(
                f"CPUs {ranges(sorted(group.cpus))}",
                f"{count_of(len(group.threads), 'thread')}, {per_second(group.wakeups)} wake-ups "
                f"per second, {names}",
            )
        )
    if domain.default and domain.cpus & facts.isolated:
        isolated = ranges(sorted(facts.isolated))
        evidence.append(Evidence("/sys/devices/system/cpu/isolated", isolated))
    if domain.default:
        evidence.append(Evidence("emulated guests", _ISOLATION))
    evidence.append(Evidence("RT_PUSH_IPI", f"{state} ({push.why})"))
    share = cost.now.share
    if share.low is not None and share.high is not None and share.high > _WIDE * share.low:
        measured = "" if facts.busy else "; this archive does not have how busy the CPUs were"
        evidence.append(
            Evidence(
                "the interval",
                "is wide because the lines are near the rate at which they are busy all of the "
                "time: there some percent of speed decide, and rates alone do not tell. No cost "
                f"exceeds the time for which the CPUs were busy{measured}. A profile (--perf) "
                "shows the cost",
            )
        )
    return evidence


def _remedy(facts: Facts, load: DomainLoad, cost: Prediction, finding: Finding) -> None:
    """Say what helps where it is not what the catalogue says."""
    command = finding.entry.command
    if load.kernel > load.wakeups / 2:
        finding.remedy = (
            "Most of these wake-ups are of kernel threads, with PREEMPT_RT those of interrupts. "
            "Keep the interrupts of one device inside one last-level cache, and coalesce them."
        )
        finding.command = "grep . /proc/irq/*/smp_affinity_list"
    elif cost.row(PARTITION) is None:
        finding.remedy = (
            "These threads may run on the same CPUs, so that partitions would divide nothing. Pin "
            "them in groups first, each inside one last-level cache; then give each group a "
            "partition of type root."
        )
        finding.command = "taskset -cp LIST PID"
        if load.deadline:
            # The kernel answers sched_setaffinity() of a deadline thread with EBUSY.
            finding.remedy = (
                "Deadline threads may run on every CPU of their root domain, and the kernel does "
                "not let them be pinned. Start each group of them in a partition of type root that "
                "has the CPUs of that group only."
            )
            finding.command = "systemd-run --scope --slice=NAME.slice COMMAND"
    elif (other := no_partitions(facts)) is not None:
        finding.remedy, finding.command = other
    elif facts.cpusets.version == 1:
        finding.remedy = (
            "A cpuset for each group, below a root cpuset with sched_load_balance 0: with cgroup "
            "v1 each of them is a root domain. CPUs of isolcpus=domain cannot be in one, so that "
            "these CPUs leave that option. --plan writes the steps."
        )
    if facts.cpusets.part:
        finding.remedy += (
            " This was seen from inside a container: partitions are the business of whoever owns "
            "the host. There the collector sees all of it."
        )
        if finding.command == command:
            finding.command = typed("doctor collect > collect.sh")


def _gains(facts: Facts, load: DomainLoad, cost: Prediction) -> bool:
    """Whether the load costs something, and a remedy without another kernel saves enough of it."""
    least = max(LEAST_SHARE, LEAST_CPUS / len(facts.online))
    if load.kernel > load.wakeups / 2:
        return cost.now.share.value >= least
    return cost.saved >= least


def domain_finding(
    facts: Facts, load: DomainLoad, cost: Cost, catalogue: Catalogue
) -> Finding | None:
    """Return the finding of a root domain, None where nothing is to be gained."""
    if (
        isinstance(cost, Unpredicted)
        or len(load.domain.cpus) < 2
        or load.domain.unseen
        or load.done
    ):
        return None
    severity = next((name for least, name in _LIMITS if cost.now.share.value >= least), None)
    if severity is None or not _gains(facts, load, cost):
        return None
    entry = catalogue.entries["rd-isolated" if load.domain.default else "rd-shared"]
    kind = "isolated CPUs" if load.domain.default else "CPUs"
    best = cost.row(PARTITION, PIN)
    summary = (
        f"{share_words(cost.now.share)} of the machine's CPU time goes into sharing: "
        f"{len(load.domain.cpus)} {kind} share one root domain on which real-time threads wake up "
        f"{per_second(load.wakeups)} times per second, each delayed by "
        f"{delay_words(cost.now.late_ns)}"
    )
    if best is not None and cost.saved > 0:
        what = "partitions" if best.variant == PARTITION else "pinning and partitions"
        summary += (
            f"; {what} would leave {share_words(best.share)}, and a delay of "
            f"{delay_words(best.late_ns)}"
        )
    finding = Finding(
        entry, severity, summary, _evidence(facts, load, cost), entry.remedy, entry.command,
        load.domain.cpus, cost,
    )  # fmt: skip
    _remedy(facts, load, cost, finding)
    return finding


def machine_cost(costs: Sequence[Cost]) -> Range:
    """Return the share of the machine's CPU time that all root domains cost together."""
    return total(each.now.share for each in costs if isinstance(each, Prediction))


def left_words(costs: Sequence[Cost]) -> str:
    """Return in words what is left where nothing more is to be gained."""
    all_of_it = machine_cost(costs)
    if not all_of_it.value:
        return "sharing costs nothing here"
    known = [each.now.late_ns for each in costs if isinstance(each, Prediction)]
    late = max(known, key=lambda each: each.value)
    return (
        f"sharing costs {share_words(all_of_it)} of the machine's CPU time (predicted), it delays "
        f"a wake-up by up to {delay_words(late)}, and no partition would save enough"
    )
