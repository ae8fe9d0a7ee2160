# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the workloads of the trial, with published options, and reads their output."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from common.errors import check_names
from trial import workloads as plain
from trial.form import Cpu
from trial.workloads import EVENTS, Reading, Workload

# As in model/experiments/ffmpeg-rt.toml: CPUs of an instance, and its threads for two CPUs.
_INSTANCE, _THREADS = 8, 3


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
        groups = instances(cpus, straddling=where == "straddling")
        lists = [",".join(map(str, group)) for group in groups]
        if where == "unpinned":
            lists = [",".join(map(str, _near(cpus)))] * len(groups)
        threads = max(2, len(groups[0]) * _THREADS // 2)
        return "trial-encode", str(seconds), str(threads), *lists

    def read(output: str, elapsed: float) -> Iterator[Reading]:
        if match := re.search(r"^frames (\d+)$", output, re.MULTILINE):
            yield "", EVENTS, int(match[1]) / elapsed

    return Workload(f"encode-{where}", argv, read)


_SLEEP_NS = 1_000_000


def _push_walk(cpus: Sequence[Cpu], seconds: int) -> Sequence[str]:
    # A thread spins on each CPU but two, and another thread waits for each pair of these CPUs. No
    # CPU can take such a thread, so each sleep of the last thread starts a walk over their queues.
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


_ALL = (
    *plain.WORKLOADS,
    *map(_encode, ("aligned", "straddling", "unpinned")),
    # The case of the report on RT_PUSH_IPI: docs/results/global-lines.md.
    Workload("push-walk", _push_walk, _nothing, least_cpus=4),
)
WORKLOADS: Mapping[str, Workload] = {workload.name: workload for workload in _ALL}


def commands(cpus: Sequence[Cpu], names: Sequence[str], seconds: int) -> Iterator[str]:
    """Yield each workload's command line."""
    for name in names:
        yield f"{name}: {shlex.join(WORKLOADS[name].argv(cpus, seconds))}"


def chosen(cpus: Sequence[Cpu], wanted: Sequence[str] = ()) -> list[str]:
    """Return the names of the wanted workloads that a machine can run, in their order."""
    check_names("workload", wanted, WORKLOADS)
    names = [name for name, workload in WORKLOADS.items() if len(cpus) >= workload.least_cpus]
    return [name for name in names if not wanted or name in wanted]
