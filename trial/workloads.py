# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines workloads of the scheduler: the distribution's programs with published options, as root.

No prediction stands beside them, because curves.json contains only operations on shared lines.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trial.form import Cpu

# Of a figure: part, unit and value.
Reading = tuple[str, str, float]
EVENTS = "events per second"
_RATE = re.compile(r"\] \w+ +\d+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +([0-9.]+)")
_INVERSIONS = re.compile(r"^Total inversion performed: (\d+)$", re.MULTILINE)
# These figures are percentiles, over one stress-ng process or over all threads of cyclictest.
_PERCENTILES = {"p50": 0.5, "p99": 0.99}


@dataclass(frozen=True)
class Workload:
    """A program. ``argv`` gets CPUs and seconds; ``read`` gets its output and the seconds it took.

    ``again``: the program ends after a fixed amount of work and is repeated for the whole time.
    """

    name: str
    argv: Callable[[Sequence[Cpu], int], Sequence[str]]
    read: Callable[[str, float], Iterator[Reading]]
    again: bool = False
    least_cpus: int = 1

    def missing(self, cpus: Sequence[Cpu]) -> str:
        """Return the workload's program if it is not on the path, or ""."""
        program = self.argv(cpus, 1)[0]
        return "" if shutil.which(program) else program


def _pi_stress(output: str, elapsed: float) -> Iterator[Reading]:
    if counts := _INVERSIONS.findall(output):
        yield "", EVENTS, float(counts[-1]) / elapsed


def _stress(name: str, *words: str) -> Workload:
    def argv(cpus: Sequence[Cpu], seconds: int) -> Sequence[str]:
        few = "-t", str(seconds), "--metrics-brief"
        return "stress-ng", f"--{name}", str(len(cpus)), *words, *few

    def read(output: str, _: float) -> Iterator[Reading]:
        if rates := _RATE.findall(output):
            yield "", EVENTS, float(rates[-1])
        for part, share in _PERCENTILES.items():
            if latency := re.search(rf" {100 * share:.2f}%: +(\d+) ns", output):
                yield part, "us", int(latency[1]) / 1000

    return Workload(f"stress-ng-{name}", argv, read)


def _cyclictest(output: str, _: float) -> Iterator[Reading]:
    """Yield the mean of all threads' mean latency, the longest latency, and percentiles, in us."""
    lines = re.findall(r"^# (?:Histogram )?(\w+)(?: Latencies)?:([ \d]+)$", output, re.MULTILINE)
    by_name = {name: [int(number) for number in numbers.split()] for name, numbers in lines}
    if by_name.get("Avg") and by_name.get("Max"):
        yield "mean", "us", sum(by_name["Avg"]) / len(by_name["Avg"])
        yield "longest", "us", float(max(by_name["Max"]))
    rows = re.findall(r"^(\d{6}) ([\d\t ]+)$", output, re.MULTILINE)
    counts = {int(us): sum(map(int, columns.split())) for us, columns in rows}
    total = sum(counts.values()) + sum(by_name.get("Overflows", ()))
    for part, share in _PERCENTILES.items():
        covered = 0
        for us, count in sorted(counts.items()):
            covered += count
            # No figure if the value lies beyond the histogram.
            if covered >= share * total > 0:
                yield part, "us", us
                break


def _hackbench(*options: str) -> Workload:
    # Forty processes or threads in a group, as by default.
    def argv(cpus: Sequence[Cpu], _: int) -> Sequence[str]:
        return "hackbench", *options, "-g", str(max(1, len(cpus) // 16)), "-l", "20"

    def read(output: str, _: float) -> Iterator[Reading]:
        times = [float(word) for word in re.findall(r"^Time: ([\d.]+)$", output, re.MULTILINE)]
        groups = re.search(r"with (\d+) groups", output)
        if sum(times) and groups:
            # Twenty senders of a group send twenty messages to each of twenty receivers.
            yield "", EVENTS, len(times) * int(groups[1]) * 20**3 / sum(times)

    name = f"hackbench-{'pipes' if '-p' in options else 'sockets'}"
    name += "-threads" if "-T" in options else "-processes"
    return Workload(name, argv, read, again=True)


WORKLOADS = (
    _stress("cyclic", "--cyclic-policy", "fifo"),
    _stress("mutex"),
    _stress("fork"),
    Workload(
        "cyclictest",
        lambda _, seconds: (
            "cyclictest", "-t", "-i200", "-h", "32", "-m", "-q", "-D", str(seconds)
        ),
        _cyclictest,
    ),
    Workload(
        "pi-stress",
        lambda cpus, seconds: (
            "pi_stress", "--quiet", f"--duration={seconds}", f"--groups={max(1, len(cpus) // 2)}"
        ),
        _pi_stress,
    ),
    *(_hackbench(*pipes, *how) for pipes in ((), ("-p",)) for how in ((), ("-T",))),
)  # fmt: skip


def environment() -> Mapping[str, str]:
    """Return the environment of a workload: messages in English, and a path."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
