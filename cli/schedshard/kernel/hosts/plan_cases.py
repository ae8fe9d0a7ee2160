# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tries doctor's plans on hosts of several kinds, which guests of one kernel imitate.

Each host takes two boots. In the first the guest collects, and doctor makes the plan here. In the
second the guest applies the plan, verifies it, collects again, undoes it, and compares. A probe
runs after each change. kernel/guest/plan/case.sh is the guest's side.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from pathlib import Path

from schedshard.common.errors import UserError
from schedshard.common.output import write_atomic
from schedshard.doctor.collector.script import script_text
from schedshard.doctor.facts.values import cpu_list
from schedshard.kernel.guest.boot import Booted, BootRequest, Emulator, Limits, Step, boot
from schedshard.kernel.guest.cpio import Entry, plain
from schedshard.kernel.guest.topology import USUAL
from schedshard.kernel.hosts.hosts import said_by, tar_of
from schedshard.kernel.hosts.plan_trial import (
    domains_after,
    in_force,
    judge_phase,
    make_plan,
    missing_domains,
    planned_cpus,
    spans,
    words,
)
from schedshard.kernel.layout import Layout
from schedshard.machines.topo import ranges

COLLECT, TRY = "collect", "try"
_CPUS = 16
_SCRIPTS = ("case.sh", "shared.sh", "probe.sh")
_STEP_SECONDS = 900


@dataclass(frozen=True)
class PlanCase:
    """A host.

    ``boot`` is its boot option, and ``then`` the option that the plan puts in its place.
    """

    what: str
    boot: str = ""
    then: str = ""


# The functions of case.sh. Cases of cgroup v1 come last in their guest.
PLAN_CASES: Mapping[str, PlanCase] = {
    "throttled": PlanCase("three groups of FIFO-99 threads, with throttling"),
    "unthrottled": PlanCase("the same without throttling"),
    "sibling": PlanCase("a partition that is invalid because of a sibling"),
    "pods": PlanCase("pods under cgroup v2"),
    "v1": PlanCase("cgroup v1"),
    "guests": PlanCase(
        "guests with FIFO virtual CPUs, beside pollers",
        "isolcpus=domain,4-15", "isolcpus=domain,4-7",
    ),
}  # fmt: skip


@dataclass
class CaseTried:
    """The result of a host."""

    name: str
    planned: list[str] = field(default_factory=list)  # CPUs of each partition, then the rest
    said: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def probes(self) -> int:
        """Return how many probes ran in time."""
        return sum(line.startswith("probe: in time") for line in self.said)


@dataclass(frozen=True)
class CasesRequest:
    """Which hosts on which kernel."""

    name: str
    image: Path
    cases: Mapping[str, PlanCase]
    slow: int = 1


def _boot(
    layout: Layout, request: CasesRequest, cases: list[str], phase: str, option: str,
    files: Mapping[str, Entry],
) -> Booted:  # fmt: skip
    steps = [Step(name, ("/bin/sh", "/bin/case.sh", name, phase), _STEP_SECONDS) for name in cases]
    wanted = BootRequest(
        kernel=request.image,
        name=f"plans-{request.name}-{phase}{'-isolated' if option else ''}",
        shape=USUAL[_CPUS],
        steps=tuple(steps),
        parameters=("sched_verbose", "loglevel=6", *([option] if option else [])),
        limits=Limits(total=120.0 + _STEP_SECONDS * len(cases)),
        emulator=Emulator(slow=request.slow),
        files=files,
    )
    return boot(layout, wanted)


def scripts(layout: Layout) -> dict[str, Entry]:
    """Return the guest's files without a plan."""
    folder = layout.inputs / "guest" / "plan"
    found = {f"/bin/{name}": plain(folder / name) for name in _SCRIPTS}
    return {**found, "/bin/collect.sh": plain(script_text().encode())}


def _plan_files(name: str, plan: Path) -> dict[str, Entry]:
    return {f"/plans/{name}/{path.name}": plain(path) for path in plan.iterdir() if path.is_file()}


def _plan(folder: Path, tried: CaseTried, case: PlanCase, data: bytes) -> dict[str, Entry]:
    """Return the files of the plan for a collected host; none if the plan is missing or wrong."""
    host, plan = folder / f"{tried.name}.tar.gz", folder / tried.name
    write_atomic(host, data)
    make_plan(host, plan)
    if not plan.is_dir():
        tried.wrong.append("doctor made no plan")
        return {}
    tried.planned = planned_cpus(plan)
    if case.then:
        # CPUs that stay isolated are in no root domain of the plan.
        kept = cpu_list(case.then.partition("domain,")[2])
        tried.planned[-1] = ranges(sorted(cpu_list(tried.planned[-1]) - kept))
    if case.then and case.then not in (plan / "README.txt").read_text(encoding="utf-8"):
        tried.wrong.append(f"the plan does not say {case.then}")
    return _plan_files(tried.name, plan)


def judge(tried: CaseTried, lines: list[str], booted: Booted, host: Path) -> None:
    """Add the errors of the second boot to ``tried``.

    ``lines`` are the guest's output for this host.
    """
    tried.said = words(f"trial: {line}" if "trial: " not in line else line for line in lines)
    tried.wrong += judge_phase(TRY, tried.said, booted.ending)
    if tried.wrong:
        return
    if not tried.probes:
        tried.wrong.append("no probe ran")
    # Output before "begin" is from the time when the plan was in force.
    applied = takewhile(lambda line: line != "begin", tried.said)
    tried.wrong += missing_domains(tried.planned, in_force(spans(applied)))
    try:
        write_atomic(host, tar_of(lines, tried.name))
    except UserError as error:
        tried.wrong.append(str(error))
        return
    seen = domains_after(host)
    if not set(tried.planned) <= set(seen):
        tried.wrong.append(f"doctor sees the root domains {', '.join(seen)} with the plan in force")


def try_cases(
    layout: Layout, request: CasesRequest, on_case: Callable[[CaseTried], None]
) -> list[CaseTried]:
    """Try all hosts, and return the results. Each goes to ``on_case`` when its guest is done."""
    found = []
    with tempfile.TemporaryDirectory(prefix="schedshard-") as name:
        folder = Path(name)
        for _, members in groupby(request.cases.items(), key=lambda each: each[1].boot):
            cases = dict(members)
            first = next(iter(cases.values()))
            tried = {case: CaseTried(case) for case in cases}
            files = scripts(layout)
            began = time.monotonic()
            booted = _boot(layout, request, list(cases), COLLECT, first.boot, files)
            for case, each in tried.items():
                lines = said_by(booted.lines, case)
                try:
                    files |= _plan(folder, each, cases[case], tar_of(lines, case))
                except UserError as error:
                    each.wrong.append(f"{COLLECT}: {error}")
            good = [case for case, each in tried.items() if not each.wrong]
            if good:
                booted = _boot(layout, request, good, TRY, first.then, files)
            for case in good:
                judge(tried[case], said_by(booted.lines, case), booted, folder / "after.tar.gz")
            took = time.monotonic() - began
            for each in tried.values():
                each.seconds = took / len(tried)
                found.append(each)
                on_case(each)
    return found
