# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Subcommands of `schedshard kernel` that observe guests through the emulator's plugin."""

import sys
from pathlib import Path
from typing import Any

import click

from schedshard.commands.kernel.group import (
    CONFIG,
    MACHINE,
    VARIANT,
    kernel,
    the_layout,
    variant_option,
)
from schedshard.commands.options import (
    BZIMAGE,
    JSON_OR_TABLE,
    OUT,
    PARAMETERS,
    deliver,
    many_option,
    number_option,
    path_option,
    target_option,
)
from schedshard.common.errors import UserError, check_names
from schedshard.common.output import to_json, write_atomic

_PARTIAL = "the run was cut short: the result is partial"
_WORKLOAD = click.option(
    "--workload",
    default="cyclic",
    show_default=True,
    metavar="W",
    help="cyclic, cyclic-dense, pi, pi-apart, hackbench, pipes, rt-storm, rt-storm-walk, "
    "rt-walk-waiting, ffmpeg, isolation-none or another way.",
)
_AMOUNT = number_option("--amount", help="Number of operations [the workload's own].")
_EPYC = click.option("--machine", default="epyc-7763-2s", show_default=True, metavar="M")
_LINES = number_option("--lines", default=10)
_SLOW = number_option(
    "--slow",
    high=1000,
    help="Run the guest's clock at 1/N until the window opens [10; 40 with more than 16 CPUs].",
)


def _slow_for(cpus: int, given: int | None) -> int:
    if given is not None:
        return given
    return 10 if cpus <= 16 else 40


def _heard(line: str) -> None:
    """Print a line of the guest's output to stderr, if it reports progress."""
    for word in ("# begin ", "# time ", "# alive "):
        if word in line:
            print(f"guest: {line.partition(word)[1][2:]}{line.partition(word)[2]}", file=sys.stderr)


@kernel.command()
@VARIANT
@CONFIG
@number_option("--cpus", "sizes", multiple=True, help="CPUs of a guest; repeatable [1, 16, 64].")
@MACHINE
@_WORKLOAD
@_AMOUNT
@JSON_OR_TABLE
@OUT
def count(
    variants: tuple[str, ...],
    config: str,
    sizes: tuple[int, ...],
    machine: str | None,
    workload: str,
    amount: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Count instructions of the scheduler's hot functions in guests."""
    from schedshard.kernel.guest.topology import choose_shape
    from schedshard.kernel.profile.count import CountRequest, count_table
    from schedshard.kernel.profile.count import count as stage

    layout = the_layout()
    shapes = tuple(choose_shape(machine, cpus, None) for cpus in sizes or (1, 16, 64))
    result = stage(layout, CountRequest(variants, config, shapes, workload, amount), _heard)
    saved = layout.make_folder(layout.work / "results") / f"count-{workload}-{config}.json"
    write_atomic(saved, to_json(result))
    deliver(result, as_json, out, count_table(result))


@kernel.command()
@variant_option("A built variant", required=False)
@CONFIG
@path_option("--vmlinux", help="The symbols of another kernel.")
@BZIMAGE
@many_option("--object", "objects", metavar="SYMBOL", help="Show only its lines; repeatable.")
@_EPYC
@number_option("--cpus", default=16)
@_WORKLOAD
@_AMOUNT
@many_option(
    "--scheduler",
    "schedulers",
    metavar="S",
    help="Also run with this scheduler of tools/sched_ext of the kernel; repeatable.",
)
@number_option(
    "--quantum",
    low=0,
    default=1000,
    help="Let no CPU run more than N instructions ahead of the slowest; 0: no limit.",
)
@_SLOW
@_LINES
@PARAMETERS
@target_option("--trace", help="Save the accesses for 'c2c replay'.")
@target_option("--html", metavar="FILE.html", help="Write an HTML page.")
@JSON_OR_TABLE
@OUT
def c2c(
    variants: tuple[str, ...],
    config: str,
    vmlinux: Path | None,
    bzimage: Path | None,
    machine: str,
    cpus: int,
    schedulers: tuple[str, ...],
    slow: int | None,
    html: Path | None,
    as_json: bool,
    out: Path | None,
    **options: Any,
) -> None:
    """Show the contended cache lines of real kernels, predicted for a machine.

    The kernels run in the emulator, and a model simulates the machine's caches and latencies.
    """
    from schedshard.kernel.probe.watch import shape_for
    from schedshard.kernel.profile.c2c import C2cRequest, Kernel, built_kernels, with_schedulers
    from schedshard.kernel.profile.c2c import c2c as stage
    from schedshard.kernel.profile.c2c_view import c2c_view
    from schedshard.kernel.profile.schedulers import check_schedulers
    from schedshard.machines.presets import load_machine, machine_topology
    from schedshard.reports.report import ReportRequest, render
    from schedshard.results.c2c import Kernel as KernelReport

    layout = the_layout()
    kernels = built_kernels(layout, variants, config)
    if (vmlinux is None) != (bzimage is None):
        raise UserError("another kernel needs both --vmlinux and --bzimage")
    if vmlinux is not None and bzimage is not None:
        if not bzimage.is_file():
            raise UserError(f"no image {bzimage}")
        kernels += (Kernel(bzimage.stem, bzimage, vmlinux),)
    if not kernels:
        raise UserError("nothing to look at: give --variant, or --vmlinux and --bzimage")
    check_schedulers(layout, schedulers)
    kernels = with_schedulers(kernels, schedulers)
    loaded = load_machine(machine)
    shape = shape_for(machine_topology(loaded), loaded.name, cpus)
    request = C2cRequest(kernels, shape, loaded, slow=_slow_for(cpus, slow), **options)
    data = stage(layout, request, _heard)
    saved = layout.make_folder(layout.work / "results") / f"c2c-{request.workload}-{cpus}.json"
    write_atomic(saved, to_json(data))
    report = KernelReport.of(data)
    if html is not None:
        write_atomic(html, render(ReportRequest((), "Cache lines of kernels", c2c=(report,))))
    deliver(data, as_json, out, c2c_view(report))
    if report.partial:
        raise UserError(_PARTIAL, status=1)


@kernel.command("c2c-validate")
@VARIANT
@CONFIG
@JSON_OR_TABLE
@OUT
def c2c_validate(variants: tuple[str, ...], config: str, as_json: bool, out: Path | None) -> None:
    """Compare c2c's figures for guests with known or simulated ones."""
    from schedshard.kernel.profile.c2c import built_kernels
    from schedshard.kernel.profile.validate import ValidateRequest
    from schedshard.kernel.profile.validate import validate as stage
    from schedshard.kernel.profile.validate_view import validate_view
    from schedshard.machines.presets import load_machine

    layout = the_layout()
    kernels = built_kernels(layout, variants, config)
    report = stage(layout, ValidateRequest(kernels, load_machine("epyc-7763-2s")), _heard)
    deliver(report, as_json, out, validate_view(report))
    if not report.good:
        raise UserError("c2c's figures differ from the known ones", status=1)


@kernel.command()
@VARIANT
@CONFIG
@_EPYC
@number_option("--cpus", low=12, default=16)
@many_option("--mode", "modes", metavar="W", help="Measure only this way; repeatable.")
@path_option(
    "--plan",
    metavar="DIR",
    help="Also isolate by a plan of doctor that was made for a guest with the same number of CPUs.",
)
@number_option("--repeat", high=100, default=3)
@_SLOW
@JSON_OR_TABLE
@OUT
def isolation(
    variants: tuple[str, ...],
    config: str,
    machine: str,
    cpus: int,
    modes: tuple[str, ...],
    plan: Path | None,
    repeat: int,
    slow: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Compare ways to isolate CPUs by the cost of wake-ups of pinned FIFO threads.

    The ways are none, isolcpus, and cpuset partitions of type isolated or root. After an
    interruption the file of --out contains the runs so far.
    """
    from schedshard.kernel.guest.workload import ISOLATION, PLAN
    from schedshard.kernel.probe.watch import shape_for
    from schedshard.kernel.profile.c2c import built_kernels
    from schedshard.kernel.profile.isolation import Isolation, IsolationRequest, plan_files
    from schedshard.kernel.profile.isolation import isolation as stage
    from schedshard.kernel.profile.isolation_view import isolation_view
    from schedshard.machines.presets import load_machine, machine_topology

    check_names("way to isolate", modes, ISOLATION)
    if plan is not None:
        plan_files(plan)
    layout = the_layout()
    kernels = built_kernels(layout, variants, config)
    loaded = load_machine(machine)
    shape = shape_for(machine_topology(loaded), loaded.name, cpus)
    chosen = tuple(mode for mode in ISOLATION if mode in modes) or tuple(ISOLATION)
    if plan is not None:
        chosen = (*chosen, PLAN)
    request = IsolationRequest(kernels, shape, loaded, chosen, repeat, _slow_for(cpus, slow), plan)

    def keep(so_far: Isolation) -> None:
        if out is not None:
            write_atomic(out, to_json(so_far))

    report = stage(layout, request, _heard, keep)
    deliver(report, as_json, out, isolation_view(report))
    if report.partial:
        raise UserError(_PARTIAL, status=1)
