# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command record."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cli.commands.options import PLACEMENT, gathered, number_option, target_option
from cli.commands.record.gate import GateOptions, gate_options
from cli.commands.record.guest import GuestOptions, guest_options
from cli.commands.record.outputs import MACHINES, Outputs, check_uncertainty, report_options
from common.errors import UserError, ending_with
from record.program.window import Window

if TYPE_CHECKING:
    from model.results.c2c import Recorded
    from record.gate.gate import Gate


@dataclass(frozen=True)
class _ExactOptions:
    """A run on the machine's own clock."""

    exact: bool
    seed: int
    seeds: int | None

    def check(self, ctx: click.Context) -> None:
        """Raise a UserError for an option that --exact excludes, or that needs it."""
        if not self.exact:
            if self.seeds is not None:
                raise UserError("--seeds needs --exact: add it")
            return
        if excluded := _given(ctx, _OF_EMULATOR):
            raise UserError(f"{excluded} cannot be used with --exact; leave it out")


_OF_GUEST = tuple(field.name for field in fields(GuestOptions))
# The parameters that --exact excludes: those of the emulator and of guests.
_OF_EMULATOR = (
    "runs",
    "trace",
    "follow",
    "guest",
    *(field.name for field in fields(Window)),
    *_OF_GUEST,
)


def _given(ctx: click.Context, names: Sequence[str]) -> str | None:
    """Return the first option of these parameters that the command line contains, or None."""
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if name in names and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            return parameter.opts[0]
    return None


@click.command(
    "program", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False}
)
@MACHINES
@PLACEMENT
@number_option("--cpus", help="Use the first N CPUs [all].")
@click.option(
    "--after",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Start recording after SECONDS.",
)
@click.option(
    "--for", "lasts", type=click.FloatRange(min=0.01), metavar="SECONDS", help="Record for SECONDS."
)
@click.option("--marks", is_flag=True, help="Record only between the marks in the program.")
@target_option("--trace", help="Save the recorded accesses for 'record replay'.")
@click.option("--stacks", is_flag=True, help="Show the call stacks of the accesses to each line.")
@click.option("--follow", is_flag=True, help="Also record the processes that PROGRAM starts.")
@click.option(
    "--guest", is_flag=True, help="Run PROGRAM in a guest kernel, and also show the kernel's lines."
)
@click.option(
    "--exact",
    is_flag=True,
    help="Run PROGRAM, compiled with 'schedshard cc', on the simulated machine's own clock.",
)
@number_option("--seed", default=1, help="With --exact: the seed for the order of threads.")
@number_option("--seeds", low=2, help="With --exact: give intervals over N seeds.")
@number_option("--ops", help="PROGRAM does N operations: report ns per operation, too.")
@number_option(
    "--runs", high=1000, help="Run PROGRAM N times, for a gate's intervals [1; with a gate 5]."
)
@click.option(
    "--apply-check",
    metavar="BUILD",
    help="Make the advised edit in a copy of this folder, build there with this command, record "
    "again, and compare.",
)
@gate_options
@guest_options
@report_options
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@gathered(Window, "window")
@gathered(_ExactOptions, "exactly")
@click.pass_context
def record_command(
    ctx: click.Context,
    /,
    machines: tuple[str, ...],
    cpus: int | None,
    trace: Path | None,
    guest: bool,
    runs: int | None,
    apply_check: str | None,
    window: Window,
    exactly: _ExactOptions,
    kernel: GuestOptions,
    gate: GateOptions,
    outputs: Outputs,
    **options: Any,
) -> None:
    """Run PROGRAM, and show on which cache lines its threads contend, for each machine.

    Each thread runs on a CPU of the machine, in order of creation. PROGRAM keeps its input, output
    and exit status; the report goes to standard error. With --json the report goes to standard
    output, and the program's output to standard error.

    With --guest PROGRAM runs in a guest kernel with the libraries that it needs. It has no input,
    and sees only those of this host's files that --guest-file names. The report also shows the
    kernel's lines.
    """
    from record.record import RecordRequest, record

    check_uncertainty(options["uncertainty"])
    exactly.check(ctx)
    recorder = "exact" if exactly.exact else "guest" if guest else "emulator"
    closing = gate.gate(recorder, outputs.out)
    if guest:
        _check_guest(ctx, options)
    elif of_guest := _given(ctx, _OF_GUEST):
        raise UserError(f"{of_guest} needs a guest: add --guest")
    check = _Check(ctx, apply_check, options) if apply_check is not None else None
    common = {
        "machines": machines,
        "cpus": cpus,
        "output_to_stderr": outputs.as_json,
        **options,
    }
    asked = kernel.request(machines[0], cpus) if guest else None
    below: list[str] = []

    def once(trace: Path | None, **changed: Any) -> Recorded:
        with tempfile.TemporaryDirectory(prefix="schedshard-") as folder:
            if exactly.exact:
                return _record_exact(
                    Path(folder), exactly, {**common, "measured": below, **changed}
                )
            own = {**common, "window": window, "guest": asked, "runs": runs or gate.runs, **changed}
            request = RecordRequest(**own)
            return record(request, trace or Path(folder) / "trace", Path(folder), keep=bool(trace))

    report = once(trace)
    _deliver(report, outputs, gate, closing, below)
    if check is not None:
        check(report, once)


class _Check:
    """Compares what the advice promises with the program in which its edit was made."""

    def __init__(self, ctx: click.Context, build: str, options: dict[str, Any]) -> None:
        from record.apply import check_path

        given = _given(ctx, ("guest", "advise", "follow"))
        if given is not None and not (given == "--advice" and options["advise"]):
            what = "--no-advice" if given == "--advice" else given
            raise UserError(f"{what} cannot be used with --apply-check; leave it out")
        self._build, self._words = build, options["program"]
        self._program = check_path(self._words[0]) if self._words else Path()

    def __call__(self, report: Recorded, once: Callable[..., Recorded]) -> None:
        """Make the edit, record again, and print both gains."""
        from record.apply import apply_check

        def again(program: Path) -> Recorded:
            words = (str(program), *self._words[1:])
            return once(None, program=words, advise=False, uncertainty=0, output_to_stderr=True)

        print(apply_check(report, self._program, self._build, again), file=sys.stderr)


def _record_exact(folder: Path, asked: _ExactOptions, common: dict[str, Any]) -> Recorded:
    from record.exact.record import ExactRequest, record_exact

    shared = {name: value for name, value in common.items() if name not in _OF_EMULATOR}
    request = ExactRequest(seed=asked.seed, seeds=asked.seeds or 0, **shared)
    return record_exact(request, folder)


def _deliver(
    report: Recorded, to: Outputs, asked: GateOptions, closing: Gate | None, below: list[str]
) -> None:
    """Output the report, and the lines that stand ``below`` it.

    Exit with the program's status, or with the gate's if that is 0.
    """
    # If a requested run failed, the program counts as failed.
    status = report.program.status or int(report.program.failed)
    with ending_with(status):
        if to.as_json:
            to.give(report)
        else:
            to.give_to_stderr(report)
            print("".join(f"{line}\n" for line in below), end="", file=sys.stderr)
        if status and closing is not None:
            closing.not_judged(report)
    if not status:
        asked.update(report)
        if closing is not None:
            status = closing.closes(closing.judge(lambda: report, "this recording"))
    if status:
        raise click.exceptions.Exit(status)


def _check_guest(ctx: click.Context, options: dict[str, Any]) -> None:
    """Raise a UserError for an option that --guest excludes."""
    if options["stacks"]:
        raise UserError("--stacks: call stacks cannot be recorded in a guest; leave it out")
    if ctx.get_parameter_source("placement") is ParameterSource.COMMANDLINE:
        raise UserError("--placement: in a guest the kernel places threads; leave it out")
    if options["follow"]:
        raise UserError("--follow: a guest's processes are all recorded; leave it out")
