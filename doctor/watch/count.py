# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Counts the real-time wake-ups of the whole machine by the kernel's tracepoint sched_wakeup.

/proc shows how often a thread slept, but only for threads that existed at both readings, and not
for those that hidepid hides. The tracepoint counts all of them. perf counts it without writing
anything. Without perf, bpftrace does so in eBPF. Both need privileges. If neither works, the
figures from /proc are used.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

PERF, BPF, PROC = "perf", "bpftrace", "/proc"
# The kernel's priorities of real-time threads are 0 to 98, and that of deadline threads is -1.
_LIMIT = 100
_SLACK_SECONDS = 30


@dataclass(frozen=True)
class Counter:
    """A program that counts for some seconds. ``pattern`` finds the count in its output."""

    name: str
    argv: tuple[str, ...]
    pattern: str


def _perf(program: str, seconds: int) -> Counter:
    event = ("-e", "sched:sched_wakeup", "--filter", f"prio < {_LIMIT}")
    argv = (program, "stat", "-a", "-x", ";", *event, "--", "sleep", str(seconds))
    return Counter(PERF, argv, r"^([0-9]{1,18});[^\n]*sched:sched_wakeup")


def _bpftrace(program: str, seconds: int) -> Counter:
    text = (
        f"tracepoint:sched:sched_wakeup /args->prio < {_LIMIT}/ {{ @rt = count(); }} "
        f"interval:s:{seconds} {{ exit(); }}"
    )
    return Counter(BPF, (program, "-q", "-e", text), r"@rt: ([0-9]{1,18})")


def counters(seconds: int) -> list[Counter]:
    """Return the counters whose program is installed, the cheaper one first."""
    found = []
    for name, make in ((PERF, _perf), (BPF, _bpftrace)):
        program = shutil.which(name)
        if program is not None:
            found.append(make(program, seconds))
    return found


class Counting:
    """Runs a counter in the background. A counter that failed once is not run again."""

    def __init__(self, found: Sequence[Counter], seconds: int) -> None:
        self.left = list(found)
        self.seconds = seconds
        self.child: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the first counter that may work."""
        while self.left and self.child is None:
            try:
                self.child = subprocess.Popen(
                    self.left[0].argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, text=True, errors="replace",
                )  # fmt: skip
            except OSError:
                self.left.pop(0)

    def result(self) -> tuple[str, float | None]:
        """Return the counter's name and the wake-ups per second, or PROC and None if it failed."""
        if self.child is None:
            return PROC, None
        child, self.child = self.child, None
        counter = self.left[0]
        try:
            said, _ = child.communicate(timeout=self.seconds + _SLACK_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            said, _ = child.communicate()
        match = re.search(counter.pattern, said, re.MULTILINE) if child.returncode == 0 else None
        if match is None:
            self.left.pop(0)
            return PROC, None
        return counter.name, int(match[1]) / self.seconds

    def stop(self) -> None:
        """Kill the counter if it still runs."""
        if self.child is not None:
            self.child.kill()
            self.child.communicate()
            self.child = None
