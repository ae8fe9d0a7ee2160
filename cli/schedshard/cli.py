# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verbs: options to typed requests, requests to stages, results to the terminal or a file.

Stages are imported inside the verbs, so that --help and small verbs do not wait for the plotting
and numeric libraries.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from rich.console import RenderableType

from schedshard import __version__
from schedshard.doctor.commands import doctor
from schedshard.errors import UserError
from schedshard.groups import NamedGroup
from schedshard.kernel.cli import kernel
from schedshard.live.commands import ping_pong_command, primitives_command
from schedshard.live.validate_command import validate
from schedshard.options import JSON as _JSON
from schedshard.options import OUT as _OUT
from schedshard.options import PLACEMENT as _PLACEMENT
from schedshard.options import deliver, show
from schedshard.output import check_writable, write_atomic
from schedshard.record.commands import diff_command, record_command, replay_command
from schedshard.record.cost_command import cost_command

_UNCERTAINTY = click.option(
    "--uncertainty",
    type=int,
    metavar="N",
    help="Print intervals of N samples of all inputs that are not known.",
)


@click.group(
    cls=NamedGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.version_option(__version__, message="schedshard %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Sharded CPU sets, and what a layout of shared state costs on machines big and small.

    Start with 'schedshard reproduce'. Every verb explains itself with --help.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@main.command()
@click.argument("experiment")
@click.option("--machine", metavar="M", help="Preset name or a .toml file [the experiment's own].")
@click.option("--cpus", type=click.IntRange(min=1), help="Use the first N CPUs [all].")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True)
@_PLACEMENT
@click.option("--cap", type=click.IntRange(1, 64), metavar="N", help="At most N CPUs a shard [64].")
@click.option(
    "--variant", "variants", multiple=True, metavar="V", help="Only this one; repeatable."
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another value for an input of the experiment; repeatable.",
)
@_UNCERTAINTY
@click.option(
    "--op", "ops", multiple=True, metavar="OP", help="ping-pong, primitives: only this; repeatable."
)
@click.option("--threads", metavar="N,N...", help="atomic-inc, primitives: [1,2,4,...,all].")
@click.option(
    "--hold", "hold_ns", type=float, metavar="NS", help="primitives: from acquire to release [0]."
)
@click.option(
    "--from",
    "first",
    type=click.IntRange(0),
    metavar="CPU",
    help="ping-pong: this CPU with every other [one pair a latency class].",
)
@_JSON
@_OUT
def run(
    experiment: str,
    machine: str | None,
    cpus: int | None,
    seed: int,
    placement: str,
    cap: int | None,
    variants: tuple[str, ...],
    settings: tuple[str, ...],
    uncertainty: int | None,
    ops: tuple[str, ...],
    threads: str | None,
    hold_ns: float | None,
    first: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Run EXPERIMENT on a simulated machine.

    Predicted figures stand beside published ones where somebody has measured the same machine.
    With --uncertainty each has a median and a 90% interval of what the ranges in the machine file
    and the experiment file allow.
    """
    from schedshard.fields import layouts_of
    from schedshard.progress import ticking
    from schedshard.run import execute, merge, plan_run
    from schedshard.run_options import RunOptions, make_request
    from schedshard.tables import run_tables
    from schedshard.uncertainty import check_samples, with_intervals

    if out is not None:
        check_writable(out)
    if uncertainty is not None:
        check_samples(uncertainty)
    options = RunOptions(
        experiment,
        machine,
        cpus,
        seed,
        placement,
        cap,
        variants,
        settings,
        ops,
        first,
        hold_ns,
        threads,
    )
    request = make_request(options)
    plan = plan_run(request)
    with ticking(f"{experiment} on {request.machine.name}", len(plan.points)) as tick:
        raws = execute(plan, tick)
    result = merge(plan, raws, layouts_of(raws))
    if uncertainty is not None:
        with TemporaryDirectory(prefix="schedshard-") as directory:
            with_intervals(request, result, uncertainty, Path(directory), ticking)
    deliver(result, as_json, out, run_tables(result))


@main.command()
@click.option(
    "--experiment", "experiments", multiple=True, required=True, metavar="E", help="Repeatable."
)
@click.option(
    "--machine", "machines", multiple=True, metavar="M", help="Repeatable [the experiment's own]."
)
@click.option("--variant", "variants", multiple=True, metavar="V", help="Repeatable [all].")
@click.option(
    "--cap",
    "caps",
    multiple=True,
    type=click.IntRange(1, 64),
    metavar="N",
    help="At most N CPUs a shard; repeatable [64].",
)
@click.option(
    "--cpus",
    multiple=True,
    type=click.IntRange(min=1),
    metavar="N",
    help="Use the first N CPUs; repeatable [all].",
)
@_PLACEMENT
@click.option(
    "--split-llc",
    "splits",
    multiple=True,
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Cut every last-level cache in N smaller ones; repeatable [1].",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    metavar="N",
    help="Run seeds 1 to N of every point.",
)
@_UNCERTAINTY
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    help="Of the samples that --uncertainty draws [1].",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="FILE.parquet")
@click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler [this host's CPUs].")
def sweep(
    experiments: tuple[str, ...],
    machines: tuple[str, ...],
    variants: tuple[str, ...],
    caps: tuple[int, ...],
    cpus: tuple[int, ...],
    placement: str,
    splits: tuple[int, ...],
    seeds: int,
    uncertainty: int | None,
    seed: int | None,
    out: Path,
    scheduler: str | None,
) -> None:
    """Run every combination, and keep the results in one Parquet file.

    Points that FILE has already are not run again, so that an interrupted sweep goes on where it
    was, and a larger one adds to a smaller one. A new simulator or machine file makes new points.
    """
    from schedshard.progress import ticking
    from schedshard.sweep_prepare import SweepOptions, prepare
    from schedshard.sweep_run import execute
    from schedshard.sweep_view import sweep_tables

    options = SweepOptions(
        experiments, machines, variants, caps, cpus, seeds, placement, splits, out, uncertainty,
        seed,
    )  # fmt: skip
    with TemporaryDirectory(prefix="schedshard-") as directory:
        prepared = prepare(options, Path(directory))
        for said in prepared.left_out:
            print(f"schedshard: {said}", file=sys.stderr)
        there = len(prepared.points) - len(prepared.todo)
        if there:
            print(f"{there} of {len(prepared.points)} points are in {out}", file=sys.stderr)
        rows = list(prepared.rows)
        if prepared.todo:
            with ticking("sweep", len(prepared.todo)) as tick:
                rows += execute(prepared.todo, out, scheduler, tick)
    show(sweep_tables(rows))
    print(f"saved {out}", file=sys.stderr)


@main.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--metric", "metrics", multiple=True, metavar="M", help="Repeatable [all].")
@_JSON
def compare(a: str, b: str, metrics: tuple[str, ...], as_json: bool) -> None:
    """Compare A and B over their seeds: mean, %stddev and %change.

    Each is FILE or FILE:VARIANT, where FILE was made by sweep or by 'run --out'. With variants,
    these are compared with each other at every point that both have; without, every variant of A
    with the same one of B.
    """
    from schedshard.compare import CompareRequest, load_side
    from schedshard.compare import compare as make_comparison
    from schedshard.compare_view import compare_view

    data = make_comparison(CompareRequest(load_side(a), load_side(b), metrics))
    deliver(data, as_json, None, compare_view(data))


class C2cGroup(NamedGroup):
    """The verbs of c2c; what is none of them is a result to show."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Show is the verb that need not be named."""
        if args and self.get_command(ctx, args[0]) is None:
            args = ["show", *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options before the result are those of show."""
        if args and args[0].startswith("-") and args[0] not in ("-h", "--help"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@main.group(cls=C2cGroup)
def c2c() -> None:
    """Contended cache lines: of a RESULT, or of a program of yours.

    'c2c RESULT' shows the lines of what 'run --out RESULT' or 'c2c record --out RESULT' saved, as
    perf c2c report does. 'c2c record' runs a program.
    """


@c2c.command("show")
@click.argument("result", type=click.Path(path_type=Path))
@click.option("--lines", type=click.IntRange(min=1), default=5, show_default=True, metavar="N")
@click.option(
    "--variant", "variants", multiple=True, metavar="V", help="Repeatable [the baseline]."
)
@_JSON
def c2c_show(result: Path, lines: int, variants: tuple[str, ...], as_json: bool) -> None:
    """Show the contended cache lines of RESULT.

    RESULT is what 'run --out RESULT' saved; the tables are those of perf c2c report.
    """
    from schedshard.c2c import C2cRequest, find_names
    from schedshard.c2c import c2c as make_report
    from schedshard.result import C2C, RUN, load_result
    from schedshard.tables import c2c_tables

    loaded = load_result(result, (RUN, C2C))
    if loaded["format"] == C2C:
        deliver(loaded, as_json, None, _saved_view(loaded))
        return
    request = C2cRequest(loaded, variants, lines)
    report = make_report(request, find_names(request))
    deliver(report, as_json, None, c2c_tables(report))


def _saved_view(report: dict[str, Any]) -> RenderableType:
    """What was saved with its names: of a program, of a kernel, or of its replay."""
    from schedshard.kernel.c2cview import c2c_view
    from schedshard.kernel.replayview import replay_view
    from schedshard.record.view import record_view

    if "program" in report:
        return record_view(report)
    if all("hitm_a_wake_up" in variant for variant in report["variants"]):
        return c2c_view(report)
    return replay_view(report)


def _advise(
    machine: str | None, rate: float, count: int | None, as_json: bool, out: Path | None
) -> None:
    from schedshard.advise import SAMPLES, advice_data, advise
    from schedshard.advise_view import advice_view
    from schedshard.presets import HOST, load_machine
    from schedshard.progress import ticking
    from schedshard.uncertainty import check_samples

    if out is not None:
        check_writable(out)
    samples = SAMPLES if count is None else count
    if samples != 0:
        check_samples(samples)
    loaded = load_machine(machine or HOST)
    found = advise(loaded, rate, samples, ticking)
    deliver(advice_data(found), as_json, out, advice_view(found))


@main.command()
@click.option("--machine", metavar="M", help="A machine file: preset name or path.")
@click.option(
    "--sysfs", type=click.Path(path_type=Path), metavar="DIR", help="A root holding sys/."
)
@click.option("--hwloc-xml", type=click.Path(path_type=Path), metavar="FILE", help="hwloc's XML.")
@click.option("--split-llc", type=click.IntRange(min=1), metavar="N", help="Cut every LLC in N.")
@click.option("--cap", type=click.IntRange(1, 64), metavar="N", help="At most N CPUs a shard [64].")
@click.option(
    "--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw .svg or .png."
)
@click.option("--advise", is_flag=True, help="Predict how many CPUs should share a line or a lock.")
@click.option(
    "--rate",
    type=click.FloatRange(1, 1e8),
    metavar="N",
    help="Lock operations a second and CPU that --advise plans for [10000].",
)
@click.option(
    "--uncertainty",
    type=int,
    metavar="N",
    help="Of how many samples --advise makes its intervals; 0: one run and no intervals [20].",
)
@_JSON
@_OUT
def topo(
    machine: str | None,
    sysfs: Path | None,
    hwloc_xml: Path | None,
    split_llc: int | None,
    cap: int | None,
    picture: Path | None,
    advise: bool,
    rate: float | None,
    uncertainty: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Show a topology and its shard plan.

    It is that of this host unless a machine, a sysfs tree or an hwloc file is given. With --advise
    the costs of all shard sizes are predicted instead, on a machine file or on that which 'machine
    measure' made of this host.
    """
    if advise:
        others = {"--sysfs": sysfs, "--hwloc-xml": hwloc_xml, "--split-llc": split_llc,
                  "--cap": cap, "--picture": picture}  # fmt: skip
        for name, value in others.items():
            if value is not None:
                raise UserError(f"--advise and {name} exclude each other: it tries all sizes")
        _advise(machine, 10_000.0 if rate is None else rate, uncertainty, as_json, out)
        return
    for name, number in (("--rate", rate), ("--uncertainty", uncertainty)):
        if number is not None:
            raise UserError(f"{name} belongs to --advise: give both")
    from schedshard.presets import machine_path
    from schedshard.tables import topo_view
    from schedshard.topo import TopoRequest
    from schedshard.topo import topo as read_topology

    for path in (out, picture):
        if path is not None:
            check_writable(path)
    if picture is not None and picture.suffix.lower() not in (".svg", ".png"):
        raise UserError(f"--picture {picture}: the file name must end in .svg or .png")
    source = machine_path(machine) if machine is not None else None
    data = read_topology(TopoRequest(source, sysfs, hwloc_xml, split_llc, cap))
    if picture is not None:
        from schedshard.topo_picture import write_picture

        write_picture(data, picture)
    deliver(data, as_json, out, topo_view(data))
    if picture is not None:
        print(f"saved {picture}", file=sys.stderr)


@main.command()
@_JSON
def machines(as_json: bool) -> None:
    """List the machine files."""
    from schedshard.machine_list import list_machines
    from schedshard.tables import machines_table

    rows = list_machines()
    deliver({"machines": rows}, as_json, None, machines_table(rows))


class MachineGroup(NamedGroup):
    """The machine verbs; import and measure come from a package that needs numeric libraries."""

    _LAZY = ("import", "measure")

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, those not loaded yet among them."""
        return sorted({*super().list_commands(ctx), *self._LAZY})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the package on the first use of one of its commands."""
        if cmd_name in self._LAZY and cmd_name not in self.commands:
            from schedshard.machines.commands import import_command, measure_command

            self.add_command(import_command)
            self.add_command(measure_command)
        return super().get_command(ctx, cmd_name)


@main.group(cls=MachineGroup)
def machine() -> None:
    """Look at machine files, and make new ones."""


@machine.command("show")
@click.argument("name")
@_JSON
def machine_show(name: str, as_json: bool) -> None:
    """Show a machine file: every number and where it comes from."""
    from schedshard.machine_list import describe
    from schedshard.presets import load_machine
    from schedshard.tables import machine_view

    described = describe(load_machine(name))
    deliver(described, as_json, None, machine_view(described))


@main.group(cls=NamedGroup, invoke_without_command=True)
@click.option("--quick", is_flag=True, help="Measure for a shorter time.")
@_JSON
@_OUT
@click.pass_context
def bench(ctx: click.Context, quick: bool, as_json: bool, out: Path | None) -> None:
    """Measure on this host's CPUs.

    Without a command the structures are measured: every operation stands beside the same one on a
    plain bitmap, as a ratio of one run.
    """
    if ctx.invoked_subcommand is not None:
        if quick or as_json or out is not None:
            raise UserError(f"options of 'bench {ctx.invoked_subcommand}' stand behind its name")
        return
    from schedshard.bench import BenchRequest
    from schedshard.bench import bench as measure
    from schedshard.progress import working
    from schedshard.tables import bench_tables

    if out is not None:
        check_writable(out)
    with working("measuring on this host's CPUs"):
        data = measure(BenchRequest(quick))
    deliver(data, as_json, out, bench_tables(data))


@main.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="FILE.html")
def report(results: tuple[Path, ...], out: Path) -> None:
    """Make one HTML page of saved RESULTS.

    RESULTS are files of run, sweep, bench, validate, topo, c2c and kernel c2c. The page needs no
    other file and no network.
    """
    from schedshard.c2c import c2c as make_c2c
    from schedshard.c2c import find_names, of_all_variants
    from schedshard.figures import is_figures
    from schedshard.report import ReportRequest, render
    from schedshard.result import BENCH, C2C, LIVE, RUN, TOPO, VALIDATE, load_result
    from schedshard.sweep_file import is_parquet, read_rows

    check_writable(out)
    sweeps = tuple(path for path in results if is_parquet(path))
    kinds = (RUN, BENCH, LIVE, VALIDATE, TOPO, C2C)
    read = [load_result(path, kinds) for path in results if path not in sweeps]
    loaded = tuple(result for result in read if result["format"] != C2C)
    saved = tuple(result for result in read if result["format"] == C2C)
    rows = tuple((path.name, read_rows(path)) for path in sweeps)
    requests = [of_all_variants(result) for result in loaded if is_figures(result)]
    lines = tuple(make_c2c(request, find_names(request)) for request in requests)
    write_atomic(out, render(ReportRequest(loaded, c2c=saved + lines, sweeps=rows)))
    print(f"saved {out}", file=sys.stderr)


@main.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="[out at the root]",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True)
@click.option("--quick", is_flag=True, help="Fewer machines and fewer points of the curve.")
def reproduce(out: Path | None, seed: int, quick: bool) -> None:
    """Predict, measure and report: the main job.

    Predicts the published experiments, measures this host, prints the tables and writes
    report.html and one JSON file a result.
    """
    from schedshard.paths import INSTALLED, ROOT
    from schedshard.reproduce import ReproduceRequest
    from schedshard.reproduce_view import reproduce_all

    default = Path("out") if INSTALLED else ROOT / "out"
    reproduce_all(ReproduceRequest(seed, quick), out or default, show)


bench.add_command(primitives_command)
bench.add_command(ping_pong_command)
bench.add_command(cost_command)
c2c.add_command(record_command)
c2c.add_command(replay_command)
c2c.add_command(diff_command)
main.add_command(validate)
main.add_command(kernel)
main.add_command(doctor)
