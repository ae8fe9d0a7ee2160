#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the verdicts and schedules of all cases of schedshard-explore, and that figures repeat.

Usage: explore_cases.py EXPLORER GROUP. A group is the part of the cases' names before the first
dash. "coverage" checks that the table has every case, at every number of CPUs. "weak" runs all of
them under the model 'weak'.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

BOUNDED = ("--preemptions", "2")

REPEATED = 10_000_000  # transitions; longer cases are run only once

# The cases without a violation, by their numbers of CPUs. explore_litmus.py runs the litmus tests.
CLEAN: dict[tuple[int, ...], str] = {
    (2, 3, 4): """
        summary-set-search summary-realtime summary-clear-set-search
        posted-summary-set-search posted-summary-realtime posted-summary-clear-set-search
        sbm-claim sbm-claim-summary sbm-lock sbm-walk sbm-walk-wrap sbm-walk-and-wrap
        sbm-walk-next sbm-walk-summary sbm-walk-stale
        levels-rise-alone
        counter-increments counter-attach counter-attach-hand-over counter-add-any
        plan-publish
        wakeup-sbm wakeup-sbm-summary
        pattern-count-mask pattern-level-rise pattern-byte-summary
    """,
    (3, 4): """
        summary-two-set
        posted-summary-two-set
        counter-is-zero counter-more-than counter-attach-one
    """,
    (2, 3): """
        summary-two-shards summary-not-named
        posted-summary-two-shards posted-summary-not-named
        sbm-neighbours
        claim-slots-several claim-follow claim-slots-put claim-slots-handle claim-cache
        handover-set handover-clear handover-count
        levels-rise
        stock-rise stock-overload
        idle-told-stock idle-told idle-enter-stock idle-enter idle-stay-stock idle-enter-flags
        idle-stay-flags idle-told-slots idle-enter-slots
        counter-take
        wait-one wait-first
    """,
    (2,): """
        summary-all-set summary-search-twice
        posted-summary-all-set posted-summary-search-twice
        claim-slots claim-slots-grow claim-follow-throughout claim-follow-hands-over
        claim-follow-put claim-slots-hands-over claim-slots-grown claim-cache-weak claim-cache-two
        claim-cache-hands-over claim-cache-freed claim-cache-filled
        levels-pull-or-push levels-leaving levels-any levels-grow levels-ask levels-further
        levels-further-linux
        walk-linux walk-start
        counter-estimate
        wait-two wait-grow wait-left wait-kept
        order-counter-attach
    """,
    (3,): """
        levels-walk levels-walk-relaxed
        counter-take-sum counter-noted counter-noted-own
        wait-together
        order-counter-noted
    """,
}

# Further ones, which have too many interleavings: name, CPUs, limit of the preemptions.
CLEAN_WITHIN = [
    ("summary-two-shards", 4, "2"),
    ("summary-all-set", 3, "2"),
    ("posted-summary-two-shards", 4, "1"),
    ("posted-summary-all-set", 3, "2"),
    ("wait-two", 3, "2"),
]
# These promise less: with a third CPU, a search may miss what an earlier one has found.
LIMITS = ["summary-search-twice", "posted-summary-search-twice"]

Tells = tuple[tuple[int, ...], str, str]

# Planted bugs: numbers of CPUs, a file that a useful schedule contains, and the message. After "|"
# stands that of more CPUs than the least. (In clang's code addr2line cannot always distinguish
# functions that were inlined into each other.)
PLANTED: dict[str, Tells] = {
    "planted-wait-look": ((2,), "shard_wait.c", "lost wake-up"),
    "planted-wait-leave": ((3,), "shard_wait.c", "lost wake-up"),
    "planted-wait-pass": ((3,), "wait.c", "passed over"),
    "planted-counter-add": ((2, 3, 4), "cpu_counter.h", "an add is lost"),
    "planted-counter-flag": ((3,), "cpu_counter.c", "had returned"),
    "planted-claim-look": ((2, 3, 4), "claim.c", "two CPUs own"),
    "planted-plan-early": ((2, 3), "plan.c", "the plan has no CPUs"),
    "planted-wakeup-order": ((2, 3, 4), "wakeup.c", "lost wake-up"),
    "planted-count-mask": ((2, 3, 4), "order.c", "the mask is empty"),
    "planted-level-rise": ((2, 3, 4), "order.c", "at no level"),
    "planted-separate-bits": ((3, 4), "bits.c", "found the set empty"),
    "planted-levels-grow": ((2,), "levels.c", "overloaded before"),
    "planted-levels-ask": ((2,), "levels.c", "its task waits"),
    "planted-walk-linux": ((3,), "linux_walk.c", "no CPU read its level"),
    "planted-walk-linux-visit": ((2,), "linux_walk.c", "no CPU read its level"),
    "planted-walk-start": ((2,), "linux_walk.c", "did not read its level"),
    "planted-stock-out-first": ((2, 3), "atomics.h", "CPU 0 rose"),
    "planted-stock-count-first": ((2, 3), "atomics.h", "CPU 0 rose"),
    "planted-stock-overload": ((2, 3), "atomics.h", "none is found"),
}
# Those that only occur with store buffers.
NEEDS_BUFFERS: dict[str, Tells] = {
    "planted-wait-barrier": ((2,), "shard_wait.c", "lost wake-up"),
    "planted-wait-ask": ((2, 3), "wait.c", "lost wake-up|passed over"),
    "planted-cache-barrier": ((2,), "claim.c", "two CPUs own"),
    "planted-handover-set-release": ((2, 3), "handover.c", "not visible"),
    "planted-handover-set-acquire": ((2, 3), "handover.c", "not visible"),
    "planted-handover-clear-release": ((2, 3), "handover.c", "not visible"),
    "planted-handover-clear-acquire": ((2, 3), "handover.c", "not visible"),
    "planted-handover-count-release": ((2, 3), "handover.c", "not visible"),
    "planted-wakeup-waker": ((2, 3, 4), "wakeup.c", "lost wake-up"),
    "planted-byte-summary": ((2, 3, 4), "bits.c", "empty"),
    "planted-summary-clean": ((2, 3, 4), "shard_summary.c", "empty"),
    "planted-summary-note": ((2, 3, 4), "shard_summary.h", "empty"),
    "planted-levels-fall": ((2,), "cpupri.c", "its task waits"),
    "planted-levels-push": ((2,), "levels.c", "its task waits"),
    "planted-levels-leaving": ((2,), "levels.c", "its task waits"),
    "planted-levels-further": ((2,), "levels.c", "its task waits"),
    "planted-idle-stay": ((2, 3), "idle.c", "the flag is down"),
    "planted-order-counter-release": ((2,), "shard_counter.c", "data race"),
    "planted-order-noted-release": ((3,), "cpu_counter.c", "misses an add"),
}

# The model "weak" gives the opposite verdict. Linux stores the flag after the load without a
# barrier, and only TSO keeps two stores in order. An atomic increment is a barrier only on x86. It
# passes on what its CPU has read only where all CPUs see a store at once.
OTHER_WHEN_WEAK = ["idle-stay-stock", "levels-further-linux", "levels-walk-relaxed"]


@dataclass(frozen=True)
class Case:
    """One case at one number of CPUs."""

    name: str
    cpus: int
    bad: bool = False
    extra: tuple[str, ...] = ()


def all_cases() -> list[Case]:
    """Return the cases of all groups."""
    clean = [Case(name, n) for cpus, names in CLEAN.items() for name in names.split() for n in cpus]
    within = [Case(name, n, extra=("--preemptions", most)) for name, n, most in CLEAN_WITHIN]
    limits = [Case(name, 3, bad=True) for name in LIMITS]
    planted = (PLANTED | NEEDS_BUFFERS).items()
    return [*clean, *within, *limits] + [
        Case(name, n, bad=True) for name, (cpus, _, _) in planted for n in cpus
    ]


STEP_KEYS = {"step", "cpu", "actor", "operation", "function", "source"}


@dataclass
class Explorer:
    """The program under test."""

    path: str

    def run(self, *args: str) -> tuple[dict[str, Any], int]:
        """Run the explorer once; return its JSON and its exit status."""
        run = subprocess.run([self.path, *args], capture_output=True, text=True, check=False)
        assert run.stderr == "", run.stderr
        report = json.loads(run.stdout)
        assert isinstance(report, dict)
        return report, run.returncode

    def cases(self) -> list[dict[str, Any]]:
        """Return the cases that --list prints."""
        run = subprocess.run([self.path, "--list"], capture_output=True, text=True, check=True)
        cases = json.loads(run.stdout)
        assert isinstance(cases, list)
        return cases


def check_schedule(name: str, cpus: int, violation: dict[str, Any]) -> None:
    """A failing schedule is complete and contains the origin of each step."""
    steps = violation["schedule"]
    assert steps, f"{name}: a violation without a schedule"
    assert [s["step"] for s in steps] == list(range(1, len(steps) + 1))
    for step in steps:
        assert set(step) >= STEP_KEYS, step
        assert step["function"] != "?", f"{name}: step {step} comes from nowhere"
        assert step["operation"] == "fence" or {"object", "size", "value"} <= set(step), step
    if name not in LIMITS:
        sizes, file, messages = (PLANTED | NEEDS_BUFFERS)[name]
        message = messages.split("|")[0 if cpus == sizes[0] else -1]
        assert any(s["source"].startswith(f"{file}:") for s in steps), f"{name}: no step in {file}"
        assert message in violation["message"], f"{name}: {violation['message']}"


def check_case(explorer: Explorer, case: Case) -> None:
    """Check one case at one number of CPUs."""
    args, bad = (case.name, "--cpus", str(case.cpus), *case.extra), case.bad
    report, status = explorer.run(*args)
    label = " ".join(args)
    print(
        f"{label}: {report['verdict']}, {report['executions']} executions, "
        f"{report['transitions']} transitions, {report['seconds']:.2f} s"
    )
    assert report["verdict"] == ("violation" if bad else "clean"), label
    assert status == (1 if bad else 0), f"{label}: exit status {status}"
    assert report["complete"] is True, f"{label}: not complete"
    assert report["executions"] + report["cut"] > 1, f"{label}: one interleaving proves nothing"
    assert report["cpus"] == case.cpus
    assert sum(o["executions"] for o in report["outcomes"]) == report["executions"]
    assert (report["violation"] is not None) == bad
    assert (report["failing"] > 0) == bad
    if bad:
        check_schedule(case.name, case.cpus, report["violation"])

    if report["transitions"] > REPEATED:
        return
    again, _ = explorer.run(*args)
    del report["seconds"], again["seconds"]
    assert again == report, f"{label}: two runs differ"


def check_sc(explorer: Explorer, name: str, cpus: int) -> None:
    """Bugs that need store buffers are not found without them; others are."""
    report, _ = explorer.run(name, "--cpus", str(cpus), "--model", "sc")
    bad = name not in NEEDS_BUFFERS
    assert report["verdict"] == ("violation" if bad else "clean"), f"{name} under sc"


def check_bound(explorer: Explorer, name: str, cpus: int) -> None:
    """The shortest schedule is found within its number of preemptions, and not within fewer."""
    report, _ = explorer.run(name, "--cpus", str(cpus))
    needed = report["violation"]["preemptions"]
    within, status = explorer.run(name, "--cpus", str(cpus), "--preemptions", str(needed))
    assert status == 1, f"{name}: not found within {needed} preemptions"
    assert within["violation"]["preemptions"] == needed
    if needed:
        _, status = explorer.run(name, "--cpus", str(cpus), "--preemptions", str(needed - 1))
        assert status == 0, f"{name}: found within {needed - 1} preemptions, {needed} were said"


def check_weak(explorer: Explorer, case: Case) -> None:
    """The verdict under the model 'weak' is right; beyond two CPUs preemptions are bounded."""
    bound = () if case.cpus == 2 else BOUNDED
    report, status = explorer.run(case.name, "--cpus", str(case.cpus), "--model", "weak", *bound)
    label = f"{case.name} {case.cpus}"
    print(f"{label}: {report['verdict']}, {report['states']} states")
    bad = case.bad ^ (case.name in OTHER_WHEN_WEAK)
    assert report["verdict"] == ("violation" if bad else "clean"), f"{label}, weak"
    assert status == (1 if bad else 0)
    assert report["complete"] is True, label


def check_coverage(explorer: Explorer) -> None:
    """The tables contain each case at each number of CPUs, except for litmus tests."""
    tabled = {(case.name, case.cpus) for case in all_cases()}
    for listed in explorer.cases():
        name = listed["name"]
        if listed["kind"].startswith("litmus"):
            continue
        for cpus in range(listed["min_cpus"], listed["max_cpus"] + 1):
            assert (name, cpus) in tabled, f"{name} with {cpus} CPUs is in no test"


def main() -> None:
    """Check one group."""
    explorer, group = Explorer(sys.argv[1]), sys.argv[2]
    if group == "coverage":
        check_coverage(explorer)
        return
    if group == "weak":
        for case in all_cases():
            check_weak(explorer, case)
        return
    cases = [case for case in all_cases() if case.name.split("-")[0] == group]
    assert cases, f"no case in group {group}"
    for case in cases:
        check_case(explorer, case)
    if group == "planted":
        for name, (cpus, _, _) in (PLANTED | NEEDS_BUFFERS).items():
            check_sc(explorer, name, cpus[0])
            check_bound(explorer, name, cpus[0])


if __name__ == "__main__":
    main()
