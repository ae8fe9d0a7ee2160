# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command machine and its subcommands: topologies and machine files."""

from pathlib import Path

import click

from cli.commands.groups import NamedGroup
from cli.commands.options import CAP, JSON, OUT, deliver, number_option, path_option
from common.errors import UserError


def _advise(
    machine: str | None, rate: float, count: int | None, as_json: bool, out: Path | None
) -> None:
    from common.progress import ticking
    from model.machines.presets import HOST, load_machine
    from model.run.shard_sizes import SAMPLES, advice_data, advise
    from model.run.uncertain.uncertainty import check_samples
    from model.tables.shard_sizes import advice_view

    samples = SAMPLES if count is None else count
    if samples != 0:
        check_samples(samples)
    loaded = load_machine(machine or HOST)
    advice = advise(loaded, rate, samples, ticking)
    deliver(advice_data(advice), as_json, out, advice_view(advice))


@click.command("topology")
@click.option("--machine", metavar="M", help="A machine file: preset name or path.")
@path_option("--sysfs", metavar="DIR", help="A folder that contains sys/.")
@number_option("--split-llc", help="Cut every LLC into N parts.")
@CAP
@click.option("--advise", is_flag=True, help="Predict how many CPUs should share a line or a lock.")
@click.option(
    "--rate",
    type=click.FloatRange(1, 1e8),
    metavar="N",
    help="Lock operations per second and CPU that --advise plans for [10000].",
)
@click.option(
    "--uncertainty",
    type=int,
    metavar="N",
    help="Samples of the uncertain numbers for --advise's intervals; 0: one run without them [20].",
)
@JSON
@OUT
def topology(
    machine: str | None,
    sysfs: Path | None,
    split_llc: int | None,
    cap: int | None,
    advise: bool,
    rate: float | None,
    uncertainty: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Show a topology and its shard plan.

    The topology is that of this host unless a machine or a sysfs tree is given. With --advise the
    command predicts the cost of each shard size, for the given machine file, or for the one that
    'machine measure' made of this host.
    """
    if advise:
        others = {"--sysfs": sysfs, "--split-llc": split_llc, "--cap": cap}
        for name, value in others.items():
            if value is not None:
                raise UserError(f"--advise and {name} exclude each other: it tries all sizes")
        _advise(machine, 10_000.0 if rate is None else rate, uncertainty, as_json, out)
        return
    for name, number in (("--rate", rate), ("--uncertainty", uncertainty)):
        if number is not None:
            raise UserError(f"{name} belongs to --advise: give both")
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
