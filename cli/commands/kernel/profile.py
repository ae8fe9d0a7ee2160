# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines subcommands of `schedshard kernel` that observe guests by the emulator's plugin."""

import sys
from pathlib import Path
from typing import Any

import click

from cli.commands.kernel.compare import CompareOptions, compare_options, run_comparison
from cli.commands.kernel.group import CONFIG, kernel, the_layout, variant_option
from cli.commands.options import (
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
from common.errors import UserError
from common.output import to_json, write_atomic

_PARTIAL = "the run was cut short: the result is partial"
_WORKLOAD = click.option(
    "--workload",
    default="cyclic",
    show_default=True,
    metavar="W",
    help="cyclic, cyclic-dense, pi, pi-apart, hackbench, pipes, rt-storm, "
    "rt-walk-waiting or ffmpeg; with --base, --change or --compare a program and its arguments.",
)
_EPYC = click.option("--machine", default="epyc-7763-2s", show_default=True, metavar="M")
_LINES = number_option("--lines", default=10, help="Show the N cache lines that cost most.")
_SLOW = number_option(
    "--slow",
    high=1000,
    help="Run the guest's clock N times slower before the window [10; 40 above 16 CPUs].",
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
@variant_option("A built variant", required=False)
@CONFIG
@path_option("--vmlinux", help="The vmlinux of a kernel that was not built here; needs --bzimage.")
@BZIMAGE
@many_option(
    "--object", "objects", metavar="SYMBOL", help="Show only this object's lines; repeatable."
)
@_EPYC
@number_option("--cpus", default=16)
@_WORKLOAD
@number_option(
    "--quantum",
    low=0,
    default=1000,
    help="Let no CPU run more than N instructions ahead of the slowest; 0: no limit.",
)
@_SLOW
@_LINES
@PARAMETERS
@target_option("--trace", help="Save the accesses for 'record replay'.")
@target_option("--html", metavar="FILE.html", help="Write an HTML page.")
@compare_options
@JSON_OR_TABLE
@OUT
def c2c(
    variants: tuple[str, ...],
    config: str,
    vmlinux: Path | None,
    bzimage: Path | None,
    machine: str,
    cpus: int,
    slow: int | None,
    html: Path | None,
    as_json: bool,
    out: Path | None,
    comparing: CompareOptions,
    **options: Any,
) -> None:
    """Show the contended cache lines of real kernels, predicted for a machine.

    The kernels run in the emulator, and a model simulates the machine's caches and latencies. With
    --base B --change C a program runs on both kernels, and the exit status is 4 if a line of C is
    new or costs more. With --compare B,C the command only prints the effect on the program.
    """
    from kernel.profile.c2c import C2cRequest, Kernel, built_kernels
    from kernel.profile.c2c import c2c as stage
    from kernel.profile.c2c_view import c2c_view
    from model.machines.presets import load_machine, machine_topology
    from record.watch import shape_for
    from report.report import render

    layout = the_layout()
    if comparing.asked:
        given = (variants, options["objects"], options["trace"], html)
        if any(given) or vmlinux or bzimage:
            raise UserError(
                "a comparison of two kernels takes only --workload, --machine, --cpus, --config, "
                "--runs and the options of a verdict: leave the others out"
            )
        run_comparison(
            comparing, layout, config, machine, cpus, _slow_for(cpus, slow), options, as_json, out
        )
        return
    kernels = built_kernels(layout, variants, config)
    if (vmlinux is None) != (bzimage is None):
        raise UserError("another kernel needs both --vmlinux and --bzimage")
    if vmlinux is not None and bzimage is not None:
        if not bzimage.is_file():
            raise UserError(f"no image {bzimage}")
        kernels += (Kernel(bzimage.stem, bzimage, vmlinux),)
    if not kernels:
        raise UserError("no kernel to examine: give --variant, or --vmlinux and --bzimage")
    loaded = load_machine(machine)
    shape = shape_for(machine_topology(loaded), loaded.name, cpus)
    request = C2cRequest(kernels, shape, loaded, slow=_slow_for(cpus, slow), **options)
    report = stage(layout, request, _heard)
    saved = layout.make_folder(layout.work / "results") / f"c2c-{request.workload}-{cpus}.json"
    write_atomic(saved, to_json(report))
    if html is not None:
        write_atomic(html, render([report], "Cache lines of kernels"))
    deliver(report, as_json, out, c2c_view(report))
    if report.partial:
        raise UserError(_PARTIAL, status=1)
