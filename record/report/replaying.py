# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Replays a recording on a machine, as it was or with some bytes moved."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from common.provenance import sha256_file
from model.machines.presets import Machine
from model.results.raw import Run
from record.lines.replay_tool import replay_trace
from record.watch import Node, one_line

Range = tuple[int, int]
# A limit that both recorders have.
WINDOW = "figures count from the start of the second thread"

_PLACES = 1 << 48


@dataclass(frozen=True)
class Job:
    """A replay: the machine, its CPUs in the order of the recording's, and the bytes moved."""

    machine: Machine
    cpus: tuple[int, ...]
    moved: tuple[Range, ...] = ()
    nodes: tuple[Node, ...] = ()  # for a guest, where physical addresses identify memory
    seed: int = 1  # for a program that runs again


class Source(Protocol):
    """What a job runs: a trace that is replayed, or a program that runs again."""

    def all(self, jobs: Sequence[Job]) -> list[Run]:
        """Return each job's result, in order."""

    @property
    def limits(self) -> Sequence[str]:
        """The limits of these results, which every report lists."""

    @property
    def intervals_by(self) -> str:
        """The option that gives intervals, and what it does."""

    @property
    def provenance(self) -> Mapping[str, str]:
        """The digests of what the results were made from."""


def watch_lines(job: Job, result: Path) -> str:
    """Return the text of a job's watch file (record/plugin/watch.h)."""
    lines = ["program", f"machine {one_line(job.machine.flat)}"]
    lines += [f"cpu {cpu}" for cpu in job.cpus]
    lines += [f"node {node.low:#x} {node.high:#x} {node.node}" for node in job.nodes]
    # The recorder keeps the lower 48 bits of a kernel's addresses (record/plugin/item.h).
    moved = sorted((low % _PLACES, high % _PLACES) for low, high in job.moved)
    lines += [f"pad {low:#x} {high:#x}" for low, high in moved]
    lines.append(f"result {one_line(result)}")
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True)
class Trace:
    """A recording's trace. It replays as many jobs at once as there are CPUs."""

    path: Path
    limits: Sequence[str]

    def _result_of(self, job: Job) -> Run:
        return replay_trace(self.path, lambda result: watch_lines(job, result))

    def all(self, jobs: Sequence[Job]) -> list[Run]:
        """Return each job's result, in order."""
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return list(pool.map(self._result_of, jobs))

    @property
    def intervals_by(self) -> str:
        """The option that gives intervals: replays of the trace."""
        return "give --uncertainty 20 or more to replay the trace with samples"

    @property
    def provenance(self) -> Mapping[str, str]:
        """The trace's digest."""
        return {"trace_sha256": sha256_file(self.path)}
