# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verb: bench record."""

from pathlib import Path

import click
from rich.console import Group

from schedshard.commands.options import JSON, OUT, deliver, number_option


@click.command("record")
@number_option("--threads", high=256, default=16)
@number_option("--rounds", default=200, help="How often each thread sorts its array.")
@number_option("--repeats", default=5)
@click.option("--machine", default="epyc-9654-2s", show_default=True, metavar="M")
@JSON
@OUT
def cost_command(machine: str, as_json: bool, out: Path | None, **options: int) -> None:
    """Measure what 'c2c record' costs: against the program alone, and against valgrind's drd.

    The program has threads that share little. Minutes with the usual numbers.
    """
    from schedshard.c2c.program.cost import CostRequest, cost, cost_tables
    from schedshard.common.progress import working
    from schedshard.machines.presets import load_machine

    load_machine(machine)
    with working("measuring what recording costs"):
        data = cost(CostRequest(machine=machine, **options))
    deliver(data, as_json, out, Group(*cost_tables(data)))
