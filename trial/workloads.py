# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Workloads of the scheduler: programs of the distribution, with published options, as root only.

No prediction stands beside them, because curves.json contains only operations on shared lines.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

# Of a figure: part, unit and value.
Values = list[tuple[str, str, float]]
EVENTS = "events per second"
_RATE = re.compile(r"\] \w+ +\d+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +([0-9.]+)")
_TIME = re.compile(r"^Time: ([0-9.]+)$", re.MULTILINE)
_INVERSIONS = re.compile(r"^Total inversion performed: (\d+)$", re.MULTILINE)
_LATENCIES = re.compile(r"^# (Avg|Max) Latencies: ([0-9 ]+)$", re.MULTILINE)
_FORKS = re.compile(r"^forks (\d+)$", re.MULTILINE)
FORK = """
import os, sys, time
end, count = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < end:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    count += 1
print("forks", count)
"""


@dataclass(frozen=True)
class Workload:
    """A program and its options. ``argv`` takes the CPUs and the seconds of a run."""

    name: str
    program: str
    argv: Callable[[int, int], list[str]]
    values: Callable[[str, int], Values]


def _one(pattern: re.Pattern[str], unit: str, per_second: bool = False) -> Callable[..., Values]:
    def values(text: str, seconds: int) -> Values:
        found = pattern.findall(text)
        return [("", unit, float(found[-1]) / (seconds if per_second else 1))] if found else []

    return values


def _cyclictest(text: str, _: int) -> Values:
    """Return the mean of all threads' mean latency, and the longest latency, in us."""
    found = {name: list(map(int, numbers.split())) for name, numbers in _LATENCIES.findall(text)}
    if not found.get("Avg") or not found.get("Max"):
        return []
    mean = sum(found["Avg"]) / len(found["Avg"])
    return [("mean", "us", mean), ("longest", "us", float(max(found["Max"])))]


def _hackbench(*words: str) -> Workload:
    def argv(cpus: int, _: int) -> list[str]:
        return ["hackbench", "-g", str(max(1, cpus // 8)), "-l", "1000", *words]

    name = f"hackbench-{'pipes' if '-p' in words else 'sockets'}"
    return Workload(
        f"{name}-{'threads' if '-T' in words else 'processes'}", "hackbench", argv,
        _one(_TIME, "s"),
    )  # fmt: skip


def _stress(name: str, *words: str) -> Workload:
    def argv(cpus: int, seconds: int) -> list[str]:
        return [
            "stress-ng", f"--{name}", str(cpus), *words, "-t", str(seconds), "--metrics-brief"
        ]  # fmt: skip

    return Workload(f"stress-ng-{name}", "stress-ng", argv, _one(_RATE, EVENTS))


WORKLOADS = (
    _stress("cyclic", "--cyclic-policy", "fifo"),
    _stress("mutex"),
    Workload(
        "cyclictest", "cyclictest",
        lambda _, seconds: [
            "cyclictest", "-t", "-i200", "-h", "32", "-m", "-q", "-D", str(seconds)
        ],
        _cyclictest,
    ),
    Workload(
        "pi-stress", "pi_stress",
        lambda cpus, seconds: [
            "pi_stress", "--quiet", f"--duration={seconds}", f"--groups={max(1, cpus // 2)}"
        ],
        _one(_INVERSIONS, EVENTS, per_second=True),
    ),
    *(_hackbench(*pipes, how) for pipes in (("-p",), ()) for how in ("-T", "-P")),
    Workload(
        "fork", sys.executable,
        lambda _, seconds: [sys.executable, "-I", "-c", FORK, str(seconds)],
        _one(_FORKS, EVENTS, per_second=True),
    ),
)  # fmt: skip


def environment() -> Mapping[str, str]:
    """Return the environment of a workload: messages in English, and a path."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def is_there(workload: Workload) -> bool:
    """Whether the workload's program is on the path."""
    return shutil.which(workload.program) is not None
