# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes the verdict of facts and profiles: findings, a sentence and an exit status."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from common.paths import typed
from doctor.facts.domains import Domains, root_domains
from doctor.facts.facts import Facts
from doctor.facts.load import DomainLoad, domain_loads
from doctor.judge.finding import Finding, per_second
from doctor.judge.predictions import percent
from doctor.judge.profiled import all_findings
from doctor.judge.root_domains import Cost, barred, left_words, machine_cost
from doctor.judge.severity import NO_POLICY, Policy
from doctor.known.catalogue import load_catalogue
from doctor.predict.prediction import Prediction, Range, Unpredicted
from doctor.predict.stored import stored
from doctor.profiles.profile import Profile

NOTHING, CANNOT_TELL, FOUND = 0, 3, 4
# The least CPU time of a sleep and a wake-up, in s. The experiments' lowest estimates sum to 630
# ns: 70 for the system call, 100 schedule(), 300 the switch, 80 the wake-up, 80 the queues.
LEAST_WAKEUP = 500e-9
# If so much of the machine's CPU time is lost, "Nothing found" would be wrong.
_MUCH = 0.01
# The source of a verdict on this host.
LIVE = "this host"
_DOCTOR = "./schedshard doctor"
# Returns the cost of a load, from the stored table or from a simulation.
Predictor = Callable[[Facts, DomainLoad], Cost]


@dataclass(frozen=True)
class Verdict:
    """All conclusions. ``doubts`` are reasons why something may have been missed.

    ``costs`` has one element per element of ``loads``. ``facts`` and ``domains`` are None when only
    profiles were judged.
    """

    source: str
    facts: Facts | None
    domains: Domains | None
    loads: tuple[DomainLoad, ...]
    costs: tuple[Cost, ...]
    profiles: tuple[Profile, ...]
    findings: tuple[Finding, ...]
    doubts: tuple[str, ...]
    notes: tuple[str, ...]
    status: int
    sentence: str

    @property
    def facts_doubted(self) -> bool:
        """Whether a doubt concerns the machine. A doubt about a profile begins with its source."""
        sources = tuple(profile.source for profile in self.profiles)
        return any(not sources or not doubt.startswith(sources) for doubt in self.doubts)

    @property
    def cost(self) -> Range:
        """Return the share of the machine's CPU time that sharing costs, over all root domains."""
        return machine_cost(self.costs)

    @property
    def saved(self) -> float:
        """Return the share of the machine's CPU time that partitions save, over all of them."""
        return sum(cost.saved for cost in self.costs if isinstance(cost, Prediction))


def _doubts(
    facts: Facts, domains: Domains, loads: list[DomainLoad], wrong: list[str | None]
) -> list[str]:
    doubts = []
    if not facts.sees_kernel_threads:
        doubts.append(
            "no kernel thread was seen: this is a container's view, which hides other threads"
            if facts.cpusets.part
            else "no kernel thread was seen: /proc hides the processes of others (hidepid), or "
            "this is a container's view; run the collector as root of the host"
        )
    if facts.seconds <= 0:
        doubts.append("the two readings have the same time, so that no rate is known")
    elif any(load.user_threads and not load.known for load in loads):
        doubts.append("context switches of the real-time threads could not be read")
    doubts += filter(None, wrong)
    if any(load.user_threads for load in loads):
        doubts += domains.unsure
    return doubts


def _impossible(facts: Facts, load: DomainLoad) -> str | None:
    """Return why a load cannot be true, or None."""
    able = len(load.domain.cpus & facts.online) / LEAST_WAKEUP
    if load.wakeups <= able:
        return None
    return (
        f"{per_second(load.wakeups)} real-time wake-ups per second on CPUs {load.domain.label} are "
        f"impossible, because at most {per_second(able)} are possible: the counters or the times "
        "of the two readings are wrong"
    )


def _scheduler_notes(facts: Facts) -> list[str]:
    """Return notes on settings of this machine that change how real-time threads run."""
    notes = []
    if facts.unthrottled:
        notes.append(
            f"throttling is off ({facts.unthrottled}): a real-time thread that never sleeps keeps "
            "all others from its CPU"
        )
    if facts.settings.get("sys/kernel/sched_ext/state") == "enabled":
        name = facts.settings.get("sys/kernel/sched_ext/root/ops", "of unknown name")
        takes = {
            "1": "it runs all threads of SCHED_OTHER, SCHED_BATCH and SCHED_IDLE",
            "0": "it runs the threads of SCHED_EXT only",
        }.get(facts.settings.get("sys/kernel/sched_ext/switch_all", ""), "it runs ordinary threads")
        notes.append(
            f"a sched_ext scheduler is loaded ({name}): {takes}. Real-time and deadline threads "
            "are still scheduled by the kernel, and write the lines of the root domain as before"
        )
    if "threadirqs" in facts.cmdline:
        notes.append("threadirqs: interrupts wake FIFO threads, which count as real-time wake-ups")
    off = "rt_group_sched=0" in facts.cmdline or "RT_GROUP_SCHED_DEFAULT_DISABLED" in facts.config
    if facts.config.get("RT_GROUP_SCHED") == "y" and not off:
        notes.append(
            "CONFIG_RT_GROUP_SCHED: a new group of the cpu controller has no budget for real-time "
            "threads, so none can be moved there"
        )
    return notes


def _notes(facts: Facts | None, loads: list[DomainLoad], profiles: list[Profile]) -> list[str]:
    notes = _scheduler_notes(facts) if facts is not None else []
    done = [load for load in loads if load.done and load.wakeups >= 1]
    if done:
        most = max(done, key=lambda load: load.wakeups)
        others = f" (and {len(done) - 1} more)" if len(done) > 1 else ""
        notes.append(
            f"{most.domain.because}{others} cannot be cut into smaller ones. The remaining "
            f"{per_second(most.wakeups)} wake-ups per second on CPUs {most.domain.label} write "
            "lines of these CPUs alone"
        )
    if facts is not None and facts.hypervisor is not None:
        notes.append(
            f"a virtual machine ({facts.hypervisor}): caches and nodes are as the hypervisor "
            "reports them, perhaps falsely"
        )
    if facts is not None and facts.pseudonyms:
        notes.append("names of threads and cgroups are pseudonyms (collect.sh -a)")
    if facts is not None and not facts.llcs:
        notes.append("the kernel reports no caches: the prediction moves all lines between caches")
    if facts is not None and any(profile.lines or profile.functions for profile in profiles):
        notes.append("nothing shows that the profile comes from this machine")
    for profile in profiles:
        notes += profile.notes
        if profile.functions and profile.samples is None:
            notes.append(
                f"{profile.source} does not contain its number of samples: its shares are used as "
                "they are, without an interval"
            )
    if not profiles:
        notes.append(
            "without a profile only root domains, push interrupts and partitions are judged; to "
            "judge other hot lines, run 'perf record -a -- sleep 10', and give '--perf perf.data'"
        )
    return notes


def _sentence(
    findings: list[Finding], doubts: list[str], facts: Facts | None, loads: list[DomainLoad],
    costs: list[Cost],
) -> str:  # fmt: skip
    if findings:
        more = len(findings) - 1
        rest = f" (and {more} more finding{'s' if more > 1 else ''}" if more else ""
        if sum(finding.cost > 0 for finding in findings) > 1:
            rest += f"; {percent(sum(finding.cost for finding in findings))} in all"
        return f"{findings[0].summary}{rest}{')' if rest else ''}."
    if doubts:
        return f"Cannot tell: {doubts[0]}."
    rate = sum(load.wakeups for load in loads)
    if loads and rate < 1:
        return "Nothing found: real-time threads hardly ever wake up here."
    if facts is not None and loads:
        headline = "No remedy" if machine_cost(costs).value >= _MUCH else "Nothing"
        return (
            f"{headline} found: with {per_second(rate)} real-time wake-ups per second on "
            f"{len(loads)} root domain{'s' if len(loads) > 1 else ''}, "
            f"{left_words(costs, barred(facts, loads, costs))}."
        )
    return "Nothing found: no function and no line of the catalogue is hot in this profile."


def _typed(command: str, source: str, facts: Facts | None) -> str:
    """Return a command of doctor as typed here: with the host's file, if a file was given."""
    if facts is None or not command.startswith(_DOCTOR):
        return command
    host = "" if source == LIVE else f" {shlex.quote(source)}"
    return typed("doctor" + command[len(_DOCTOR) :].replace(" HOST.tar", host))


def judge(
    source: str, facts: Facts | None, profiles: list[Profile], predictor: Predictor = stored,
    policy: Policy = NO_POLICY,
) -> Verdict:  # fmt: skip
    """Judge a machine, profiles, or both; ``predictor`` says what a root domain's load costs."""
    catalogue = load_catalogue()
    domains = root_domains(facts) if facts is not None else None
    loads: list[DomainLoad] = []
    costs: list[Cost] = []
    doubts: list[str] = []
    if facts is not None and domains is not None:
        loads = domain_loads(facts, domains)
        wrong = [_impossible(facts, load) for load in loads]
        costs = [
            Unpredicted("these wake-ups per second are impossible")
            if sentence
            else predictor(facts, load)
            for load, sentence in zip(loads, wrong)
        ]
        doubts = _doubts(facts, domains, loads, wrong)
    findings, unsure = all_findings(facts, loads, costs, profiles, catalogue, policy)
    for finding in findings:
        finding.command = _typed(finding.command, source, facts)
    doubts += unsure
    status = FOUND if findings else CANNOT_TELL if doubts else NOTHING
    return Verdict(
        source, facts, domains, tuple(loads), tuple(costs), tuple(profiles), tuple(findings),
        tuple(doubts), tuple(_notes(facts, loads, profiles)), status,
        _sentence(findings, doubts, facts, loads, costs),
    )  # fmt: skip
