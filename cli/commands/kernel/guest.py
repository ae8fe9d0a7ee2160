# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines subcommands of `schedshard kernel` that run guests; each imports its stage when run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.commands.kernel.group import CONFIG, MACHINE, VARIANT, kernel, split_commas, the_layout
from cli.commands.options import (
    JSON,
    OUT,
    PARAMETERS,
    SEED,
    Verb,
    choice_option,
    deliver,
    many_option,
    number_option,
)
from common.errors import UserError, first_of
from common.output import to_json, write_atomic

if TYPE_CHECKING:
    from kernel.layout import Layout
    from kernel.testing.plan import GuestPlan
    from kernel.testing.run import GuestResult, TestRequest

_CPUS = number_option("--cpus", help="CPUs of the guest, 1 to 240.")
_SPLIT = number_option("--split-llc", help="Boot with shard_split=N.")
_EMULATION = choice_option(
    "--emulation",
    choices=["single", "multi"],
    help="Emulate all CPUs in one thread of the host, or each CPU in a separate thread.",
)


def _shape_options(verb: Verb) -> Verb:
    """Add the options that choose_shape() takes."""
    return MACHINE(_CPUS(_SPLIT(verb)))


@kernel.command()
@VARIANT
@CONFIG
@_shape_options
@PARAMETERS
@_EMULATION
@click.option("--verbose", "-v", is_flag=True, help="Show the guest's console.")
def boot(
    variants: tuple[str, ...],
    config: str,
    parameters: tuple[str, ...],
    emulation: str,
    verbose: bool,
    **machine: Any,
) -> None:
    """Boot a built variant in the emulator, run its KUnit suites, and report the result.

    The machine has 16 CPUs on 2 sockets unless options choose another.
    """
    from kernel.guest.boot import Emulation
    from kernel.testing.plan import guest_plan
    from kernel.testing.run import TestRequest, run_guest
    from kernel.testing.view import faults
    from record.shape import choose_shape

    layout = the_layout(any_arch=True)
    shape = choose_shape(**machine)
    plan = guest_plan(shape, [], 1, 1)
    request = TestRequest(variants, config, (plan,), "boot", 1, parameters, Emulation(emulation))
    wrong = []
    for variant in variants:
        echo = click.echo if verbose else _quiet
        result = run_guest(layout, request, variant, plan, echo)
        wrong += faults(result)
        if result.release:
            kunit = sum(result.kunit.values())
            click.echo(
                f"{variant}: {result.release} on {shape.words}; {result.boot_seconds or 0:.1f} s "
                f"to the first process, {result.seconds:.0f} s in all"
                f"{f', {kunit} KUnit tests' if kunit else ''}; log {result.log}"
            )
    if wrong:
        raise UserError(first_of(wrong), status=1)


def _quiet(line: str) -> None:
    """Show nothing while a guest boots."""


@kernel.command()
@VARIANT
@CONFIG
@click.option(
    "--set",
    "which",
    type=click.Choice(["short", "quick", "ci", "soak"]),
    default="quick",
    show_default=True,
    help="short, quick, ci and soak take 30 s, 90 s, 5 minutes and an hour of guest time per "
    "variant.",
)
@number_option("--seconds", high=86400, help="Seconds of guest time, instead of those of --set.")
@many_option("--test", "names", metavar="T", help="Run only this test; repeatable.")
@many_option(
    "--shape",
    "named",
    metavar="S",
    callback=split_commas,
    help="A small or unusual machine (kernel/guest/README.md), or 'all'; repeatable.",
)
@_shape_options
@PARAMETERS
@_EMULATION
@SEED
@click.option(
    "--caught", is_flag=True, help="Succeed only if the kernel's checker or a test finds errors."
)
@JSON
@OUT
def test(
    variants: tuple[str, ...],
    config: str,
    which: str,
    parameters: tuple[str, ...],
    emulation: str,
    seed: int,
    caught: bool,
    as_json: bool,
    out: Path | None,
    **guests: Any,
) -> None:
    """Run the tests in guests, and compare the variants.

    Unless options choose a machine, three guests run: 16 CPUs on 2 sockets, 64 CPUs with
    shard_split=4, and 1 CPU. The exit status is 1 if anything failed in any of them. With --caught,
    which is for variants that are broken on purpose, the exit status is 1 if neither the kernel's
    checker nor a test found an error in a guest.
    """
    from kernel.guest.boot import Emulation
    from kernel.testing.run import TestRequest, as_data
    from kernel.testing.view import faults, test_tables, uncaught

    layout = the_layout(any_arch=True)
    plans = tuple(_guests(layout, variants, config, which, seed=seed, **guests))
    request = TestRequest(variants, config, plans, which, seed, parameters, Emulation(emulation))
    results = _tested(layout, request)
    data = as_data(request, results)
    saved = out or layout.make_folder(layout.work / "results") / f"test-{which}-{config}.json"
    write_atomic(saved, to_json(data))
    wrong = [reason for result in results for reason in faults(result)]
    deliver(data, as_json, None, test_tables(results, wrong))
    print(f"saved {layout.shown(saved)}", file=sys.stderr)
    if caught:
        wrong = [reason for result in results for reason in uncaught(result)]
    if wrong:
        raise UserError(first_of(wrong), status=1)


def _guests(
    layout: Layout,
    variants: Sequence[str],
    config: str,
    which: str,
    *,
    seconds: int | None,
    names: Sequence[str],
    named: Sequence[str],
    seed: int,
    **machine: Any,
) -> list[GuestPlan]:
    """Return the guests that the options describe, with the tests in each."""
    from kernel.guest.boot import kernel_has, kernel_image
    from kernel.guest.shapes import named_shapes
    from kernel.testing.plan import SETS, chosen, matrix
    from record.shape import choose_shape

    given = any(value is not None for value in machine.values())
    if given and named:
        raise UserError(
            "--shape names a complete machine: leave --machine, --cpus and --split-llc out"
        )
    shapes = [choose_shape(**machine)] if given else named_shapes(named)
    for variant in variants:
        kernel_image(layout, variant, config)

    def has(option: str) -> bool:
        return all(kernel_has(layout, variant, config, option) for variant in variants)

    tests = chosen(names, has, layout.arch)
    return matrix(seconds or SETS[which], tests, shapes, seed)


def _tested(layout: Layout, request: TestRequest) -> list[GuestResult]:
    """Run all guests, and show progress after each test."""
    from common.progress import ticking
    from kernel.testing.run import run_matrix

    total = len(request.variants) * sum(len(plan.steps) for plan in request.guests)
    with ticking(f"testing {' and '.join(request.variants)}", total) as tick:

        def on_line(line: str) -> None:
            if "# time " in line:
                tick(line.partition("# time ")[2])

        return run_matrix(layout, request, on_line)
