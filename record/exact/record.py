# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage of 'record --exact': runs the program on each machine, and reports its lines."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from common.errors import UserError
from common.progress import working
from common.provenance import sha256_file
from model.machines.presets import Machine, load_machine
from model.results.c2c import Recorded as Report
from record.exact.away import away, in_source_form, measured, sentences
from record.exact.ends import turns
from record.exact.run import INTERRUPTS, AnotherEndError, Runs, check_exact
from record.program.machine_view import cpus_in_order, room_for_views
from record.program.program import find_program
from record.report.replaying import Job
from record.report.report import Recorded, Wanted, make_report


@dataclass(frozen=True)
class ExactRequest:
    """The arguments of the command: what to run, where, and what to show."""

    program: tuple[str, ...]
    machines: tuple[str, ...]
    placement: str
    cpus: int | None
    seed: int
    seeds: int
    lines: int
    advise: bool
    output_to_stderr: bool
    uncertainty: int | None
    stacks: bool = False
    ops: int | None = None
    measured: list[str] = field(default_factory=list)  # on this host: below the report


def record_exact(request: ExactRequest, folder: Path) -> Report:
    """Run the program, again for advice and intervals, and return the report."""
    with room_for_views(folder) as views:
        return _record_with(request, folder, views)


def _report(
    request: ExactRequest, recorded: Recorded, runs: Runs, machines: Sequence[Machine]
) -> Report:
    with working("running the program on each machine, and naming its lines", silent=True):
        wanted = Wanted(
            request.lines, request.advise, request.uncertainty or 0, request.seed, request.seeds,
            recorder="exact",
        )  # fmt: skip
        return make_report(recorded, runs, machines, wanted)


def _without(
    note: str, request: ExactRequest, recorded: Recorded, runs: Runs, machines: Sequence[Machine]
) -> Report:
    report = _report(request, recorded, runs, machines)
    report.notes = [text for text in report.notes if not text.startswith("no intervals")]
    report.notes.append(note)
    return report


def _reported(
    request: ExactRequest, recorded: Recorded, runs: Runs, machines: Sequence[Machine]
) -> Report:
    """Return the report. If further runs end differently from the first, leave out their results.

    Runs for advice may disturb each other. But if a requested run ends differently, or a run had
    to be stopped, the program counts as failed, and ``stopped`` in the report says why.
    """
    try:
        return _report(request, recorded, runs, machines)
    except AnotherEndError as other:
        error = other
    if request.advise and not error.deadlock:
        request = replace(request, advise=False)
        try:
            return _without(f"{error}; so there is no advice", request, recorded, runs, machines)
        except AnotherEndError as other:
            error = other
    alone = replace(request, advise=False, uncertainty=None, seeds=0)
    note = f"{error}; so this is one run, without advice and intervals"
    report = _without(note, alone, recorded, runs, machines[:1])
    report.program.stopped = str(error)
    return report


def _record_with(request: ExactRequest, folder: Path, views: Path) -> Report:
    machines = tuple(load_machine(name) for name in request.machines)
    orders = [cpus_in_order(machine, request.placement) for machine in machines]
    program = find_program(request.program)
    check_exact(program)
    for machine, cpus in zip(machines, orders, strict=True):
        if request.cpus is not None and request.cpus > len(cpus):
            raise UserError(f"--cpus {request.cpus}: {machine.name} has {len(cpus)} CPUs")
    count = request.cpus or min(map(len, orders))
    runs = Runs(program, folder, views, request.output_to_stderr, request.stacks)
    ran = runs.begin(Job(machines[0], tuple(orders[0][:count]), seed=request.seed))
    if ran.signal in INTERRUPTS:
        machines = machines[:1]
        request = replace(request, advise=False, uncertainty=None, seeds=0)
    recorded = Recorded(
        words=program.words, status=ran.status, signal=ran.signal, placement=request.placement,
        cpus=count, operations=request.ops or 0, partial=False,
        program_sha256=sha256_file(program.path), path=str(program.path), dynamic=True,
        debug=program.debug, compiler=program.compiler, flags=program.flags, meta=ran.meta,
        stepping=ran.raw.stepping,
    )  # fmt: skip
    report = _reported(request, recorded, runs, machines)
    busy_ns = ran.raw.model.busy_ns
    callees = in_source_form(runs.callees)
    outside = away(callees, ran.meta, busy_ns)
    report.recording.outside = outside
    report.notes += sentences(outside)
    if outside.calls and not request.output_to_stderr:
        request.measured.append(measured(callees, ran.meta, outside, busy_ns))
    forced = turns(ran.meta)
    if forced is not None:
        report.notes.append(forced)
    if ran.signal in INTERRUPTS:
        report.notes.append(f"{ran.signal} ended the program: this is one run, on one machine")
    waited = ran.raw.stepping.waited_outside
    if waited:
        calls = "call" if waited == 1 else "calls"
        report.notes.append(
            f"{waited:,} {calls} waited for files or processes: runs are equal only if no other "
            "program uses these"
        )
    return report
