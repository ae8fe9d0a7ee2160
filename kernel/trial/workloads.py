# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The workloads of the trial, with published options, and how their output is read."""

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from common.errors import check_names
from trial import workloads as plain
from trial.form import Cpu

RATE = "events per second"
Reading = tuple[str, str, float]  # part, unit, value
# As in model/experiments/ffmpeg-rt.toml: CPUs of an instance, and its threads for two CPUs.
_INSTANCE, _THREADS = 8, 3


@dataclass(frozen=True)
class Workload:
    """A program. ``argv`` takes CPUs and seconds; ``read`` the output and the seconds it took.

    ``again``: the program ends after a fixed amount of work and is repeated for the whole time.
    """

    argv: Callable[[Sequence[Cpu], int], Sequence[str]]
    read: Callable[[str, float], Iterator[Reading]]
    again: bool = False
    least_cpus: int = 1


# The figures that are percentiles: of one stress-ng process, or of all threads of cyclictest.
_PERCENTILES = {"p50": 0.5, "p99": 0.99}


def _stress_latency(output: str) -> Iterator[Reading]:
    for part, share in _PERCENTILES.items():
        if found := re.search(rf" {100 * share:.2f}%: +(\d+) ns", output):
            yield part, "us", int(found[1]) / 1000


def _histogram(output: str) -> Iterator[Reading]:
    rows = re.findall(r"^(\d{6}) ([\d\t ]+)$", output, re.MULTILINE)
    counts = {int(us): sum(map(int, columns.split())) for us, columns in rows}
    over = re.search(r"^# Histogram Overflows:((?: \d+)+)", output, re.MULTILINE)
    total = sum(counts.values()) + sum(map(int, over[1].split() if over else ()))
    for part, share in _PERCENTILES.items():
        seen = 0
        for us, count in sorted(counts.items()):
            seen += count
            # No figure if the value lies beyond the histogram.
            if seen >= share * total > 0:
                yield part, "us", us
                break


_MORE = {"stress-ng-cyclic": _stress_latency, "cyclictest": _histogram}


def _plain(of: plain.Workload) -> Workload:
    """Return a workload of trial/workloads.py with more figures."""

    def read(output: str, elapsed: float) -> Iterator[Reading]:
        yield from of.values(output, max(1, round(elapsed)))
        if of.name in _MORE:
            yield from _MORE[of.name](output)

    return Workload(lambda cpus, seconds: of.argv(len(cpus), seconds), read)


def _hackbench(*options: str) -> Workload:
    # Forty processes or threads in a group, as by default.
    def argv(cpus: Sequence[Cpu], _: int) -> Sequence[str]:
        return "hackbench", *options, "-g", str(max(1, len(cpus) // 16)), "-l", "20"

    def read(output: str, _: float) -> Iterator[Reading]:
        times = [float(word) for word in re.findall(r"^Time: ([\d.]+)$", output, re.MULTILINE)]
        groups = re.search(r"with (\d+) groups", output)
        if sum(times) and groups:
            # Twenty senders of a group send twenty messages to each of twenty receivers.
            yield "", RATE, len(times) * int(groups[1]) * 20**3 / sum(times)

    return Workload(argv, read, again=True)


def _near(cpus: Sequence[Cpu]) -> list[int]:
    """Return the CPUs' numbers so that those that share a cache, and then a core, are together."""
    return [c.cpu for c in sorted(cpus, key=lambda c: (c.package, c.node, c.llc, c.core, c.cpu))]


def instances(cpus: Sequence[Cpu], *, straddling: bool = False) -> list[list[int]]:
    """Return the CPUs of each instance of the encoder.

    ``straddling``: all instances lie further on by half an instance, so that some lie on both sides
    of a border of caches.
    """
    near = _near(cpus)
    caches = [sum(c.llc == llc for c in cpus) for llc in {c.llc for c in cpus}]
    size = min(_INSTANCE, *caches, len(near))
    shift = size // 2 if straddling else 0
    near = near[shift:] + near[:shift]
    return [near[at : at + size] for at in range(0, len(near) - size + 1, size)]


def _encode(where: str) -> Workload:
    def argv(cpus: Sequence[Cpu], seconds: int) -> Sequence[str]:
        each = instances(cpus, straddling=where == "straddling")
        lists = [",".join(map(str, one)) for one in each]
        if where == "unpinned":
            lists = [",".join(map(str, _near(cpus)))] * len(each)
        threads = max(2, len(each[0]) * _THREADS // 2)
        return "trial-encode", str(seconds), str(threads), *lists

    def read(output: str, elapsed: float) -> Iterator[Reading]:
        if found := re.search(r"^frames (\d+)$", output, re.MULTILINE):
            yield "", RATE, int(found[1]) / elapsed

    return Workload(argv, read)


_FORKS = 100  # of each kind, of each CPU, at a time
_SLEEP_NS = 1_000_000


def _forks(cpus: Sequence[Cpu], _: int) -> Sequence[str]:
    loops = f"for i in $(seq {len(cpus)}); do cache-work forks {_FORKS} & done"
    script = f"{loops}; wait; echo done {len(cpus)}"
    return "sh", "-c", script


def _read_forks(output: str, elapsed: float) -> Iterator[Reading]:
    # Each loop makes as many processes by fork as by vfork and exec.
    done = sum(map(int, re.findall(r"^done (\d+)$", output, re.MULTILINE)))
    if done:
        yield "", RATE, 2 * _FORKS * done / elapsed


def _push_walk(cpus: Sequence[Cpu], seconds: int) -> Sequence[str]:
    # A thread spins on each CPU but two, and one more waits for each pair of them. So no CPU can
    # take a waiting task, and each sleep of the last thread starts a walk over their queues.
    first, _, *busy = sorted(c.cpu for c in cpus)
    run = f"timeout {seconds + 3} rt-groups"
    pairs = [f"{a}-{b}" for a, b in zip(busy[::2], busy[1::2], strict=False) if b == a + 1]
    script = (
        f"{run} spin {' '.join(map(str, busy))} & sleep 1; {run} spin {' '.join(pairs)} & sleep 1; "
        f"timeout {seconds} rt-groups {_SLEEP_NS} {first}; true"
    )
    return "push-ipi.sh", "0", "sh", "-c", script


def _nothing(_: str, __: float) -> Iterator[Reading]:
    yield from ()


# The workloads of trial/workloads.py but hackbench, which is repeated here: a fixed amount of work
# takes seconds on one machine and an hour on another one.
WORKLOADS: Mapping[str, Workload] = {
    **{
        w.name: _plain(w) for w in plain.WORKLOADS if w.program not in ("hackbench", sys.executable)
    },
    "hackbench-sockets-processes": _hackbench(),
    "hackbench-sockets-threads": _hackbench("-T"),
    "hackbench-pipes-processes": _hackbench("-p"),
    "hackbench-pipes-threads": _hackbench("-T", "-p"),
    "encode-aligned": _encode("aligned"),
    "encode-straddling": _encode("straddling"),
    "encode-unpinned": _encode("unpinned"),
    "forks": Workload(_forks, _read_forks, again=True),
    # The case of the report on RT_PUSH_IPI: docs/results/global-lines.md.
    "push-walk": Workload(_push_walk, _nothing, least_cpus=4),
}


def commands(cpus: Sequence[Cpu], names: Sequence[str], seconds: int) -> Iterator[str]:
    """Yield each workload's command line."""
    for name in names:
        yield f"{name}: {shlex.join(WORKLOADS[name].argv(cpus, seconds))}"


def chosen(cpus: Sequence[Cpu], wanted: Sequence[str] = ()) -> list[str]:
    """Return the names of the wanted workloads that a machine can run, in their order."""
    check_names("workload", wanted, WORKLOADS)
    there = [name for name, each in WORKLOADS.items() if len(cpus) >= each.least_cpus]
    return [name for name in there if not wanted or name in wanted]
