# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage record: runs a program in the emulator, then replays its accesses on each machine."""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from common.errors import UserError, ending_with
from common.output import to_json, write_atomic
from common.progress import working
from common.provenance import sha256_file
from model.machines.presets import Machine, load_machine
from model.results.c2c import Recorded as Report
from model.results.raw import RecordedRun
from record.program.emulate import emulate
from record.program.machine_view import cpus_in_order
from record.program.program import Program, advice_at_start, find_emulator, find_program
from record.program.window import Window
from record.report.replaying import Trace
from record.report.report import LIMITS, Recorded, Wanted, make_report
from record.trace import names_path, new_trace


@dataclass(frozen=True)
class Guested:
    """The results of a program's run in a guest."""

    out: bytes
    err: bytes
    status: int  # as a shell reports it
    signal: str | None  # that ended the program
    raw: RecordedRun
    meta: dict[str, Any]


class Guest(Protocol):
    """A guest kernel in which a program can run (kernel/profile/program.py)."""

    @property
    def name(self) -> str:
        """Return the kernel's name."""
        ...

    @property
    def cpus(self) -> int:
        """Return the number of its CPUs."""
        ...

    def check(self, machines: Sequence[Machine]) -> None:
        """Raise a UserError if a machine has no CPUs that those of the guest can stand for."""
        ...

    def run(
        self, program: Program, machine: Machine, trace: Path, folder: Path, *,
        window: Window,
    ) -> Guested:  # fmt: skip
        """Boot the guest, run the program, and return the results."""
        ...


@dataclass(frozen=True)
class RecordRequest:
    """What to record, on which machines, and what to report."""

    program: tuple[str, ...]
    machines: tuple[str, ...]
    placement: str
    cpus: int | None
    window: Window
    follow: bool
    lines: int
    advise: bool
    output_to_stderr: bool
    uncertainty: int | None = None
    guest: Guest | None = None
    runs: int = 1
    stacks: bool = False
    ops: int | None = None


def record(request: RecordRequest, trace: Path, folder: Path, *, keep: bool) -> Report:
    """Record a program, replay it on each machine, and return the report.

    ``keep``: also write the file of names beside the trace. ``request.runs``: report the first run,
    with the figures of all. ``request.ops``: the operations of a run, if the program does not mark
    them.
    """
    report = _record_one(request, trace, folder, keep)
    for _ in range(1, request.runs):
        if report.program.status:  # a run that fails ends the series
            break
        repeat = _in_a_folder(replace(request, advise=False, uncertainty=0))
        for variant, more in zip(report.variants, repeat.variants, strict=True):
            variant.runs += more.runs
        report.program = repeat.program
        report.partial = report.partial or repeat.partial
    return report


def _in_a_folder(request: RecordRequest) -> Report:
    """Record in a new folder, not inside another: a program that changes its user must reach it."""
    with tempfile.TemporaryDirectory(prefix="schedshard-") as own:
        return _record_one(request, Path(own) / "trace", Path(own), keep=False)


def _record_one(request: RecordRequest, trace: Path, folder: Path, keep: bool) -> Report:
    machines = tuple(load_machine(name) for name in request.machines)
    if request.guest is not None:
        return _record_in_guest(request, request.guest, machines, trace, folder, keep)
    orders = [cpus_in_order(machine, request.placement) for machine in machines]
    program = find_program(request.program)
    find_emulator()
    advice = advice_at_start(program)
    if advice is not None:
        print(f"schedshard: {advice}", file=sys.stderr)
    count = min(map(len, orders))
    if request.cpus is not None and request.cpus > count:
        smallest = min(zip(orders, machines, strict=True), key=lambda pair: len(pair[0]))[1]
        raise UserError(f"--cpus {request.cpus}: {smallest.name} has {count} CPUs")
    cpus = orders[0][: request.cpus or count]
    with new_trace(trace, keep) as new:
        done = emulate(
            program, machines[0], cpus, new, folder, window=request.window, follow=request.follow,
            stacks=request.stacks, output_to_stderr=request.output_to_stderr,
        )  # fmt: skip
        if done.raw is None:
            what = "it reached no mark" if request.window.marks else "it ended before --after"
            raise UserError(f"nothing of {program.path.name} was recorded: {what}", status=1)
    return _report(
        request, machines, trace, keep, program, done.raw, done.meta,
        words=program.words, status=done.status, signal=done.signal,
        placement=request.placement, cpus=len(cpus),
    )  # fmt: skip


def _report(
    request: RecordRequest, machines: tuple[Machine, ...], trace: Path, keep: bool,
    program: Program, raw: RecordedRun, meta: dict[str, Any], **ended: Any,
) -> Report:  # fmt: skip
    """Return a recording's report. ``ended``: the fields of Recorded that differ for a guest."""
    recorded = Recorded(
        operations=request.ops or raw.operations, partial=raw.partial,
        program_sha256=sha256_file(program.path), path=str(program.path), dynamic=program.dynamic,
        debug=program.debug, compiler=program.compiler, flags=program.flags, meta=meta,
        stepping=raw.stepping, **ended,
    )  # fmt: skip
    with (
        ending_with(recorded.status),
        working("running the accesses on each machine, and naming their lines", silent=True),
    ):
        if keep:
            write_atomic(names_path(trace), to_json(recorded.to_data()))
        source = Trace(trace, LIMITS)
        wanted = Wanted(request.lines, request.advise, request.uncertainty)
        try:
            return make_report(recorded, source, machines, wanted)
        except KeyboardInterrupt:
            print("schedshard: the report is without advice and intervals", file=sys.stderr)
            return make_report(recorded, source, machines, Wanted(request.lines, False, 0))


def _record_in_guest(
    request: RecordRequest, guest: Guest, machines: tuple[Machine, ...], trace: Path, folder: Path,
    keep: bool,
) -> Report:  # fmt: skip
    """Record the program inside a booted kernel, and print its output."""
    program = find_program(request.program)
    guest.check(machines)
    with new_trace(trace, keep) as new:
        done = guest.run(
            program, machines[0], new, folder,
            window=request.window,
        )  # fmt: skip
    out = sys.stderr if request.output_to_stderr else sys.stdout
    out.buffer.write(done.out)
    out.flush()
    sys.stderr.buffer.write(done.err)
    sys.stderr.flush()
    return _report(
        request, machines, trace, keep, program, done.raw, done.meta,
        words=f"{program.words}, in a guest of {guest.name}",
        status=done.status, signal=done.signal, placement="guest", cpus=guest.cpus,
    )  # fmt: skip
