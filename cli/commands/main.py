# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The top-level commands: they turn options into requests, run stages, and output the results.

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
from cli.commands.c2c.compile import cc_command, cxx_command
from cli.commands.c2c.diff import diff_command
from cli.commands.c2c.record import record_command
from cli.commands.c2c.replay import replay_command
from cli.commands.doctor import doctor
from cli.commands.groups import NamedGroup
from cli.commands.kernel.group import kernel
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
from cli.commands.run import compare, experiments_command, run, sweep
from cli.commands.topology import machine, machines, topo
from cli.commands.validate import validate
from common.errors import UserError
from common.output import write_atomic
from common.paths import INSTALLED, ROOT, VERSION

_DOORS = {
    "I run a large machine": ("doctor",),
    "I write a threaded program": ("c2c", "cc", "c++"),
    "I work on the kernel": ("kernel",),
    "I want the data structures": ("topo", "bench"),
    "The simulated machine": (
        "reproduce", "experiments", "run", "sweep", "compare", "report", "machines", "machine",
        "validate",
    ),
    "This installation": ("setup",),
}  # fmt: skip


@click.group(
    cls=NamedGroup,
    sections=_DOORS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.version_option(VERSION, message="schedshard %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Shard shared state by last-level cache, and predict what a layout costs on any machine.

    Start with 'schedshard reproduce'. Every command has --help.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


class C2cGroup(NamedGroup):
    """The commands of c2c. Any other word is a result to show."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Use 'show' if the first word is not a command."""
        if args and self.get_command(ctx, args[0]) is None:
            args = ["show", *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Use 'show' if options precede the result."""
        if args and args[0].startswith("-") and args[0] not in ("-h", "--help"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@main.group(cls=C2cGroup)
def c2c() -> None:
    """Show contended cache lines: of a saved RESULT, or of your own program.

    'c2c RESULT' shows the lines in a file saved by 'run --out RESULT' or 'c2c record --out RESULT',
    as perf c2c report does. 'c2c record' runs a program.
    """


@c2c.command("show")
@click.argument("result", type=click.Path(path_type=Path))
@number_option("--lines", default=5)
@many_option("--variant", "variants", metavar="V", help="Repeatable [the baseline].")
@JSON
def c2c_show(result: Path, lines: int, variants: tuple[str, ...], as_json: bool) -> None:
    """Show the contended cache lines of RESULT.

    RESULT was saved by 'run --out RESULT' or 'c2c record --out RESULT'. The tables follow perf c2c
    report.
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
        data = make_report(request, find_names(request))
    deliver(data, as_json, None, view(checked(data, str(result), report_of)))


@main.group(cls=NamedGroup)
def bench() -> None:
    """Measure on this host's CPUs."""


@main.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@target_option("--out", required=True, metavar="FILE.html")
def report(results: tuple[Path, ...], out: Path) -> None:
    """Make one HTML page from saved RESULTS.

    RESULTS are files saved by run, sweep, bench, validate, topo, c2c and kernel c2c. The page needs
    no other file and no network.
    """
    from report.report import lines_of, read, render

    found = [read(path) for path in results]
    write_atomic(out, render([*found, *lines_of(found)]))
    print(f"saved {out}", file=sys.stderr)


@main.command()
@path_option("--out", metavar="DIR", help="[out at the root]")
@SEED
@click.option("--quick", is_flag=True, help="Fewer machines and fewer points of the curve.")
def reproduce(out: Path | None, seed: int, quick: bool) -> None:
    """Predict and report in one command.

    It predicts the published experiments, prints the tables, and writes report.html and one JSON
    file per result.
    """
    from common.extra import need_sweep
    from report.reproduce import ReproduceRequest
    from report.reproduce_view import reproduce_all

    if not quick:
        need_sweep("reproduce without --quick")
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
if not INSTALLED:  # the laboratory, which cli/meson.build does not install
    # Importing these modules adds their commands to the group.
    from cli.commands.kernel import build, guest, profile, source  # noqa: F401
for verb in (record_command, replay_command, diff_command):
    c2c.add_command(verb)
for verb in (
    run,
    experiments_command,
    sweep,
    compare,
    topo,
    machines,
    machine,
    validate,
    kernel,
    doctor,
    cc_command,
    cxx_command,
):
    main.add_command(verb)
