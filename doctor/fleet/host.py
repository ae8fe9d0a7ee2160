# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Keeps only what a fleet's table shows of an archive, so a thousand hosts fit into memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError
from doctor.facts.archive import read_tar
from doctor.facts.facts import Facts, read_facts
from doctor.judge.severity import SEVERITIES
from doctor.judge.verdict import judge
from doctor.predict.prediction import Prediction, Range


@dataclass(frozen=True)
class Found:
    """One finding of a host; ``cost`` is the share of its CPU time, 0 for findings without one."""

    id: str
    severity: str
    summary: str
    cost: float


@dataclass(frozen=True)
class Host:
    """One archive, judged. ``saved`` is the share of its CPU time that partitions would save."""

    file: str
    machine: str
    kernel: str
    release: str
    cpus: int
    status: int
    sentence: str
    wakeups: float
    cost: Range
    saved: float
    findings: tuple[Found, ...]

    @property
    def rank(self) -> tuple[float, int, int, str]:
        """Return a sort key that puts the worst host first."""
        weights = [SEVERITIES.index(finding.severity) for finding in self.findings]
        return -self.cost.value, -max(weights, default=-1), -self.status, self.file


@dataclass(frozen=True)
class Unread:
    """An archive that was refused, and the reason in one line."""

    file: str
    why: str


def machine_of(facts: Facts) -> str:
    """Return a machine's type as text: its processor and the numbers of its CPUs and caches."""
    model = " ".join(facts.settings.get("proc/cpuinfo/model name", "").split())
    model = model or facts.settings.get("proc/cpuinfo/CPU part", "") or "unknown processor"
    guest = f", {facts.hypervisor} guest" if facts.hypervisor is not None else ""
    return f"{model[:60]}, {len(facts.online)} CPUs, {len(facts.llcs)} LLCs{guest[:40]}"


def judged_host(path: str) -> Host | Unread:
    """Read and judge one archive. An archive that cannot be read gives an Unread."""
    try:
        facts = read_facts(read_tar(Path(path)), path)
        verdict = judge(path, facts, [])
    except UserError as error:
        return Unread(path, str(error))
    except (MemoryError, RecursionError) as error:
        return Unread(path, f"{path}: too large to be read ({type(error).__name__})")
    kernel = ".".join(map(str, facts.version[:2]))
    return Host(
        path, machine_of(facts), kernel, facts.release,
        len(facts.online), verdict.status, verdict.sentence,
        sum(load.wakeups for load in verdict.loads), verdict.cost,
        sum(cost.saved for cost in verdict.costs if isinstance(cost, Prediction)),
        tuple(
            Found(finding.entry.id, finding.severity, finding.summary, finding.cost)
            for finding in verdict.findings
        ),
    )  # fmt: skip
