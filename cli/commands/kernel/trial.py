# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command `schedshard kernel trial`. It imports its stages when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.commands.kernel.group import kernel, the_layout
from cli.commands.options import PARAMETERS, many_option, number_option, path_option
from common.errors import UserError
from common.inputs import read_input
from common.paths import VERSION

if TYPE_CHECKING:
    from kernel.layout import Layout
    from kernel.trial.image import TrialRequest


@kernel.command()
@click.option(
    "--config", default="trial", show_default=True, metavar="C", help="As for 'build', with kexec."
)
@click.option(
    "--variant",
    default="series",
    show_default=True,
    metavar="V",
    help="Compare stock with this variant, such as send-a or nohz-slots.",
)
@number_option("--minutes", high=600, default=10, help="Time for all workloads on both kernels.")
@number_option("--pairs", high=20, default=4, help="How often each kernel runs, in turn.")
@many_option("--workload", "workloads", metavar="W", help="Run only this workload; repeatable.")
@PARAMETERS
@path_option("--out", "outs", multiple=True, help="FILE.efi or FILE.iso; repeatable.")
@click.option(
    "--installed",
    is_flag=True,
    help="Run the workloads here, on the kernel that is booted, and write FILE.json.",
)
@click.option("--dry-run", is_flag=True, help="Only list what would run as root on this machine.")
@path_option("--predict", "result", help="Show a trial.json or a console's log with predictions.")
@click.option("--machine", metavar="M", help="With --predict: the machine file to predict on.")
def trial(
    config: str,
    variant: str,
    minutes: int,
    pairs: int,
    workloads: tuple[str, ...],
    parameters: tuple[str, ...],
    outs: tuple[Path, ...],
    installed: bool,
    dry_run: bool,
    result: Path | None,
    machine: str | None,
) -> None:
    """Make one file that boots the stock and the patched kernel in turn, and measures both.

    The trial needs no disk and no network. It writes its result to the console and, if there is a
    FAT partition with the label SCHEDTRIAL, to that partition. Build both kernels first: 'kernel
    build --variant stock --variant series --config trial'.
    """
    from kernel.source.recipe import load_recipe
    from kernel.trial.image import STOCK, TrialRequest, make_trial

    if sum((bool(outs), dry_run, result is not None)) != 1:
        raise UserError("give one of --out, --dry-run and --predict")
    if machine is not None and result is None:
        raise UserError("--machine is only for --predict")
    if result is not None:
        _show(result, machine)
        return
    layout = the_layout()
    if installed:
        _run_here(layout, minutes, pairs, workloads, outs)
        return
    load_recipe(layout).variant(variant)
    if variant == STOCK:
        raise UserError(f"--variant {STOCK}: each trial runs {STOCK}, so name another kernel")
    request = TrialRequest((STOCK, variant), config, minutes, pairs, VERSION, workloads, parameters)
    if dry_run:
        _list(request)
        return
    make_trial(layout, request, outs)
    for out in outs:
        click.echo(f"{out}: {out.stat().st_size / 1e6:.0f} MB")


def _run_here(
    layout: Layout, minutes: int, turns: int, workloads: tuple[str, ...], outs: tuple[Path, ...]
) -> None:
    from common.output import check_writable, write_atomic
    from kernel.trial.installed import run_here
    from trial.form import trial_text
    from trial.page import page

    if len(outs) != 1 or outs[0].suffix != ".json":
        raise UserError("--installed writes one file: give --out FILE.json")
    check_writable(outs[0])
    made, why = run_here(layout, minutes, turns, workloads, lambda line: click.echo(line, err=True))
    write_atomic(outs[0], trial_text(made))
    click.echo(page(made, [f"Ended early: {why}."] if why else []), nl=False)


def _list(request: TrialRequest) -> None:
    from kernel.trial.facts import read_host
    from kernel.trial.log import order_of, seconds_of
    from kernel.trial.workloads import chosen, commands

    cpus, order = read_host().cpus, order_of(request.kernels, request.pairs)
    names = chosen(cpus, request.workloads)
    click.echo(f"kernels in this order: {' '.join(order)}")
    click.echo(f"each runs as root, on {len(cpus)} CPUs like this machine's:")
    for line in commands(cpus, names, seconds_of(request.minutes, len(order), len(names))):
        click.echo(f"  {line}")


def _show(result: Path, machine: str | None) -> None:
    from common.progress import ticking
    from kernel.trial.log import in_console
    from kernel.trial.predict import can_predict, predicted_ratios
    from trial.compare import comparison
    from trial.form import MAX_BYTES, read_trial

    text = read_input(result, "trial", MAX_BYTES).decode("utf-8", "replace")
    loaded = read_trial(in_console(text).encode(), result.name)
    ratios: Mapping[tuple[str, str], float] = {}
    if machine is not None:
        with ticking("predicting", 6) as tick:
            ratios = dict(predicted_ratios(loaded, machine, tick))
    click.echo(comparison([(result.name, loaded)], ratios), nl=False)
    if machine is None and can_predict(loaded):
        click.echo("No predictions: give the machine's file with --machine.")
