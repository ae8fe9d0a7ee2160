# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the top-level commands, which run the stages for their options and output results.

Commands import their stages when they run, so that --help and small commands do not wait for the
plotting and numeric libraries.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import as_file, files
from pathlib import Path

import click

from cli.commands.bench import peers_command, ping_pong_command, primitives_command
from cli.commands.doctor import doctor
from cli.commands.groups import NamedGroup, UnnamedGroup
from cli.commands.kernel.group import kernel
from cli.commands.machine_group import machine
from cli.commands.options import (
    JSON,
    SEED,
    deliver,
    many_option,
    number_option,
    path_option,
    show,
    target_option,
)
from cli.commands.record.compile import cc_command, cxx_command
from cli.commands.record.diff import diff_command
from cli.commands.record.record import record_command
from cli.commands.record.replay import replay_command
from cli.commands.run import compare, run, sweep
from cli.commands.validate import validate
from common.errors import UserError
from common.output import write_atomic
from common.paths import INSTALLED, ROOT, VERSION

_DOORS = {
    "I run a large machine": ("doctor",),
    "I write a threaded program": ("record", "cc", "c++"),
    "I work on the kernel": ("kernel",),
    "The simulated machine": ("reproduce", "run", "sweep", "compare", "report", "machine"),
    "This host": ("bench", "setup"),
}


@click.group(
    cls=NamedGroup,
    sections=_DOORS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.version_option(VERSION, message="schedshard %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Find cache lines that many CPUs write, and predict what they cost on any machine.

    Start with 'schedshard reproduce'. Every command has --help.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@main.group(cls=UnnamedGroup, unnamed="program", usage="[OPTIONS] [--] PROGRAM [ARGUMENTS]")
def record() -> None:
    """Record PROGRAM in an emulator, and show on which cache lines its threads contend.

    For each machine the report names objects, types and source lines, and predicts what padding
    would gain. With --baseline it is a gate: the exit status is 4 if PROGRAM costs more than the
    baseline. 'record diff' compares two saved recordings.
    """


@record.command("show")
@click.argument("result", type=click.Path(path_type=Path))
@number_option("--lines", default=5, help="Show the N cache lines that cost most.")
@many_option(
    "--variant", "variants", metavar="V", help="Show this variant; repeatable [the baseline]."
)
@JSON
def record_show(result: Path, lines: int, variants: tuple[str, ...], as_json: bool) -> None:
    """Show the contended cache lines of RESULT.

    RESULT was saved by 'run --out RESULT' or 'record --out RESULT'. The tables resemble those of
    perf c2c report.
    """
    from common.formats import C2C, RUN
    from model.results.c2c import report_of
    from model.results.read import checked, load_data
    from model.results.run import run_of
    from record.lines.report import C2cRequest, find_names
    from record.lines.report import c2c as make_report
    from report.c2c import view

    data = load_data(result, RUN, C2C)
    if data["format"] == RUN:
        request = C2cRequest(checked(data, str(result), run_of), variants, lines)
        report = make_report(request, find_names(request))
    else:
        report = checked(data, str(result), report_of)
    deliver(report, as_json, None, view(report))


@main.group(cls=NamedGroup)
def bench() -> None:
    """Measure operations on shared memory, on this host's CPUs."""


@main.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@target_option("--out", required=True, metavar="FILE.html")
def report(results: tuple[Path, ...], out: Path) -> None:
    """Make one HTML page from saved RESULTS.

    RESULTS are files saved by run, bench, record, machine and kernel c2c. The page needs
    no other file and no network.
    """
    from report.report import lines_of, read, render

    loaded = [read(path) for path in results]
    write_atomic(out, render([*loaded, *lines_of(loaded)]))
    print(f"saved {out}", file=sys.stderr)


@main.command()
@path_option("--out", metavar="DIR", help="Folder for the files [out].")
@SEED
@click.option("--quick", is_flag=True, help="Fewer machines and fewer points of the curve.")
def reproduce(out: Path | None, seed: int, quick: bool) -> None:
    """Predict the published experiments, and report the results.

    The command prints tables, and writes report.html and one JSON file per result.
    """
    from report.reproduce import ReproduceRequest
    from report.reproduce_view import reproduce_all

    default = Path("out") if INSTALLED else ROOT / "out"
    reproduce_all(ReproduceRequest(seed, quick), out or default, show)


@main.command()
@click.option("--check", is_flag=True, help="List what is installed and what is missing.")
@click.pass_context
def setup(ctx: click.Context, check: bool) -> None:
    """List what schedshard needs on this machine, and the command that installs what is missing.

    Exit status: 0 nothing is missing, 1 something is missing.
    """
    if not check:
        raise UserError("setup: give --check; in a checkout 'make build' installs what is missing")
    with as_file(files("cli") / "setup.sh") as script:
        argv = ["sh", str(script), "--check", *([str(ROOT)] if INSTALLED else [])]
        ctx.exit(subprocess.run(argv, check=False).returncode)


for verb in (primitives_command, ping_pong_command, peers_command):
    bench.add_command(verb)
if not INSTALLED:  # an installed command refuses the verbs of kernel in one line
    # Importing these modules adds their commands to the group.
    from cli.commands.kernel import build, guest, profile, source, trial  # noqa: F401
for verb in (record_command, replay_command, diff_command):
    record.add_command(verb)
machine.add_command(validate)
for verb in (run, sweep, compare, machine, kernel, doctor, cc_command, cxx_command):
    main.add_command(verb)
