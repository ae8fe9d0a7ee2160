# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verb: bench record."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Group

from schedshard.options import JSON, OUT, deliver
from schedshard.output import check_writable


@click.command("record")
@click.option("--threads", type=click.IntRange(1, 256), default=16, show_default=True, metavar="N")
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    metavar="N",
    help="How often each thread sorts its array.",
)
@click.option("--repeats", type=click.IntRange(min=1), default=5, show_default=True, metavar="N")
@click.option("--machine", default="epyc-9654-2s", show_default=True, metavar="M")
@JSON
@OUT
def cost_command(
    threads: int, rounds: int, repeats: int, machine: str, as_json: bool, out: Path | None
) -> None:
    """Measure what 'c2c record' costs: against the program alone, and against valgrind's drd.

    The program has threads that share little. Minutes with the usual numbers.
    """
    from schedshard.presets import load_machine
    from schedshard.progress import working
    from schedshard.record.cost import CostRequest, cost, cost_tables

    if out is not None:
        check_writable(out)
    load_machine(machine)
    with working("measuring what recording costs"):
        data = cost(CostRequest(threads, rounds, repeats, machine))
    deliver(data, as_json, out, Group(*cost_tables(data)))
