# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the commands machine import and machine measure."""

import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from cli.commands.options import number_option, path_option, target_option
from common.errors import UserError
from common.extra import need_sweep
from common.output import check_writable, write_atomic
from common.paths import begins
from common.safe import trusted
from common.show.terminal import SafeConsole
from model.machines.hostfile import host_path, make_parent
from model.machines.making.classes import CLASSES, Evidence
from model.machines.making.document import Facts, validated
from model.machines.making.importer import ImportRequest, import_machine
from model.machines.making.measure import MeasureRequest, measure_machine
from model.machines.making.topology import parse_cpu_list
from trial.form import load_trial
from trial.machine_file import machine_of


def _finish(
    facts: Facts, text: str, evidence: Evidence | None, notes: list[str], out: Path | None
) -> None:
    """Validate the machine file, write it, and report.

    Without ``out`` the file goes to stdout, and the report to stderr.
    """
    validated(text)
    stream = trusted(sys.stderr if out is None else sys.stdout)
    console = SafeConsole(file=stream, highlight=False)
    if out is None:
        click.echo(text, nl=False)
    else:
        write_atomic(out, text)
    topology = facts.topology
    levels = {"package": "package", "node": "node", "llc": "LLC", "core": "core"}
    counts = ", ".join(_counted(topology.count(level), word) for level, word in levels.items())
    cpus = _counted(len(topology.cpus), "CPU")
    console.print(f"{facts.name}: {cpus}, {counts}", markup=False, soft_wrap=True)
    _print_evidence(console, facts, evidence)
    for note in notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    if out is not None:
        console.print(f"written: {out}", markup=False, soft_wrap=True)


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def _print_evidence(console: Console, facts: Facts, evidence: Evidence | None) -> None:
    table = Table("distance", box=None)
    for heading in ("pairs", "median ns", "5%-95% ns"):
        table.add_column(heading, justify="right")
    for tier in evidence.tiers if evidence is not None else ():
        spread = f"{tier.low:.1f}-{tier.high:.1f}"
        words = f"{tier.count} {tier.unit}"
        table.add_row(words, f"{tier.pairs:,}", f"{tier.median:.1f}", spread)
    for name in (*CLASSES, "memory"):
        item = evidence.classes.get(name) if evidence is not None else None
        if item is not None:
            spread = f"{item.low:.1f}-{item.high:.1f}"
            table.add_row(name, f"{item.pairs:,}", f"{item.median:.1f}", spread)
        elif name in facts.latency_ns:
            source = facts.source.get(f"latency_ns.{name}", "")
            how = "estimate" if source.startswith("estimate") else "measured"
            table.add_row(name, "-", f"{facts.latency_ns[name]:.1f}", how)
    console.print(table)


@click.command(name="import")
@click.argument("csv", type=click.Path(path_type=Path))
@path_option(
    "--topology",
    metavar=None,
    help="Take the topology from the machine's output of 'lscpu -p', from a folder that contains "
    "its sys/, or from an XML file of hwloc ('lstopo FILE.xml').",
)
@click.option(
    "--shape",
    metavar="PxLxCxT",
    help="The topology of a regular machine: packages x last-level caches of each x cores of each "
    "cache x threads of each core, such as 1x16x8x2.",
)
@click.option(
    "--core",
    metavar="NAME",
    help="Type of core, such as zen4 (machines/cores/cores.toml), which sets protocol and costs. "
    "Default: usual costs, and the protocol of the vendor that --name or CSV's name contains.",
)
@click.option("--name", help="Name of the machine; default: from the file's name.")
@target_option("--out", metavar=None, help="Write the machine file here, not to stdout.")
def import_command(
    csv: Path,
    topology: Path | None,
    shape: str | None,
    core: str | None,
    name: str | None,
    out: Path | None,
) -> None:
    """Make a machine file from a core-to-core latency table, or from a trial's trial.json.

    A trial needs no option. CSV contains a row per writing CPU and a column per responding CPU, in
    nanoseconds one way. The upper triangle may be empty. Since CSV does not say where each CPU is,
    give --topology or --shape. Without them the command names the two shapes that fit best, and
    ends with status 3.
    """
    need_sweep("machine import")
    if begins(csv, b"{"):
        if any(given is not None for given in (topology, shape, core)):
            raise UserError(f"{csv.name} is a trial: leave --topology, --shape and --core out")
        of_trial = machine_of(load_trial(csv), name)
        _finish(of_trial.facts, of_trial.text, of_trial.evidence, of_trial.notes, out)
        return
    request = ImportRequest(csv, topology, shape, core, name)
    made = import_machine(request)
    _finish(made.facts, made.text, made.evidence, made.notes, out)


@click.command(name="measure")
@path_option(
    "--out",
    metavar=None,
    help="Write the machine file here; default: where '--machine host' reads it.",
)
@click.option("--cpus", metavar="LIST", help="Measure between these CPUs only, such as 0-3,8.")
@number_option(
    "--samples",
    high=10000,
    default=50,
    metavar=None,
    help="Repeat each measurement N times and use the lower quartile.",
)
def measure_command(out: Path | None, cpus: str | None, samples: int) -> None:
    """Measure this host, and write the machine file that '--machine host' names.

    This takes at most a minute. On a host with more than 64 CPUs only a few hundred pairs per
    distance are measured.
    """
    request = MeasureRequest(parse_cpu_list(cpus) if cpus is not None else None, samples)
    target = out if out is not None else host_path()
    if out is None:
        make_parent(target)
    check_writable(target)
    need_sweep("machine measure")
    made = measure_machine(request)
    _finish(made.facts, made.text, made.evidence, made.notes, target)
