# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The commands c2c record and c2c replay."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from rich.console import Console

from schedshard.commands.c2c.gate import Asked, gate_options
from schedshard.commands.options import (
    BZIMAGE,
    JSON,
    OUT,
    PARAMETERS,
    PLACEMENT,
    Verb,
    deliver,
    many_option,
    number_option,
    path_option,
    target_option,
    with_options,
)
from schedshard.common.errors import UserError, ending_with
from schedshard.common.output import read_json, to_json, write_atomic
from schedshard.common.paths import typed

if TYPE_CHECKING:
    from schedshard.c2c.gate.gate import Gate
    from schedshard.c2c.program.guest import GuestRequest
    from schedshard.results.c2c import Recorded

# The parameters that need --guest, with the option to name in the error.
_OF_GUEST = {
    "variant": "--variant",
    "vmlinux": "--vmlinux",
    "bzimage": "--bzimage",
    "parameters": "--append",
    "files": "--guest-file",
}
_MACHINES = many_option("--machine", "machines", metavar="M", help="Repeatable.", required=True)
_REPORT = (
    number_option("--lines", default=10),
    click.option(
        "--advice/--no-advice",
        "advise",
        default=True,
        help="Predict what separate lines for falsely shared objects gain.",
    ),
    click.option(
        "--steady",
        is_flag=True,
        help="Report only the part of the run in which the cost of shared lines is steady.",
    ),
    number_option(
        "--uncertainty",
        low=0,
        help="Replay with N samples of the machine's uncertain numbers, for 90% intervals; 0: none "
        "[20, or none if more than 100,000 accesses were recorded].",
    ),
    target_option("--html", help="Also write an HTML page."),
    target_option(
        "--flamegraph",
        help="Write the cycles of waiting as folded stacks for flamegraph.pl, inferno or "
        "speedscope.",
    ),
    JSON,
    OUT,
)


def _report_options(verb: Verb) -> Verb:
    """Add the options for the content of a report and its output files."""
    return with_options(verb, _REPORT)


@click.command(
    "record", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False}
)
@_MACHINES
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
    "--for",
    "lasts",
    type=click.FloatRange(min=0.01),
    metavar="SECONDS",
    help="Record for SECONDS.",
)
@click.option("--marks", is_flag=True, help="Record only between the marks in the program.")
@number_option(
    "--quantum",
    low=100,
    high=1_000_000,
    default=1000,
    help="Let no thread run more than N instructions ahead of the slowest.",
)
@target_option("--trace", help="Save the recorded accesses for 'c2c replay'.")
@click.option("--stacks", is_flag=True, help="Show the call stacks of the accesses to each line.")
@click.option("--follow", is_flag=True, help="Also record the processes that PROGRAM starts.")
@click.option(
    "--guest",
    is_flag=True,
    help="Run PROGRAM in a guest kernel, and also show the kernel's lines.",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Run PROGRAM, compiled with 'schedshard cc', on the machine's own clock.",
)
@number_option("--seed", default=1, help="With --exact: the seed for the order of threads.")
@number_option("--seeds", low=2, help="With --exact: give intervals over N seeds.")
@click.option(
    "--races",
    is_flag=True,
    help="With --exact: report data races in all memory (slower).",
)
@click.option(
    "--threads",
    metavar="LIST",
    help="Run once for each of these numbers, such as 2,64,384, which replace {} in the arguments.",
)
@number_option(
    "--runs", high=1000, help="Run PROGRAM N times, for a gate's intervals [1; with a gate 5]."
)
@gate_options
@click.option("--variant", metavar="V", help="With --guest: a built kernel (kernel/series.toml).")
@click.option("--config", default="lab", show_default=True, metavar="C", help="Its configuration.")
@click.option(
    "--linux",
    metavar="V",
    envvar="SCHEDSHARD_LINUX",
    show_envvar=True,
    help="Its series of Linux [the default of kernel/base.toml].",
)
@path_option("--vmlinux", help="With --guest: the symbols of another kernel.")
@BZIMAGE
@PARAMETERS
@path_option(
    "--guest-file",
    "files",
    multiple=True,
    help="Copy this file into the guest, to the same path; repeatable.",
)
@_report_options
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def record_command(
    ctx: click.Context,
    /,
    machines: tuple[str, ...],
    cpus: int | None,
    after: float,
    lasts: float | None,
    marks: bool,
    trace: Path | None,
    guest: bool,
    exact: bool,
    races: bool,
    seed: int,
    seeds: int | None,
    threads: str | None,
    runs: int | None,
    baseline: Path | None,
    update_baseline: bool,
    fail_above: str | None,
    sarif: Path | None,
    junit: Path | None,
    annotate: bool,
    config: str,
    linux: str | None,
    html: Path | None,
    flamegraph: Path | None,
    as_json: bool,
    out: Path | None,
    **options: Any,
) -> None:
    """Run PROGRAM, and show which lines its threads contend on, on each machine.

    Each thread runs on a CPU of the machine, in order of creation. PROGRAM keeps its input, output
    and exit status; the report goes to standard error. With --json the report goes to standard
    output, and the program's output to standard error.

    With --guest PROGRAM runs in a guest kernel with the libraries that it needs. It has no input,
    and sees only those of this host's files that --guest-file names. The report also shows the
    kernel's lines.
    """
    from schedshard.c2c.program.emulate import Window
    from schedshard.c2c.record import RecordRequest, record

    _check_uncertainty(options["uncertainty"])
    if marks and (after or lasts is not None):
        raise UserError("--marks lets the program choose the window: leave --after and --for out")
    of_guest = {name: options.pop(name) for name in _OF_GUEST}
    if exact:
        _check_exact(ctx)
    elif seeds is not None or races:
        raise UserError(f"--{'races' if races else 'seeds'} needs --exact: add it")
    asked_gate = Asked(baseline, update_baseline, fail_above, sarif, junit, annotate)
    closing = asked_gate.gate("exact" if exact else "guest" if guest else "emulator", out)
    outputs = _Outputs(as_json, out, html, flamegraph)
    counts = _counts(threads)
    if counts and (trace or guest):
        what = "--trace" if trace else "--guest"
        raise UserError(f"{what} is for one run: leave it or --threads out")
    placed = ctx.get_parameter_source("placement") is ParameterSource.COMMANDLINE
    if guest and options["stacks"]:
        raise UserError("--stacks: call stacks cannot be recorded in a guest; leave it out")
    _check_guest(guest, placed, options["follow"], of_guest)
    asked = _guest(machines[0], cpus, config, linux, **of_guest) if guest else None
    with tempfile.TemporaryDirectory(prefix="schedshard-") as folder:
        if exact:
            report = _record_exact(
                Path(folder), machines=machines, cpus=cpus, seed=seed, seeds=seeds or 0,
                races=races, threads=counts,
                output_to_stderr=as_json, flame=flamegraph is not None, **options,
            )  # fmt: skip
            _deliver(report, outputs, asked_gate, closing)
            return
        request = RecordRequest(
            machines=machines,
            cpus=cpus,
            window=Window(after, lasts, marks),
            output_to_stderr=as_json,
            flame=flamegraph is not None,
            guest=asked,
            threads=counts,
            runs=runs or asked_gate.runs,
            **options,
        )
        report = record(request, trace or Path(folder) / "trace", Path(folder), keep=bool(trace))
    _deliver(report, outputs, asked_gate, closing)


# The parameters that --exact excludes: those of the emulator and of guests.
_OF_EMULATOR = (
    "runs",
    "after",
    "lasts",
    "marks",
    "quantum",
    "trace",
    "follow",
    "steady",
    "guest",
    *_OF_GUEST,
)


def _check_exact(ctx: click.Context) -> None:
    """Raise a UserError for an option that --exact excludes."""
    for parameter in ctx.command.params:
        given = ctx.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if given and parameter.name in _OF_EMULATOR:
            raise UserError(f"{parameter.opts[0]} cannot be used with --exact; leave it out")


def _counts(text: str | None) -> tuple[int, ...]:
    """Return the numbers in the list of --threads."""
    found = [word.strip() for word in text.split(",")] if text is not None else []
    if not all(word.isascii() and word.isdigit() and 0 < int(word) <= 8192 for word in found):
        raise UserError(f"--threads {text}: not a list of numbers from 1 to 8192, such as 2,64,384")
    if len(set(found)) != len(found):
        raise UserError(f"--threads {text} contains a number twice")
    return tuple(map(int, found))


def _record_exact(folder: Path, **options: Any) -> dict[str, Any]:
    from schedshard.c2c.exact.record import ExactRequest, record_exact

    for name in ("quantum", "follow", "steady"):
        options.pop(name)
    return record_exact(ExactRequest(**options), folder)


def _deliver(data: dict[str, Any], to: _Outputs, asked: Asked, closing: Gate | None) -> None:
    """Output the report, and exit with the program's status, or with the gate's if that is 0."""
    from schedshard.results.c2c import Recorded

    report = Recorded.of(data)
    # If a requested run failed, the program counts as failed.
    status = report.program.status or int(report.program.failed)
    with ending_with(status):
        if to.as_json:
            to.give(data, report)
        else:
            to.give_to_stderr(data, report)
        if status and closing is not None:
            closing.not_judged(report)
    if not status:
        asked.update(data)
        if closing is not None:
            status = closing.closes(closing.judge(data, "this recording"))
    if status:
        raise click.exceptions.Exit(status)


def _check_guest(guest: bool, placed: bool, follow: bool, of_guest: dict[str, Any]) -> None:
    """Raise a UserError for options that --guest excludes, or that need it."""
    if guest and placed:
        raise UserError("--placement: in a guest the kernel places threads; leave it out")
    if guest and follow:
        raise UserError("--follow: a guest's processes are all recorded; leave it out")
    for name, word in _OF_GUEST.items():
        if of_guest[name] and not guest:
            raise UserError(f"{word} needs a guest: add --guest")


def _check_uncertainty(count: int | None) -> None:
    from schedshard.experiments.uncertain.uncertainty import check_samples

    if count:
        check_samples(count)


def _guest(
    machine: str,
    cpus: int | None,
    config: str,
    linux: str | None,
    *,
    variant: str | None,
    vmlinux: Path | None,
    bzimage: Path | None,
    parameters: Sequence[str],
    files: Sequence[Path],
) -> GuestRequest:
    """Return the request for the guest that the options describe."""
    from schedshard.c2c.program.guest import GuestRequest
    from schedshard.common.paths import INSTALLED
    from schedshard.kernel.probe.watch import shape_for
    from schedshard.kernel.profile.c2c import Kernel, built_kernels
    from schedshard.kernel.source.base import layout_for
    from schedshard.machines.presets import load_machine, machine_topology

    if INSTALLED:
        raise UserError("--guest needs a checkout of the project: run './schedshard' there")
    if (vmlinux is None) != (bzimage is None):
        raise UserError("another kernel needs both --vmlinux and --bzimage")
    if (vmlinux is None) == (variant is None):
        raise UserError("--guest needs one kernel: --variant, or --vmlinux and --bzimage")
    for path in (vmlinux, bzimage):
        if path is not None and not path.is_file():
            raise UserError(f"no file {path}")
    loaded = load_machine(machine)
    layout = layout_for(linux)
    if vmlinux is not None and bzimage is not None:
        kernel = Kernel(bzimage.stem, bzimage, vmlinux)
    else:
        kernel = built_kernels(layout, (str(variant),), config)[0]
    count = cpus or 16
    shape = shape_for(machine_topology(loaded), loaded.name, count)
    slow = 10 if count <= 16 else 40
    return GuestRequest(layout, kernel, shape, tuple(files), tuple(parameters), slow)


@dataclass(frozen=True)
class _Outputs:
    """Where a report goes."""

    as_json: bool
    out: Path | None
    html: Path | None
    flamegraph: Path | None

    def _save(self, report: Recorded) -> None:
        if self.html is not None:
            from schedshard.reports.report import ReportRequest, render

            write_atomic(self.html, render(ReportRequest((), c2c=(report,))))
        if self.flamegraph is not None:
            from schedshard.c2c.report.flame import folded

            write_atomic(self.flamegraph, folded(report))

    def give(self, data: dict[str, Any], report: Recorded) -> None:
        """Write the files, and print the report."""
        from schedshard.c2c.report.view import record_view

        self._save(report)
        deliver(data, self.as_json, self.out, record_view(report))

    def give_to_stderr(self, data: dict[str, Any], report: Recorded) -> None:
        """Print the report to standard error, because the program owns standard output."""
        from schedshard.c2c.report.view import record_view

        self._save(report)
        if self.out is not None:
            write_atomic(self.out, to_json(data))
        text = io.StringIO()
        wide = sys.stderr.isatty()
        Console(file=text, width=None if wide else 160, highlight=False).print(record_view(report))
        sys.stderr.write("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()))
        for path in (self.out, self.html, self.flamegraph):
            if path is not None:
                print(f"saved {path}", file=sys.stderr)


@click.command("replay")
@click.argument("trace", type=click.Path(path_type=Path))
@_MACHINES
@_report_options
@click.pass_context
def replay_command(
    ctx: click.Context,
    /,
    trace: Path,
    machines: tuple[str, ...],
    html: Path | None,
    flamegraph: Path | None,
    as_json: bool,
    out: Path | None,
    **shown: Any,
) -> None:
    """Replay TRACE, a recorded program or kernel, on other machines.

    TRACE was saved by 'c2c record --trace TRACE' for a program, or by 'kernel c2c --trace TRACE'
    for a kernel.
    """
    from schedshard.c2c.report.replaying import Trace
    from schedshard.c2c.report.report import LIMITS, NAMES, Recorded, make_report
    from schedshard.kernel.profile.replay import names_path
    from schedshard.machines.presets import load_machine
    from schedshard.results.c2c import Recorded as Report

    _check_uncertainty(shown["uncertainty"])
    if not trace.is_file():
        raise UserError(
            f"no trace {trace}: '{typed('c2c record --trace FILE -- PROGRAM')}' makes one"
        )
    data = read_json(names_path(trace), "names of a trace")
    if isinstance(data, dict) and data.get("format") != NAMES:
        from schedshard.commands.kernel.profile import replay

        lines = shown["lines"]
        ctx.invoke(replay, trace=trace, machines=machines, lines=lines, as_json=as_json, out=out)
        return
    if not isinstance(data, dict):
        raise UserError(f"{names_path(trace)} does not hold the names of a trace")
    recorded = Recorded.from_json(data, names_path(trace))
    found = tuple(load_machine(name) for name in machines)
    try:
        made = make_report(
            recorded, Trace(trace, LIMITS), found, flame=flamegraph is not None, **shown
        )
        report = Report.of(made)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise UserError(f"{names_path(trace)} is damaged: {error!r}") from error
    _Outputs(as_json, out, html, flamegraph).give(made, report)
