# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command machine and its subcommands: topologies and machine files."""

from pathlib import Path

import click

from cli.commands.groups import NamedGroup
from cli.commands.options import CAP, JSON, OUT, deliver, number_option, path_option


@click.command("topology")
@click.option("--machine", metavar="M", help="A machine file: preset name or path.")
@path_option("--sysfs", metavar="DIR", help="A folder that contains sys/.")
@number_option("--split-llc", help="Cut every LLC into N parts.")
@CAP
@JSON
@OUT
def topology(
    machine: str | None,
    sysfs: Path | None,
    split_llc: int | None,
    cap: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Show a topology and its shard plan.

    The topology is that of this host unless a machine or a sysfs tree is given.
    """
    from model.machines.presets import load_machine
    from model.machines.topo import TopoRequest
    from model.machines.topo import topo as read_topology
    from model.results.read import checked
    from model.results.topo import Topo
    from model.tables.tools import topo_view

    source = load_machine(machine).flat if machine is not None else None
    request = TopoRequest(source, sysfs, split_llc, cap)
    data = read_topology(request)
    made = checked(data, "what schedshard-topo printed", Topo.of)
    deliver(data, as_json, out, topo_view(made))


class MachineGroup(NamedGroup):
    """The machine commands. import and measure are loaded late: they need numeric libraries."""

    _LAZY = ("import", "measure")

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, including those that are not loaded yet."""
        return sorted({*super().list_commands(ctx), *self._LAZY})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the package on the first use of one of its commands."""
        if cmd_name in self._LAZY and cmd_name not in self.commands:
            from cli.commands.machine import import_command, measure_command

            self.add_command(import_command)
            self.add_command(measure_command)
        return super().get_command(ctx, cmd_name)


@click.group(cls=MachineGroup)
def machine() -> None:
    """Show machine files, and make new ones."""


@machine.command("list")
@JSON
def machine_list(as_json: bool) -> None:
    """List the machine files."""
    from model.machines.machine_list import list_machines
    from model.tables.tools import machines_table

    rows = list_machines()
    deliver({"machines": rows}, as_json, None, machines_table(rows))


@machine.command("show")
@click.argument("name")
@JSON
def machine_show(name: str, as_json: bool) -> None:
    """Show a machine file: every number and where it comes from."""
    from model.machines.machine_list import describe
    from model.machines.presets import load_machine
    from model.tables.tools import machine_view

    described = describe(load_machine(name))
    deliver(described, as_json, None, machine_view(described))
