# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Verbs of `schedshard kernel` that look at guests through the emulator's plugin."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from schedshard.kernel.group import CONFIG, VARIANT, kernel, the_layout, variant_option
from schedshard.output import check_writable, to_json, write_atomic

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
_OUT = click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Save the result as JSON."
)
_WORKLOAD = click.option(
    "--workload",
    default="cyclic",
    show_default=True,
    metavar="W",
    help="cyclic, cyclic-dense, pi, hackbench, rt-storm, ffmpeg, isolation-none or another way.",
)
_AMOUNT = click.option(
    "--amount", type=click.IntRange(min=1), metavar="N", help="Operations [the workload's own]."
)
_SLOW = click.option(
    "--slow",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Run the guest's clock at 1/N until the window opens [10, with more than 16 CPUs 40].",
)


def _slow_for(cpus: int, given: int | None) -> int:
    if given is not None:
        return given
    return 10 if cpus <= 16 else 40


def _heard(line: str) -> None:
    """What the guest says of its own progress."""
    for word in ("# begin ", "# time ", "# alive "):
        if word in line:
            print(f"guest: {line.partition(word)[1][2:]}{line.partition(word)[2]}", file=sys.stderr)


@kernel.command()
@VARIANT
@CONFIG
@click.option(
    "--cpus",
    "sizes",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="N",
    help="CPUs of a guest; repeatable [1, 16, 64].",
)
@click.option("--machine", metavar="M", help="A machine file, scaled down: preset name or path.")
@_WORKLOAD
@_AMOUNT
@_JSON
@_OUT
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
    from schedshard.kernel.count import CountRequest, count_table
    from schedshard.kernel.count import count as stage
    from schedshard.kernel.topology import choose_shape
    from schedshard.options import deliver

    if out is not None:
        check_writable(out)
    layout = the_layout()
    shapes = tuple(choose_shape(machine, cpus, None) for cpus in sizes or (1, 16, 64))
    result = stage(layout, CountRequest(variants, config, shapes, workload, amount), _heard)
    saved = layout.make_folder(layout.work / "results") / f"count-{workload}-{config}.json"
    write_atomic(saved, to_json(result))
    deliver(result, as_json, out, count_table(result))


@kernel.command()
@variant_option("Built", required=False)
@CONFIG
@click.option(
    "--vmlinux",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Another kernel: its symbols,",
)
@click.option("--bzimage", type=click.Path(path_type=Path), metavar="FILE", help="and its image.")
@click.option(
    "--object", "objects", multiple=True, metavar="SYMBOL", help="Only lines of it; repeatable."
)
@click.option("--machine", default="epyc-7763-2s", show_default=True, metavar="M")
@click.option("--cpus", type=click.IntRange(min=1), default=16, show_default=True, metavar="N")
@_WORKLOAD
@_AMOUNT
@click.option(
    "--quantum",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    metavar="N",
    help="Instructions that a CPU may be ahead of the slowest; 0: any number.",
)
@_SLOW
@click.option("--lines", type=click.IntRange(min=1), default=10, show_default=True, metavar="N")
@click.option(
    "--append", "parameters", multiple=True, metavar="P", help="A kernel parameter; repeatable."
)
@click.option(
    "--trace", type=click.Path(path_type=Path), metavar="FILE", help="Keep the run for 'replay'."
)
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE.html", help="Save a page.")
@_JSON
@_OUT
def c2c(
    variants: tuple[str, ...],
    config: str,
    vmlinux: Path | None,
    bzimage: Path | None,
    objects: tuple[str, ...],
    machine: str,
    cpus: int,
    workload: str,
    amount: int | None,
    quantum: int,
    slow: int | None,
    lines: int,
    parameters: tuple[str, ...],
    trace: Path | None,
    html: Path | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Show the contended cache lines of real kernels, predicted for a machine.

    The kernels run in the emulator; the machine's topology and latencies are the model's.
    """
    from schedshard.errors import UserError
    from schedshard.kernel.c2c import C2cRequest, Kernel, built_kernels
    from schedshard.kernel.c2c import c2c as stage
    from schedshard.kernel.c2cview import c2c_view
    from schedshard.kernel.watch import shape_for
    from schedshard.options import deliver
    from schedshard.presets import load_machine, machine_topology
    from schedshard.report import ReportRequest, render

    for path in (out, html, trace):
        if path is not None:
            check_writable(path)
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
    loaded = load_machine(machine)
    request = C2cRequest(
        kernels,
        shape_for(machine_topology(loaded), loaded.name, cpus),
        loaded,
        workload,
        amount,
        quantum,
        _slow_for(cpus, slow),
        lines,
        objects,
        parameters,
        trace,
    )
    report = stage(layout, request, _heard)
    saved = layout.make_folder(layout.work / "results") / f"c2c-{workload}-{cpus}.json"
    write_atomic(saved, to_json(report))
    if html is not None:
        write_atomic(html, render(ReportRequest((), "Cache lines of kernels", c2c=(report,))))
    deliver(report, as_json, out, c2c_view(report))
    if report["partial"]:
        raise UserError("the run was cut short: the result is partial", status=1)


@kernel.command("c2c-validate")
@VARIANT
@CONFIG
@_JSON
@_OUT
def c2c_validate(variants: tuple[str, ...], config: str, as_json: bool, out: Path | None) -> None:
    """Compare what c2c says of guests with what is known or simulated."""
    from schedshard.errors import UserError
    from schedshard.kernel.c2c import built_kernels
    from schedshard.kernel.validate import ValidateRequest
    from schedshard.kernel.validate import validate as stage
    from schedshard.kernel.validate_view import validate_view
    from schedshard.options import deliver
    from schedshard.presets import load_machine

    if out is not None:
        check_writable(out)
    layout = the_layout()
    kernels = built_kernels(layout, variants, config)
    report = stage(layout, ValidateRequest(kernels, load_machine("epyc-7763-2s")), _heard)
    deliver(report, as_json, out, validate_view(report))
    if not report["good"]:
        raise UserError("what c2c says is not what is known", status=1)


@kernel.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--machine", "machines", multiple=True, required=True, metavar="M", help="Repeatable."
)
@click.option("--lines", type=click.IntRange(min=1), default=10, show_default=True, metavar="N")
@_JSON
@_OUT
def replay(
    trace: Path, machines: tuple[str, ...], lines: int, as_json: bool, out: Path | None
) -> None:
    """Show what TRACE, which c2c --trace has kept, costs on other machines."""
    from schedshard.kernel.replay import ReplayRequest
    from schedshard.kernel.replay import replay as stage
    from schedshard.kernel.replayview import replay_view
    from schedshard.options import deliver
    from schedshard.presets import load_machine

    if out is not None:
        check_writable(out)
    loaded = tuple(load_machine(machine) for machine in machines)
    report = stage(ReplayRequest(trace, loaded, lines))
    deliver(report, as_json, out, replay_view(report))


@kernel.command()
@VARIANT
@CONFIG
@click.option("--machine", default="epyc-7763-2s", show_default=True, metavar="M")
@click.option("--cpus", type=click.IntRange(min=12), default=16, show_default=True, metavar="N")
@click.option("--mode", "modes", multiple=True, metavar="W", help="Only this way; repeatable.")
@click.option("--repeat", type=click.IntRange(1, 100), default=3, show_default=True, metavar="N")
@_SLOW
@_JSON
@_OUT
def isolation(
    variants: tuple[str, ...],
    config: str,
    machine: str,
    cpus: int,
    modes: tuple[str, ...],
    repeat: int,
    slow: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Compare ways to isolate CPUs: what wake-ups of pinned FIFO threads cost in each.

    The ways are none, isolcpus, and cpuset partitions of type isolated or root. --out has the runs
    so far when it is interrupted.
    """
    from schedshard.errors import UserError, unknown_name
    from schedshard.kernel.c2c import built_kernels
    from schedshard.kernel.isolation import IsolationRequest
    from schedshard.kernel.isolation import isolation as stage
    from schedshard.kernel.isolation_view import isolation_view
    from schedshard.kernel.watch import shape_for
    from schedshard.kernel.workload import ISOLATION
    from schedshard.options import deliver
    from schedshard.presets import load_machine, machine_topology

    for mode in modes:
        if mode not in ISOLATION:
            raise unknown_name("way to isolate", mode, ISOLATION)
    if out is not None:
        check_writable(out)
    layout = the_layout()
    kernels = built_kernels(layout, variants, config)
    loaded = load_machine(machine)
    shape = shape_for(machine_topology(loaded), loaded.name, cpus)
    chosen = tuple(mode for mode in ISOLATION if mode in modes) or tuple(ISOLATION)
    request = IsolationRequest(kernels, shape, loaded, chosen, repeat, _slow_for(cpus, slow))

    def keep(so_far: dict[str, Any]) -> None:
        if out is not None:
            write_atomic(out, to_json(so_far))

    report = stage(layout, request, _heard, keep)
    deliver(report, as_json, out, isolation_view(report))
    if report["partial"]:
        raise UserError("the run was cut short: the result is partial", status=1)
