# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage test: runs the matrix of guests for each variant, and judges every test.

A test needs more than the guest's own report to pass. No complaint of the kernel may stand between
the test's lines in the log. The kernel's check of its sharded state must have counted no error. A
planned test without a result line is unfinished, whatever the reason.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from typing import Any

from common.provenance import tool_versions
from kernel.guest.boot import (
    Booted,
    BootRequest,
    Emulation,
    Emulator,
    Ending,
    Limits,
    Step,
    boot,
    kernel_has,
    kernel_image,
)
from kernel.layout import Layout
from kernel.testing.guestlog import Complaint, GuestLog, Section, read_log
from kernel.testing.ktap import Report, Status, Test, parse_ktap
from kernel.testing.plan import GuestPlan

FORMAT = "schedshard-kernel-test-1"
# What init.c prints after a test in which the kernel's check found errors.
_OF_CHECK = "check: "


@dataclass(frozen=True)
class Verdict:
    """The outcome of one test in one guest."""

    name: str
    status: Status
    reason: str = ""
    milliseconds: int | None = None
    checks: int | None = None
    check_errors: int | None = None
    output: tuple[str, ...] = ()
    own: bool = False  # the program itself reported the failure, and nothing else is wrong


@dataclass
class GuestResult:
    """The outcome of one guest, from its log."""

    variant: str
    config: str
    machine: str
    log: str
    ending: str
    seconds: float
    release: str = ""
    boot_seconds: float | None = None
    cpus: int = 0
    llcs: int = 0
    nodes: int = 0
    faults: list[str] = field(default_factory=list)  # of no particular test
    known: list[str] = field(default_factory=list)  # faults of Linux or the emulator that occurred
    kunit: dict[str, int] = field(default_factory=dict)
    kunit_failed: list[str] = field(default_factory=list)
    tests: list[Verdict] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        good = (Status.PASSED, Status.SKIPPED)
        return not (
            self.faults or self.kunit_failed or any(t.status not in good for t in self.tests)
        )

    @property
    def caught(self) -> bool:
        """Whether the kernel's check or a test found an error, as one must in a broken variant."""
        return any(test.check_errors or test.own for test in self.tests)


@dataclass(frozen=True)
class TestRequest:
    """What to run on which kernels."""

    __test__ = False  # not one of pytest's

    variants: tuple[str, ...]
    config: str
    guests: tuple[GuestPlan, ...]
    which: str
    seed: int = 1
    parameters: tuple[str, ...] = ()
    emulation: Emulation = Emulation.SINGLE


def _why(complaints: Sequence[Complaint]) -> str:
    more = f" (and {len(complaints) - 1} more)" if len(complaints) > 1 else ""
    return f"{complaints[0].kind}, line {complaints[0].line}: {complaints[0].text}{more}"


def _how_it_ended(booted: Booted, log: GuestLog) -> str:
    if log.panic:
        return log.panic
    if booted.ending is Ending.SILENT:
        return "the guest stopped printing"
    if booted.ending is Ending.LATE:
        return "the guest ran out of time"
    return "the guest ended early"


def verdict(step: Step, test: Test | None, section: Section | None, ended: str) -> Verdict:
    """Return the outcome of one planned test."""
    if section is None:
        return Verdict(step.name, Status.UNFINISHED, f"not started: {ended}")
    complaints = [complaint for complaint in section.complaints if not complaint.known]
    details = (section.milliseconds, section.checks, section.check_errors, tuple(section.output))
    if test is None:
        reason = _why(complaints) if complaints else ended
        return Verdict(step.name, Status.UNFINISHED, reason, *details)
    if complaints:
        return Verdict(step.name, Status.FAILED, _why(complaints), *details)
    reason = test.reason
    failed = test.status is Status.FAILED
    output = [line for line in section.output if not line.startswith(_OF_CHECK)]
    if failed and output:
        reason = f"{reason}: {output[-1]}" if reason else output[-1]
    if section.check_errors:
        errors = f"the kernel's check found {section.check_errors} errors"
        reason = f"{errors}, {reason}" if failed else errors
        return Verdict(step.name, Status.FAILED, reason, *details)
    return Verdict(step.name, test.status, reason, *details, own=failed)


def _kunit(reports: Sequence[Report]) -> tuple[dict[str, int], list[str]]:
    counts: dict[str, int] = {}
    failed = []
    for report in reports:
        for name, test in report.leaves():
            counts[test.status.value] = counts.get(test.status.value, 0) + 1
            if test.status in (Status.FAILED, Status.UNFINISHED):
                failed.append(f"{name}: {test.status.value}")
        if report.bail:
            failed.append(f"bail out: {report.bail}")
    return counts, failed


def judge(
    variant: str, config: str, plan: GuestPlan, booted: Booted, shown: str, *, suites: bool = False
) -> GuestResult:
    """Return the judgement of a guest's log by its plan.

    ``suites``: our KUnit suites must have run.
    """
    log = read_log(booted.lines)
    reports = parse_ktap(booted.lines)
    # The guest's own report follows the lines about its machine. KUnit's reports precede them.
    first = next((i for i, line in enumerate(booted.lines, 1) if "# guest cpus " in line), None)
    own = [report for report in reports if first is not None and report.line > first]
    kunit = [report for report in reports if first is None or report.line < first]
    counts, failed = _kunit(kunit)
    if suites and not counts and first is not None:
        failed.append("the KUnit suites are built in, but did not run")
    ended = next((report.bail for report in own if report.bail), _how_it_ended(booted, log))
    result = GuestResult(
        variant,
        config,
        plan.shape.name,
        shown,
        booted.ending.value,
        round(booted.seconds, 1),
        log.release,
        log.boot_seconds,
        log.cpus,
        log.llcs,
        log.nodes,
        kunit=counts,
        kunit_failed=failed,
        known=log.known,
    )
    if booted.stale:
        result.known.append(
            "the emulator ran a breakpoint that Linux had taken away; the guest was booted again"
        )
    if before := [complaint for complaint in log.before if not complaint.known]:
        result.faults.append(_why(before))
    if first is None:
        result.faults.append(f"did not boot: {ended}, log {shown}")
    elif log.cpus != plan.shape.cpus:
        result.faults.append(f"the guest has {log.cpus} CPUs online, not {plan.shape.cpus}")
    elif not log.done:
        result.faults.append(f"{ended}, log {shown}")
    tests = {test.name: test for report in own for test in report.tests}
    sections = {section.name: section for section in log.sections}
    for step in plan.steps:
        result.tests.append(verdict(step, tests.get(step.name), sections.get(step.name), ended))
    return result


def run_guest(
    layout: Layout,
    request: TestRequest,
    variant: str,
    plan: GuestPlan,
    on_line: Callable[[str], None],
    stop: threading.Event | None = None,
) -> GuestResult:
    """Boot one guest with its tests, and return its judged result."""
    config = request.config
    image = kernel_image(layout, variant, config)
    objects = image.parents[3]
    name = f"test-{variant}-{objects.name.removeprefix('build-')}-{plan.shape.name}"
    booted = boot(
        layout,
        BootRequest(
            kernel=image,
            name=name,
            shape=plan.shape,
            parts=plan.parts,
            steps=plan.steps,
            parameters=request.parameters,
            emulator=Emulator(request.emulation, extra_mb=plan.extra_mb),
            limits=Limits(total=plan.total),
        ),
        on_line,
        stop,
    )
    built_in = kernel_has(layout, variant, config, "CONFIG_SCHED_CPUPRI_KUNIT_TEST")
    suites = built_in and "kunit.enable=0" not in request.parameters
    return judge(variant, config, plan, booted, layout.shown(booted.log), suites=suites)


def run_matrix(
    layout: Layout, request: TestRequest, on_line: Callable[[str], None]
) -> list[GuestResult]:
    """Run every guest with every variant. Results are in order of the machines, then the variants.

    A guest whose CPUs share one thread of the host leaves the host's other CPUs to other guests.
    """
    single = request.emulation is Emulation.SINGLE
    workers = (os.cpu_count() or 1) if single else 1
    stop = threading.Event()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        futures = [
            pool.submit(run_guest, layout, request, variant, plan, on_line, stop)
            for plan in request.guests
            for variant in request.variants
        ]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            return [future.result() for future in futures if future.done()]
        finally:
            # After Ctrl-C, or after a guest that could not run at all, end the others.
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def as_data(request: TestRequest, results: Sequence[GuestResult]) -> dict[str, Any]:
    """Return the results in the form in which they are saved."""

    def plain(result: GuestResult) -> dict[str, Any]:
        data = asdict(result)
        for test in data["tests"]:
            test["status"] = test["status"].value
            test["output"] = list(test["output"])
        return data | {"passed": result.passed}

    return {
        "format": FORMAT,
        "set": request.which,
        "config": request.config,
        "seed": request.seed,
        "emulation": request.emulation.value,
        "passed": all(result.passed for result in results),
        "guests": [plain(result) for result in results],
        "provenance": tool_versions(),
    }
