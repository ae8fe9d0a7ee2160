# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds what the shared lines of a root domain cost, and how much each remedy would save.

The severity follows from what a remedy saves, as a share of the machine's CPU time. A small gain is
not a finding, and neither is a gain that only another kernel brings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Union

from common.paths import typed
from doctor.facts.facts import Facts, Thread
from doctor.facts.load import DomainLoad, Part, unit_of
from doctor.judge.finding import Evidence, Finding, count_of, per_second
from doctor.judge.predictions import percent, share_words
from doctor.judge.severity import Policy, of_gain
from doctor.known.catalogue import Catalogue
from doctor.known.offers import V1, V1_COMMAND, no_partitions, out_of_reach
from doctor.known.push_ipi import push_ipi
from doctor.predict.prediction import (
    Prediction,
    Range,
    Unpredicted,
    total,
)
from doctor.predict.shape import PARTITION, PIN
from model.machines.topo import ranges

Cost = Union[Prediction, Unpredicted]

# A remedy has to save this many CPUs, because a partition itself costs more.
LEAST_CPUS = 0.05
# Threads that roam are named if they make at least this share of the wake-ups.
_ROAMING = 0.01
# An interval whose ends differ by more than this factor does not show what sharing costs.
_WIDE = 10.0
_MEASURE = (
    "To find out, run 'perf c2c record -a -- sleep 10', and give doctor the output of 'perf c2c "
    "report --stdio' by --perf. Or make one partition, and run 'doctor diff' before and after"
)


def wide_words(share: Range) -> str:
    """Return a cost's interval as text if it is too wide to show the cost, else ""."""
    if share.low is None or share.high is None or share.high <= _WIDE * share.low:
        return ""
    return f"{percent(share.low)} to {percent(share.high)}"


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
            f"in {count_of(len(load.apart), 'group')} that share no CPU, on "
            f"{load.llcs or 'an unknown number of'} last-level caches",
        ),
    ]
    parts = load.parts or [Part(group.cgroups, (group,)) for group in load.groups[:1]]
    for part in sorted(parts, key=lambda candidate: -candidate.wakeups)[:3]:
        names = ", ".join(part.places[:2]) or "cgroup unknown"
        threads = sum(len(group.threads) for group in part.groups)
        evidence.append(
            Evidence(
                f"CPUs {ranges(sorted(part.cpus))}",
                f"{count_of(threads, 'thread')}, {per_second(part.wakeups)} wake-ups per second, "
                f"{names}",
            )
        )
    if domain.default and domain.cpus & facts.isolated:
        isolated = ranges(sorted(facts.isolated))
        evidence.append(Evidence("/sys/devices/system/cpu/isolated", isolated))
    evidence.append(Evidence("RT_PUSH_IPI", f"{state} ({push.why})"))
    if wide_words(cost.now.share):
        measured = "" if facts.busy else " (this archive does not contain it)"
        evidence.append(
            Evidence(
                "the interval",
                "is wide because the lines are nearly saturated: a few percent of CPU speed "
                "then change the cost greatly, so wake-up rates alone cannot show the cost. The "
                f"cost is at most the time for which the CPUs were busy{measured}. {_MEASURE}",
            )
        )
    return evidence


# What helps against wake-ups of kernel threads, by the threads' names without a CPU.
_KERNEL = {
    "irq": (
        "threads irq/N, which run interrupts. Keep the interrupts of one device inside one "
        "last-level cache, and coalesce them.",
        "grep . /proc/irq/*/smp_affinity_list",
    ),
    "ktimers": (
        "threads ktimers/N, which on PREEMPT_RT run the timers of ordinary threads. Find out who "
        "starts these timers, and let it sleep longer, or on fewer CPUs.",
        "perf record -a -e timer:hrtimer_start,timer:timer_start -- sleep 1",
    ),
}


def _names(threads: Iterable[Thread], kernel: bool = False) -> list[str]:
    """Return the cgroups of threads, or the names of threads outside, most wake-ups first."""
    slept: Counter[str] = Counter()
    for thread in threads:
        name = thread.comm if thread.cgroup in (None, "/") else unit_of(thread.cgroup or "")
        name = thread.comm.partition("/")[0] if kernel else name
        slept[name] += thread.voluntary or 0 if thread.kernel == kernel else 0
    return [name for name, count in slept.most_common() if count]


def _kernel(load: DomainLoad) -> tuple[str, str]:
    """Return what helps if most wake-ups are of kernel threads that roam, and a command."""
    free = (thread for group in load.groups if group.roams for thread in group.threads)
    name = _names(free, kernel=True)[0]
    wakers = f"kernel threads {name}. Find out what wakes them, and let it do so less often."
    words, command = _KERNEL.get(name, (wakers, "perf record -a -e sched:sched_waking -- sleep 1"))
    return f"Most of these wake-ups are of {words}", command


def widest(load: DomainLoad) -> list[str]:
    """Return the cgroups, or the names, of users' threads that may run on the most CPUs."""
    sizes: dict[int, list[Thread]] = {}
    for thread in (thread for group in load.groups for thread in group.threads):
        if thread.voluntary and not thread.kernel:
            cpus = load.domain.cpus & (thread.allowed or load.domain.cpus)
            sizes.setdefault(len(cpus), []).append(thread)
    return _names(sizes[max(sizes)])[:3] if sizes else []


def roaming(load: DomainLoad) -> str:
    """Return which threads weaken partitions, and what helps, or "" if they hardly wake up."""
    free = [group for group in load.groups if group.roams]
    rate = sum(group.wakeups for group in free) - load.kernel
    if rate < _ROAMING * load.wakeups or not free:
        return ""
    how = "pin them to CPUs of one group (taskset; systemd: CPUAffinity=)"
    return (
        f"Threads of {', '.join(_names(free[0].threads)[:3])} may run on CPUs of several groups: "
        f"partitions take along their {per_second(rate)} wake-ups per second only if you "
        f"{'start them inside of a partition' if load.deadline else how}"
    )


def _remedy(facts: Facts, load: DomainLoad, cost: Prediction, finding: Finding) -> None:
    """Replace the catalogue's remedy and command where something else helps."""
    command = finding.entry.command
    group = "cpuset" if facts.cpusets.version == 1 else "partition of type root"
    if load.kernel > load.wakeups / 2:
        finding.remedy, finding.command = _kernel(load)
    elif cost.row(PARTITION) is None:
        names = widest(load)
        who = f"Threads of {', '.join(names)}" if names else "These threads"
        finding.remedy = (
            f"{who} may run on the same CPUs, so that partitions would divide nothing. Pin them in "
            f"groups first, each inside one last-level cache; then give each group a {group}."
        )
        if len(names) > 1:
            finding.remedy = f"{who} share CPUs: give each its own CPUs first, and then a {group}."
        finding.command = "taskset -cp LIST PID"
        if load.deadline:
            # The kernel answers sched_setaffinity() of a deadline thread with EBUSY.
            finding.remedy = (
                "Deadline threads may run on every CPU of their root domain, and the kernel does "
                f"not let them be pinned. Start each group of them in a {group} with the CPUs of "
                "that group only."
            )
            finding.command = "systemd-run --scope --slice=NAME.slice COMMAND"
    elif (other := no_partitions(facts)) is not None:
        finding.remedy, finding.command = other
    elif facts.cpusets.version == 1:
        finding.remedy, finding.command = V1, V1_COMMAND
        if facts.boot_isolated:
            finding.remedy += " Such a cpuset takes no CPU of isolcpus=domain."
    if cost.row(PARTITION) is not None and (others := roaming(load)):
        finding.remedy += f" {others}."
    if facts.cpusets.part:
        finding.remedy += (
            " This was collected inside a container, where no partition can be made. Run the "
            "collector on the host, where it sees everything."
        )
        if finding.command == command:
            finding.command = typed("doctor collect > collect.sh")


def _gain(load: DomainLoad, cost: Prediction) -> float:
    """Return the share of the machine's CPU time that a remedy saves without another kernel.

    Where kernel threads cause most wake-ups, the whole cost counts as what can be saved.
    """
    return cost.now.share.value if load.kernel > load.wakeups / 2 else cost.saved


def domain_finding(
    facts: Facts, load: DomainLoad, cost: Cost, catalogue: Catalogue, policy: Policy
) -> Finding | None:
    """Return the finding for a root domain, or None if no remedy would save enough."""
    if (
        isinstance(cost, Unpredicted)
        or len(load.domain.cpus) < 2
        or load.domain.unseen
        or load.done
        or out_of_reach(facts, load)
    ):
        return None
    gain = _gain(load, cost)
    entry = catalogue.entries["rd-isolated" if load.domain.default else "rd-shared"]
    severity = of_gain(gain, entry.id, policy)
    if severity is None or gain < LEAST_CPUS / len(facts.online) * policy.keeps(entry.id):
        return None
    kind = "isolated CPUs" if load.domain.default else "CPUs"
    best = cost.row(PARTITION, PIN)
    now, wide = cost.now.share, wide_words(cost.now.share)
    shared = (
        f"{len(load.domain.cpus)} {kind} share one root domain on which real-time threads wake up "
        f"{per_second(load.wakeups)} times per second"
    )
    summary = (
        f"{share_words(now)} of the machine's CPU time goes into sharing (predicted): {shared}"
    )
    if wide:
        summary = f"{shared}: cannot tell how much of the machine's CPU time that costs, {wide}"
    if best is not None and cost.saved > 0:
        what = "partitions" if best.variant == PARTITION else "pinning and partitions"
        summary += f"; {what} would leave {share_words(best.share)}"
        if not wide:
            count = len(facts.online)
            summary += f", which frees {gain * count:.1f} of {count} CPUs"
    finding = Finding(
        entry, severity, summary, _evidence(facts, load, cost), entry.remedy, entry.command,
        load.domain.cpus, cost,
    )  # fmt: skip
    _remedy(facts, load, cost, finding)
    return finding


def machine_cost(costs: Sequence[Cost]) -> Range:
    """Return the share of the machine's CPU time that all root domains cost together."""
    return total(cost.now.share for cost in costs if isinstance(cost, Prediction))


def barred(facts: Facts, loads: Sequence[DomainLoad], costs: Sequence[Cost]) -> str:
    """Return why partitions that would save enough need another kernel, or ""."""
    reasons = (
        out_of_reach(facts, load) for load, cost in zip(loads, costs)
        if isinstance(cost, Prediction) and of_gain(cost.saved)
    )  # fmt: skip
    return next(filter(None, reasons), "")


def left_words(costs: Sequence[Cost], why: str) -> str:
    """Return the remaining cost as text, for a machine on which no remedy saves enough."""
    all_of_it = machine_cost(costs)
    if not all_of_it.value:
        return "sharing costs nothing here"
    return (
        f"sharing costs {share_words(all_of_it)} of the machine's CPU time (predicted), and "
        f"{why or 'no partition would save enough'}"
    )
