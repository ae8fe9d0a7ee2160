# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the commands for experiments on simulated machines, run, sweep and compare."""

import sys
from pathlib import Path
from typing import Any

import click

from cli.commands.options import (
    CAP,
    JSON,
    OUT,
    PLACEMENT,
    SEED,
    deliver,
    many_option,
    number_option,
    path_option,
    show,
)
from common.errors import UserError
from common.paths import INSTALLED, typed

_UNCERTAINTY = click.option(
    "--uncertainty",
    type=int,
    metavar="N",
    help="Print intervals from N samples of all uncertain inputs.",
)


def _list(as_json: bool) -> None:
    from model.run.experiment import experiment_names, load_experiment
    from model.tables.results import experiments_table

    experiments = [load_experiment(name) for name in experiment_names()]
    rows = [
        {
            "name": experiment.name, "title": experiment.title, "machine": experiment.machine,
            "variants": [variant.name for variant in experiment.variants],
        }
        for experiment in experiments
    ]  # fmt: skip
    deliver({"experiments": rows}, as_json, None, experiments_table(experiments))


@click.command()
@click.argument("experiment", required=False)
@click.option("--list", "as_list", is_flag=True, help="List the experiments.")
@click.option("--machine", metavar="M", help="Preset name or a .toml file [the experiment's own].")
@number_option("--cpus", metavar=None, help="Use the first N CPUs [all].")
@SEED
@PLACEMENT
@CAP
@many_option("--variant", "variants", metavar="V", help="Run only this variant; repeatable.")
@many_option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    help="Set an input of the experiment to another value; repeatable.",
)
@_UNCERTAINTY
@many_option(
    "--op", "ops", metavar="OP", help="ping-pong, primitives: only this operation; repeatable."
)
@click.option(
    "--threads",
    metavar="N,N...",
    help="atomic-inc, primitives: numbers of threads [1,2,4,...,all].",
)
@click.option(
    "--hold", "hold_ns", type=float, metavar="NS", help="primitives: time a lock is held [0]."
)
@click.option(
    "--work",
    "work_ns",
    type=float,
    metavar="NS",
    help="primitives: mean time between operations [0].",
)
@number_option(
    "--lines",
    high=64,
    metavar="N",
    help="primitives: do each operation on N objects, one after the other [1].",
)
@number_option(
    "--home",
    low=0,
    metavar="NODE",
    help="ping-pong: allocate the line on this NUMA node [the first CPU's].",
)
@number_option(
    "--from",
    "first",
    low=0,
    metavar="CPU",
    help="ping-pong: run this CPU with each other CPU [one pair per latency class: smt, llc, ...].",
)
@JSON
@OUT
def run(
    as_list: bool, uncertainty: int | None, as_json: bool, out: Path | None, **options: Any
) -> None:
    """Run EXPERIMENT on a simulated machine.

    Predicted figures are shown beside published ones of the same machine, if there are any. With
    --uncertainty each figure gets a median and a 90% interval over the ranges of inputs in the
    machine file and the experiment file.
    """
    if as_list:
        _list(as_json)
        return
    if options["experiment"] is None:
        raise UserError(f"run needs an EXPERIMENT: '{typed('run --list')}' lists them")
    from common.progress import ticking
    from model.lines.fields import layouts_of
    from model.run.run import execute, merge, plan_run
    from model.run.run_options import RunOptions, make_request
    from model.tables.results import run_tables

    if uncertainty is not None:
        from model.run.uncertain.uncertainty import check_samples, with_intervals

        check_samples(uncertainty)
    request = make_request(RunOptions(**options))
    plan = plan_run(request)
    title = f"{request.experiment.name} on {request.machine.name}"
    with ticking(title, len(plan.points)) as tick:
        raws = execute(plan, tick)
    result = merge(plan, raws, layouts_of(raws))
    if uncertainty is not None:
        with_intervals(request, result, uncertainty, ticking)
    deliver(result.to_data(), as_json, out, run_tables(result))


@click.command()
@many_option(
    "--experiment", "experiments", required=True, metavar="E", help="An experiment; repeatable."
)
@many_option(
    "--machine", "machines", metavar="M", help="A machine; repeatable [the experiment's own]."
)
@many_option("--variant", "variants", metavar="V", help="A variant; repeatable [all].")
@number_option(
    "--cap", "caps", multiple=True, high=64, help="At most N CPUs per shard; repeatable [64]."
)
@number_option("--cpus", multiple=True, help="Use the first N CPUs; repeatable [all].")
@PLACEMENT
@number_option("--seeds", high=1000, default=1, help="Run seeds 1 to N of every point.")
@path_option("--out", required=True, metavar="FILE.parquet")
@click.option(
    "--scheduler", metavar="ADDRESS", hidden=INSTALLED, help="A Dask scheduler [this host's CPUs]."
)
def sweep(out: Path, scheduler: str | None, **options: Any) -> None:
    """Run every combination of the options, and save the results in one Parquet file.

    A sweep skips points that FILE already contains. So an interrupted sweep continues, and a larger
    one adds to a smaller one. Points of another simulator or machine file count as new.
    """
    from common.extra import need_sweep
    from common.progress import ticking

    if INSTALLED and scheduler is not None:
        raise UserError("--scheduler needs a checkout of the project: run ./schedshard sweep there")
    need_sweep("sweep")
    from model.run.sweep.prepare import SweepOptions, prepare
    from model.run.sweep.run import execute
    from model.tables.sweep import sweep_tables

    prepared = prepare(SweepOptions(out=out, **options))
    for line in prepared.left_out:
        print(f"schedshard: {line}", file=sys.stderr)
    finished = len(prepared.points) - len(prepared.todo)
    if finished:
        print(f"{finished} of {len(prepared.points)} points are in {out}", file=sys.stderr)
    rows = list(prepared.rows)
    if prepared.todo:
        with ticking("sweep", len(prepared.todo)) as tick:
            rows += execute(prepared.todo, out, scheduler, tick)
    show(sweep_tables(rows))
    print(f"saved {out}", file=sys.stderr)


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@many_option("--metric", "metrics", metavar="M", help="Compare this metric; repeatable [all].")
@JSON
def compare(a: str, b: str, metrics: tuple[str, ...], as_json: bool) -> None:
    """Compare A and B over their seeds: mean, %stddev and %change.

    Each is FILE or FILE:VARIANT, where FILE was made by sweep or by 'run --out'. Two variants are
    compared at every point that both files contain. Without variants, each variant of A is compared
    with that variant of B. Two recordings ('record --out') are compared as by 'record diff'.
    """
    from common.extra import need_sweep
    from record.gate.diff import diff_files, diff_view, is_recording

    if is_recording(a) or is_recording(b):
        if metrics:
            raise UserError("--metric: recordings of programs are compared by object; leave it out")
        comparison = diff_files(Path(a), Path(b))
        deliver(comparison.to_data(), as_json, None, diff_view(comparison))
        return
    need_sweep("compare")
    from model.run.sweep.compare import CompareRequest, load_side
    from model.run.sweep.compare import compare as make_comparison
    from model.tables.compare import compare_view

    data = make_comparison(CompareRequest(load_side(a), load_side(b), metrics))
    deliver(data, as_json, None, compare_view(data))
