# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the commands `bench primitives`, `bench ping-pong` and `bench peers`."""

import subprocess
from pathlib import Path
from typing import Any

import click

from cli.commands.options import JSON, LIMIT, OUT, PLACEMENT, deliver, many_option, number_option

_OP = many_option("--op", "ops", metavar="OP", help="Measure only this operation; repeatable.")


@click.command(name="primitives")
@_OP
@click.option(
    "--threads", metavar="N,...", help="Numbers of threads, such as 1,2,64 [1, 2, 4, ... and all]."
)
@click.option(
    "--hold", "hold_ns", type=float, metavar="NS", help="Time between acquire and release."
)
@click.option("--work", "work_ns", type=float, metavar="NS", help="Time between two operations.")
@number_option(
    "--lines", high=64, metavar="N", help="Do each operation on N objects, one after the other [1]."
)
@PLACEMENT
@LIMIT
@JSON
@OUT
def primitives_command(as_json: bool, out: Path | None, **options: Any) -> None:
    """Measure locks and counters on this host: N CPUs do one operation in a loop.

    'run primitives' predicts these figures for any machine file, from the same sources. Only CPUs
    that this process may use take part, and no more of them than its control group allows.
    """
    from model.live.measure import LiveRequest, bench_primitives
    from model.live.view import live_tables
    from model.results.run import measured_of

    result = bench_primitives(LiveRequest(**options))
    deliver(result, as_json, out, live_tables(measured_of(result)))


@click.command(name="ping-pong")
@_OP
@number_option(
    "--from",
    "first",
    low=0,
    metavar="CPU",
    help="Measure this CPU with each other CPU [one pair per latency class: smt, llc, ...].",
)
@number_option(
    "--home", low=0, metavar="NODE", help="Allocate the line on this NUMA node [the first CPU's]."
)
@LIMIT
@JSON
@OUT
def ping_pong_command(as_json: bool, out: Path | None, **options: Any) -> None:
    """Measure how two CPUs of this host take turns on one cache line.

    'run ping-pong' predicts these figures for any machine file.
    """
    from model.live.measure import LiveRequest, bench_ping_pong
    from model.live.view import live_tables
    from model.results.run import measured_of

    result = bench_ping_pong(LiveRequest(**options))
    deliver(result, as_json, out, live_tables(measured_of(result)))


@click.command(name="peers")
@click.option("--machine", default="epyc-7763-2s", show_default=True, metavar="M")
def peers_command(machine: str) -> None:
    """Compare the library's sets of CPUs with packed bitmaps, Concurrency Kit and hwloc.

    One thread on this host uses sets for the CPUs of machine M. 'bench primitives' compares pools,
    counters and sets that many threads use at the same time.
    """
    from common.paths import build_dir
    from common.tool import require
    from model.machines.presets import load_machine

    tool = build_dir() / "bench" / "schedshard-peers"
    path = load_machine(machine).flat
    require(tool)
    raise click.exceptions.Exit(subprocess.run([tool, path], check=False).returncode)
