# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command machine and its subcommands."""

import click

from cli.commands.groups import NamedGroup
from cli.commands.options import JSON, deliver


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
