#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""schedshard-explore on all its cases: verdicts, schedules, and figures that repeat.

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

# name, CPUs, is there a violation, further options. explore_litmus.py runs the litmus tests.
# BOUNDED: for cases with too many interleavings; limits the number of preemptions.
TABLE: list[tuple[str, list[int], bool, tuple[str, ...]]] = [
    ("summary-set-search", [2, 3, 4], False, ()),
    ("summary-realtime", [2, 3, 4], False, ()),
    ("summary-clear-set-search", [2, 3, 4], False, ()),
    ("summary-two-set", [3, 4], False, ()),
    ("summary-two-shards", [2, 3], False, ()),
    ("summary-two-shards", [4], False, BOUNDED),
    ("summary-all-set", [2], False, ()),
    ("summary-all-set", [3], False, BOUNDED),
    ("summary-not-named", [2, 3], False, ()),
    ("summary-search-twice", [2], False, ()),
    ("summary-search-twice", [3], True, ()),
    ("posted-summary-set-search", [2, 3, 4], False, ()),
    ("posted-summary-realtime", [2, 3, 4], False, ()),
    ("posted-summary-clear-set-search", [2, 3, 4], False, ()),
    ("posted-summary-two-set", [3, 4], False, ()),
    ("posted-summary-two-shards", [2, 3], False, ()),
    ("posted-summary-two-shards", [4], False, ("--preemptions", "1")),
    ("posted-summary-all-set", [2], False, ()),
    ("posted-summary-all-set", [3], False, BOUNDED),
    ("posted-summary-not-named", [2, 3], False, ()),
    ("posted-summary-search-twice", [2], False, ()),
    ("posted-summary-search-twice", [3], True, ()),
    ("sbm-claim", [2, 3, 4], False, ()),
    ("sbm-claim-summary", [2, 3, 4], False, ()),
    ("sbm-lock", [2, 3, 4], False, ()),
    ("sbm-neighbours", [2, 3], False, ()),
    ("sbm-walk", [2, 3, 4], False, ()),
    ("sbm-walk-wrap", [2, 3, 4], False, ()),
    ("sbm-walk-and-wrap", [2, 3, 4], False, ()),
    ("sbm-walk-next", [2, 3, 4], False, ()),
    ("sbm-walk-summary", [2, 3, 4], False, ()),
    ("sbm-walk-stale", [2, 3, 4], False, ()),
    ("claim-slots", [2], False, ()),
    ("claim-slots-several", [2, 3], False, ()),
    ("claim-slots-grow", [2], False, ()),
    ("claim-follow", [2, 3], False, ()),
    ("claim-follow-throughout", [2], False, ()),
    ("claim-follow-hands-over", [2], False, ()),
    ("claim-follow-put", [2], False, ()),
    ("claim-slots-hands-over", [2], False, ()),
    ("claim-slots-put", [2, 3], False, ()),
    ("claim-slots-handle", [2, 3], False, ()),
    ("claim-slots-grown", [2], False, ()),
    ("handover-set", [2, 3], False, ()),
    ("handover-clear", [2, 3], False, ()),
    ("handover-count", [2, 3], False, ()),
    ("levels-rise", [2, 3], False, ()),
    ("levels-rise-alone", [2, 3, 4], False, ()),
    ("levels-pull-or-push", [2], False, ()),
    ("levels-leaving", [2], False, ()),
    ("levels-any", [2], False, ()),
    ("levels-grow", [2], False, ()),
    ("levels-ask", [2], False, ()),
    ("levels-further", [2], False, ()),
    ("levels-further-linux", [2], False, ()),
    ("levels-walk", [3], False, ()),
    ("levels-walk-relaxed", [3], False, ()),
    ("walk-linux", [2], False, ()),
    ("walk-start", [2], False, ()),
    ("stock-rise", [2, 3], False, ()),
    ("stock-overload", [2, 3], False, ()),
    ("idle-told-stock", [2, 3], False, ()),
    ("idle-told", [2, 3], False, ()),
    ("idle-enter-stock", [2, 3], False, ()),
    ("idle-enter", [2, 3], False, ()),
    ("idle-stay-stock", [2, 3], False, ()),
    ("idle-enter-flags", [2, 3], False, ()),
    ("idle-stay-flags", [2, 3], False, ()),
    ("counter-is-zero", [3, 4], False, ()),
    ("counter-more-than", [3, 4], False, ()),
    ("counter-increments", [2, 3, 4], False, ()),
    ("counter-attach", [2, 3, 4], False, ()),
    ("counter-attach-one", [3, 4], False, ()),
    ("counter-attach-hand-over", [2, 3, 4], False, ()),
    ("counter-take", [2, 3], False, ()),
    ("counter-take-sum", [3], False, ()),
    ("counter-estimate", [2], False, ()),
    ("counter-add-any", [2, 3, 4], False, ()),
    ("counter-noted", [3], False, ()),
    ("counter-noted-own", [3], False, ()),
    ("plan-publish", [2, 3, 4], False, ()),
    ("wait-one", [2, 3], False, ()),
    ("wait-two", [2], False, ()),
    ("wait-two", [3], False, BOUNDED),
    ("wait-first", [2, 3], False, ()),
    ("wait-grow", [2], False, ()),
    ("wait-together", [3], False, ()),
    ("wait-left", [2], False, ()),
    ("wait-kept", [2], False, ()),
    ("wakeup-sbm", [2, 3, 4], False, ()),
    ("wakeup-sbm-summary", [2, 3, 4], False, ()),
    ("pattern-count-mask", [2, 3, 4], False, ()),
    ("pattern-level-rise", [2, 3, 4], False, ()),
    ("pattern-byte-summary", [2, 3, 4], False, ()),
    ("order-counter-attach", [2], False, ()),
    ("order-counter-noted", [3], False, ()),
    ("planted-wait-look", [2], True, ()),
    ("planted-wait-leave", [3], True, ()),
    ("planted-wait-barrier", [2], True, ()),
    ("planted-wait-ask", [2, 3], True, ()),
    ("planted-wait-pass", [3], True, ()),
    ("planted-counter-add", [2, 3, 4], True, ()),
    ("planted-counter-flag", [3], True, ()),
    ("claim-cache", [2, 3], False, ()),
    ("claim-cache-weak", [2], False, ()),
    ("claim-cache-two", [2], False, ()),
    ("claim-cache-hands-over", [2], False, ()),
    ("claim-cache-freed", [2], False, ()),
    ("planted-cache-barrier", [2], True, ()),
    ("planted-claim-look", [2, 3, 4], True, ()),
    ("planted-handover-set-release", [2, 3], True, ()),
    ("planted-handover-set-acquire", [2, 3], True, ()),
    ("planted-handover-clear-release", [2, 3], True, ()),
    ("planted-handover-clear-acquire", [2, 3], True, ()),
    ("planted-handover-count-release", [2, 3], True, ()),
    ("planted-plan-early", [2, 3], True, ()),
    ("planted-wakeup-waker", [2, 3, 4], True, ()),
    ("planted-wakeup-order", [2, 3, 4], True, ()),
    ("planted-count-mask", [2, 3, 4], True, ()),
    ("planted-level-rise", [2, 3, 4], True, ()),
    ("planted-separate-bits", [3, 4], True, ()),
    ("planted-byte-summary", [2, 3, 4], True, ()),
    ("planted-summary-clean", [2, 3, 4], True, ()),
    ("planted-summary-note", [2, 3, 4], True, ()),
    ("planted-levels-fall", [2], True, ()),
    ("planted-levels-push", [2], True, ()),
    ("planted-levels-leaving", [2], True, ()),
    ("planted-levels-grow", [2], True, ()),
    ("planted-levels-ask", [2], True, ()),
    ("planted-levels-further", [2], True, ()),
    ("planted-walk-linux", [3], True, ()),
    ("planted-walk-linux-visit", [2], True, ()),
    ("planted-walk-start", [2], True, ()),
    ("planted-idle-stay", [2, 3], True, ()),
    ("planted-stock-out-first", [2, 3], True, ()),
    ("planted-stock-count-first", [2, 3], True, ()),
    ("planted-stock-overload", [2, 3], True, ()),
    ("planted-order-counter-release", [2], True, ()),
    ("planted-order-noted-release", [3], True, ()),
]

# The model "weak" gives the opposite verdict. Linux stores the flag after the load without a
# barrier, and only TSO keeps two stores in order. An atomic increment is a barrier only on x86. It
# passes on what its CPU has read only where all CPUs see a store at once.
OTHER_WHEN_WEAK = ["idle-stay-stock", "levels-further-linux", "levels-walk-relaxed"]

# Planted bugs that only occur with store buffers.
NEEDS_BUFFERS = [
    "planted-cache-barrier",
    "planted-wait-barrier",
    "planted-wait-ask",
    "planted-handover-set-release",
    "planted-handover-set-acquire",
    "planted-handover-clear-release",
    "planted-handover-clear-acquire",
    "planted-handover-count-release",
    "planted-wakeup-waker",
    "planted-byte-summary",
    "planted-summary-clean",
    "planted-summary-note",
    "planted-levels-fall",
    "planted-levels-push",
    "planted-levels-leaving",
    "planted-levels-further",
    "planted-idle-stay",
    "planted-order-counter-release",
    "planted-order-noted-release",
]

# A useful schedule of a planted bug contains this file and this message. (In clang's code addr2line
# cannot always distinguish functions that were inlined into each other.)
TELLS = {
    "planted-wait-look": ("shard_wait.c", "lost wake-up"),
    "planted-wait-leave": ("shard_wait.c", "lost wake-up"),
    "planted-wait-barrier": ("shard_wait.c", "lost wake-up"),
    "planted-wait-ask": ("wait.c", "lost wake-up"),
    "planted-wait-pass": ("wait.c", "passed over"),
    "planted-counter-add": ("cpu_counter.h", "an add is lost"),
    "planted-counter-flag": ("cpu_counter.c", "had returned"),
    "planted-cache-barrier": ("claim.c", "two CPUs own"),
    "planted-claim-look": ("claim.c", "two CPUs own"),
    "planted-handover-set-release": ("handover.c", "not visible"),
    "planted-handover-set-acquire": ("handover.c", "not visible"),
    "planted-handover-clear-release": ("handover.c", "not visible"),
    "planted-handover-clear-acquire": ("handover.c", "not visible"),
    "planted-handover-count-release": ("handover.c", "not visible"),
    "planted-wakeup-waker": ("wakeup.c", "lost wake-up"),
    "planted-wakeup-order": ("wakeup.c", "lost wake-up"),
    "planted-count-mask": ("order.c", "the mask is empty"),
    "planted-level-rise": ("order.c", "at no level"),
    "planted-separate-bits": ("bits.c", "found the set empty"),
    "planted-byte-summary": ("bits.c", "empty"),
    "planted-summary-clean": ("shard_summary.c", "empty"),
    "planted-summary-note": ("shard_summary.h", "empty"),
    "planted-levels-fall": ("cpupri.c", "its task waits"),
    "planted-levels-push": ("levels.c", "its task waits"),
    "planted-levels-leaving": ("levels.c", "its task waits"),
    "planted-levels-grow": ("levels.c", "overloaded before"),
    "planted-levels-ask": ("levels.c", "its task waits"),
    "planted-levels-further": ("levels.c", "its task waits"),
    "planted-walk-linux": ("linux_walk.c", "no CPU looked"),
    "planted-walk-linux-visit": ("linux_walk.c", "no CPU looked"),
    "planted-walk-start": ("linux_walk.c", "did not look"),
    "planted-stock-out-first": ("atomics.h", "CPU 0 rose"),
    "planted-stock-count-first": ("atomics.h", "CPU 0 rose"),
    "planted-stock-overload": ("atomics.h", "none is found"),
    "planted-plan-early": ("plan.c", "the plan has no CPUs"),
    "planted-order-counter-release": ("shard_counter.c", "data race"),
    "planted-order-noted-release": ("cpu_counter.c", "misses an add"),
}

STEP_KEYS = {"step", "cpu", "actor", "operation", "function", "source"}


@dataclass
class Explorer:
    """The program under test."""

    path: str

    def run(self, *args: str) -> tuple[dict[str, Any], int]:
        """Run it once; return its JSON and its exit status."""
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


def check_schedule(name: str, violation: dict[str, Any]) -> None:
    """A failing schedule is complete and contains the origin of each step."""
    steps = violation["schedule"]
    assert steps, f"{name}: a violation without a schedule"
    assert [s["step"] for s in steps] == list(range(1, len(steps) + 1))
    for step in steps:
        assert set(step) >= STEP_KEYS, step
        assert step["function"] != "?", f"{name}: step {step} comes from nowhere"
        assert step["operation"] == "fence" or {"object", "size", "value"} <= set(step), step
    if name in TELLS:
        file, message = TELLS[name]
        assert any(s["source"].startswith(f"{file}:") for s in steps), f"{name}: no step in {file}"
        assert message in violation["message"], f"{name}: {violation['message']}"


def check_case(explorer: Explorer, name: str, cpus: int, bad: bool, extra: tuple[str, ...]) -> None:
    """Check one case at one number of CPUs."""
    args = (name, "--cpus", str(cpus), *extra)
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
    assert report["cpus"] == cpus
    assert sum(o["executions"] for o in report["outcomes"]) == report["executions"]
    assert (report["violation"] is not None) == bad
    assert (report["failing"] > 0) == bad
    if bad:
        check_schedule(name, report["violation"])

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


def check_weak(explorer: Explorer, name: str, cpus: int, bad: bool) -> None:
    """The verdict under the model 'weak' is right; beyond two CPUs preemptions are bounded."""
    bound = () if cpus == 2 else BOUNDED
    report, status = explorer.run(name, "--cpus", str(cpus), "--model", "weak", *bound)
    print(f"{name} {cpus}: {report['verdict']}, {report['states']} states")
    bad ^= name in OTHER_WHEN_WEAK
    assert report["verdict"] == ("violation" if bad else "clean"), f"{name} with {cpus} CPUs, weak"
    assert status == (1 if bad else 0)
    assert report["complete"] is True, name


def check_coverage(explorer: Explorer) -> None:
    """The table contains each case at each number of CPUs, except for litmus tests."""
    tabled = {(name, n) for name, cpus, _, _ in TABLE for n in cpus}
    for case in explorer.cases():
        name = case["name"]
        if case["kind"].startswith("litmus"):
            continue
        for cpus in range(case["min_cpus"], case["max_cpus"] + 1):
            assert (name, cpus) in tabled, f"{name} with {cpus} CPUs is in no test"


def main() -> None:
    """Check one group."""
    explorer, group = Explorer(sys.argv[1]), sys.argv[2]
    if group == "coverage":
        check_coverage(explorer)
        return
    if group == "weak":
        for name, cpus, bad, _ in TABLE:
            for n in cpus:
                check_weak(explorer, name, n, bad)
        return
    rows = [row for row in TABLE if row[0].split("-")[0] == group]
    assert rows, f"no case in group {group}"
    for name, cpus, bad, extra in rows:
        for n in cpus:
            check_case(explorer, name, n, bad, extra)
        if name.startswith("planted-"):
            check_sc(explorer, name, cpus[0])
            check_bound(explorer, name, cpus[0])


if __name__ == "__main__":
    main()
