# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verbs: c2c record, c2c replay, c2c diff."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from rich.console import Console

from schedshard.errors import UserError
from schedshard.options import JSON, OUT, PLACEMENT, deliver
from schedshard.output import check_writable, read_json, to_json, write_atomic

if TYPE_CHECKING:
    from schedshard.record.guest import GuestRequest

_LINES = click.option(
    "--lines", type=click.IntRange(min=1), default=10, show_default=True, metavar="N"
)
_HTML = click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Write a page as well."
)
_ADVICE = click.option(
    "--advice/--no-advice", default=True, help="Replay with what shares lines falsely set apart."
)
_FLAMEGRAPH = click.option(
    "--flamegraph",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write cycles waited for as folded stacks, which flamegraph.pl, inferno and speedscope "
    "read.",
)
_UNCERTAINTY = click.option(
    "--uncertainty",
    type=click.IntRange(min=0),
    metavar="N",
    help="Replay with N draws of the machine's ranged numbers, for 90% intervals; 0: none "
    "[20, or none where more than 100,000 accesses were recorded].",
)
_MACHINES = click.option(
    "--machine", "machines", multiple=True, metavar="M", help="Repeatable.", required=True
)


@click.command(
    "record", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False}
)
@_MACHINES
@PLACEMENT
@click.option("--cpus", type=click.IntRange(min=1), metavar="N", help="Use the first N CPUs [all].")
@click.option(
    "--after",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Record from then.",
)
@click.option(
    "--for", "lasts", type=click.FloatRange(min=0.01), metavar="SECONDS", help="Record so long."
)
@click.option("--marks", is_flag=True, help="Record between the marks of the program.")
@click.option(
    "--quantum",
    type=click.IntRange(100, 1_000_000),
    default=1000,
    show_default=True,
    metavar="N",
    help="Instructions that a thread may be ahead of the slowest.",
)
@click.option(
    "--trace", type=click.Path(path_type=Path), metavar="FILE", help="Keep what happened."
)
@click.option("--follow", is_flag=True, help="Record the processes that PROGRAM starts as well.")
@click.option("--guest", is_flag=True, help="Run it in a booted kernel, and see that as well.")
@click.option("--variant", metavar="V", help="With --guest: a built kernel (kernel/series.toml),")
@click.option(
    "--config", default="lab", show_default=True, metavar="C", help="in this configuration;"
)
@click.option(
    "--vmlinux", type=click.Path(path_type=Path), metavar="FILE", help="or another: its symbols,"
)
@click.option("--bzimage", type=click.Path(path_type=Path), metavar="FILE", help="and its image.")
@click.option(
    "--append", "parameters", multiple=True, metavar="P", help="A kernel parameter; repeatable."
)
@click.option(
    "--guest-file",
    "files",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="The guest has it, at the same path; repeatable.",
)
@_LINES
@_ADVICE
@_UNCERTAINTY
@_HTML
@_FLAMEGRAPH
@JSON
@OUT
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def record_command(
    ctx: click.Context,
    machines: tuple[str, ...],
    placement: str,
    cpus: int | None,
    after: float,
    lasts: float | None,
    marks: bool,
    quantum: int,
    trace: Path | None,
    follow: bool,
    guest: bool,
    variant: str | None,
    config: str,
    vmlinux: Path | None,
    bzimage: Path | None,
    parameters: tuple[str, ...],
    files: tuple[Path, ...],
    lines: int,
    advice: bool,
    uncertainty: int | None,
    html: Path | None,
    flamegraph: Path | None,
    as_json: bool,
    out: Path | None,
    program: tuple[str, ...],
) -> None:
    """Run PROGRAM, and show which lines its threads contend on, on each machine.

    A thread is a CPU of the machine, in order of creation. PROGRAM has its input, output and exit
    status; the report goes to standard error. With --json the report is what goes to standard
    output, and the program's output goes to standard error.

    With --guest PROGRAM runs in a booted kernel with the libraries that it needs; it has no input,
    and of this host's files only what --guest-file names. The kernel's lines are shown as well.
    """
    from schedshard.record.emulate import Window
    from schedshard.record.record import RecordRequest, record

    _check_uncertainty(uncertainty)
    for path in (trace, html, flamegraph, out):
        if path is not None:
            check_writable(path)
    if marks and (after or lasts is not None):
        raise UserError("--marks is the program's own window: leave --after and --for out")
    asked = None
    if guest:
        if ctx.get_parameter_source("placement") is ParameterSource.COMMANDLINE:
            raise UserError("--placement: in a guest the kernel places threads; leave it out")
        if follow:
            raise UserError("--follow: a guest's processes are all recorded; leave it out")
        asked = _guest(machines[0], cpus, variant, config, vmlinux, bzimage, parameters, files)
    else:
        for given, word in (
            (variant, "--variant"), (vmlinux, "--vmlinux"), (bzimage, "--bzimage"),
            (parameters, "--append"), (files, "--guest-file"),
        ):  # fmt: skip
            if given:
                raise UserError(f"{word} is of a guest: add --guest")
    with tempfile.TemporaryDirectory(prefix="schedshard-") as folder:
        request = RecordRequest(
            program, machines, placement, cpus, Window(after, lasts, marks), quantum, follow, lines,
            advice, as_json, uncertainty, flamegraph is not None, asked,
        )  # fmt: skip
        report = record(request, trace or Path(folder) / "trace", Path(folder), keep=bool(trace))
    _give(report, as_json, out, html, flamegraph, stderr=True)
    if report["program"]["status"]:
        raise click.exceptions.Exit(report["program"]["status"])


def _check_uncertainty(count: int | None) -> None:
    from schedshard.uncertainty import check_samples

    if count:
        check_samples(count)


def _guest(
    machine: str,
    cpus: int | None,
    variant: str | None,
    config: str,
    vmlinux: Path | None,
    bzimage: Path | None,
    parameters: tuple[str, ...],
    files: tuple[Path, ...],
) -> GuestRequest:
    """The guest that the options ask for."""
    from schedshard.kernel.c2c import Kernel, built_kernels
    from schedshard.kernel.group import the_layout
    from schedshard.kernel.watch import shape_for
    from schedshard.paths import INSTALLED
    from schedshard.presets import load_machine, machine_topology
    from schedshard.record.guest import GuestRequest

    if INSTALLED:
        raise UserError("--guest needs a checkout of the project: run ./schedshard there")
    if (vmlinux is None) != (bzimage is None):
        raise UserError("another kernel needs both --vmlinux and --bzimage")
    if (vmlinux is None) == (variant is None):
        raise UserError("--guest needs one kernel: --variant, or --vmlinux and --bzimage")
    for path in (vmlinux, bzimage):
        if path is not None and not path.is_file():
            raise UserError(f"no file {path}")
    loaded = load_machine(machine)
    layout = the_layout()
    if vmlinux is not None and bzimage is not None:
        kernel = Kernel(bzimage.stem, bzimage, vmlinux)
    else:
        kernel = built_kernels(layout, (str(variant),), config)[0]
    count = cpus or 16
    return GuestRequest(
        layout,
        kernel,
        shape_for(machine_topology(loaded), loaded.name, count),
        files,
        parameters,
        10 if count <= 16 else 40,
    )


def _give(
    report: dict[str, Any],
    as_json: bool,
    out: Path | None,
    html: Path | None,
    flamegraph: Path | None,
    *,
    stderr: bool,
) -> None:
    from schedshard.record.view import record_view

    if html is not None:
        from schedshard.report import ReportRequest, render

        write_atomic(html, render(ReportRequest((), c2c=(report,))))
    if flamegraph is not None:
        from schedshard.record.flame import write_flamegraph

        write_flamegraph(report, flamegraph)
    if as_json or not stderr:
        deliver(report, as_json, out, record_view(report))
        return
    if out is not None:
        write_atomic(out, to_json(report))
    text = io.StringIO()
    wide = sys.stderr.isatty()
    Console(file=text, width=None if wide else 160, highlight=False).print(record_view(report))
    sys.stderr.write("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()))
    for path in (out, html, flamegraph):
        if path is not None:
            print(f"saved {path}", file=sys.stderr)


@click.command("replay")
@click.argument("trace", type=click.Path(path_type=Path))
@_MACHINES
@_LINES
@_ADVICE
@_UNCERTAINTY
@_HTML
@_FLAMEGRAPH
@JSON
@OUT
@click.pass_context
def replay_command(
    ctx: click.Context,
    trace: Path,
    machines: tuple[str, ...],
    lines: int,
    advice: bool,
    uncertainty: int | None,
    html: Path | None,
    flamegraph: Path | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Show what TRACE would have been on other machines.

    TRACE is what 'c2c record --trace TRACE' kept of a program, or 'kernel c2c --trace TRACE' of a
    kernel.
    """
    from schedshard.kernel.replay import names_path
    from schedshard.presets import load_machine
    from schedshard.record.report import NAMES, Recorded, make_report

    _check_uncertainty(uncertainty)
    for path in (html, flamegraph, out):
        if path is not None:
            check_writable(path)
    if not trace.is_file():
        raise UserError(
            f"no trace {trace}: './schedshard c2c record --trace FILE -- PROGRAM' makes one"
        )
    data = read_json(names_path(trace), "names of a trace")
    if isinstance(data, dict) and data.get("format") != NAMES:
        from schedshard.kernel.cli import kernel

        command = kernel.get_command(ctx, "replay")
        if command is None:
            raise UserError("this build replays no kernels", status=1)
        ctx.invoke(command, trace=trace, machines=machines, lines=lines, as_json=as_json, out=out)
        return
    if not isinstance(data, dict):
        raise UserError(f"{names_path(trace)} does not hold the names of a trace")
    recorded = Recorded.from_json(data, names_path(trace))
    found = tuple(load_machine(name) for name in machines)
    report = make_report(
        recorded, trace, found, lines=lines, advise=advice, uncertainty=uncertainty,
        flame=flamegraph is not None,
    )  # fmt: skip
    _give(report, as_json, out, html, flamegraph, stderr=False)


@click.command("diff")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@JSON
def diff_command(a: Path, b: Path, as_json: bool) -> None:
    """Compare two recordings of a program, before and after a change.

    A and B are what 'c2c record --out FILE' saved; lines are matched by object and field.
    """
    from schedshard.record.diff import diff, diff_view
    from schedshard.result import C2C, load_result

    data = diff(load_result(a, (C2C,)), load_result(b, (C2C,)), str(a), str(b))
    deliver(data, as_json, None, diff_view(data))
