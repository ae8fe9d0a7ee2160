# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Recorded accesses, once more: on a machine, as they were or with some bytes moved."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def _watch(job: Job, result: Path) -> str:
    said = ["program", f"machine {job.machine.path.resolve()}"]
    said += [f"cpu {cpu}" for cpu in job.cpus]
    said += [f"node {node.low:#x} {node.high:#x} {node.node}" for node in job.nodes]
    said += [f"pad {low:#x} {high:#x}" for low, high in sorted(job.moved)]
    said.append(f"result {result}")
    return "".join(f"{line}\n" for line in said)


def _one(trace: Path, job: Job) -> dict[str, Any]:
    return replay_trace(trace, lambda result: _watch(job, result))


def replay_all(trace: Path, jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Each job's result, in order; as many at once as there are CPUs."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(lambda job: _one(trace, job), jobs))


def work_cycles(raw: dict[str, Any]) -> float:
    """Cycles in which any CPU worked, including waits for lines."""
    clock = float(raw["machine"]["clock_ghz"])
    return sum(float(entry[2]) for entry in raw["cpu_times"]) / 1000 * clock
