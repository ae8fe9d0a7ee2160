# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What was recorded, once more: on a machine, as it was or with some bytes moved."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from schedshard.common.provenance import sha256_file
from schedshard.kernel.probe.watch import Node
from schedshard.lines.replay_tool import replay_trace
from schedshard.machines.presets import Machine

Range = tuple[int, int]


@dataclass(frozen=True)
class Job:
    """A machine, the CPUs on which the threads were, and the bytes that lie elsewhere."""

    machine: Machine
    cpus: tuple[int, ...]
    moved: tuple[Range, ...] = ()
    nodes: tuple[Node, ...] = ()  # of a guest, where physical addresses identify memory
    seed: int = 1  # of a program that runs again
    # Lines that begin so many bytes earlier, and their size; with accesses beside shared lines.
    lines: tuple[int, int] | None = None


class Source(Protocol):
    """What happens on a machine: a trace, replayed, or a program that runs again."""

    def all(self, jobs: Sequence[Job]) -> list[dict[str, Any]]:
        """Each job's result, in order."""

    @property
    def limits(self) -> Sequence[str]:
        """What every report says of these results."""

    @property
    def intervals_by(self) -> str:
        """The option that gives intervals, and what it does."""

    @property
    def provenance(self) -> Mapping[str, str]:
        """What the results were made of."""


def watch_lines(job: Job, result: Path, part: Range | None = None) -> str:
    """The watch file of a job (plugin/watch.h)."""
    said = ["program", f"machine {job.machine.path.resolve()}"]
    said += [f"cpu {cpu}" for cpu in job.cpus]
    said += [f"node {node.low:#x} {node.high:#x} {node.node}" for node in job.nodes]
    said += [f"pad {low:#x} {high:#x}" for low, high in sorted(job.moved)]
    if job.lines is not None:
        said.append("lines {} {}".format(*job.lines))
    if part is not None:
        said.append("part {} {}".format(*part))
    said.append(f"result {result}")
    return "".join(f"{line}\n" for line in said)


@dataclass(frozen=True)
class Trace:
    """A recording's trace, replayed; as many jobs at once as there are CPUs."""

    path: Path
    limits: Sequence[str]
    part: Range | None = None  # instructions of all CPUs together; None: all

    def _one(self, job: Job) -> dict[str, Any]:
        return replay_trace(self.path, lambda result: watch_lines(job, result, self.part))

    def all(self, jobs: Sequence[Job]) -> list[dict[str, Any]]:
        """Each job's result, in order."""
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return list(pool.map(self._one, jobs))

    @property
    def intervals_by(self) -> str:
        """Replays are cheap."""
        return "--uncertainty 20 or more replays the trace"

    @property
    def provenance(self) -> Mapping[str, str]:
        """The trace's digest."""
        return {"trace_sha256": sha256_file(self.path)}


def work_cycles(raw: dict[str, Any]) -> float:
    """Cycles in which any CPU worked, including waits for lines."""
    clock = float(raw["machine"]["clock_ghz"])
    return sum(float(entry[2]) for entry in raw["cpu_times"]) / 1000 * clock
