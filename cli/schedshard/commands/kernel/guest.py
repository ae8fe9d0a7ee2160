# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Verbs of `schedshard kernel` that run guests; stages are imported inside the verbs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedshard.commands.kernel.group import (
    CONFIG,
    MACHINE,
    VARIANT,
    VARIANTS,
    kernel,
    split_commas,
    the_layout,
    variant_option,
)
from schedshard.commands.options import (
    JSON,
    JSON_OR_TABLE,
    OUT,
    PARAMETERS,
    SEED,
    Verb,
    choice_option,
    deliver,
    many_option,
    number_option,
    path_option,
)
from schedshard.common.errors import UserError, check_names, first_of
from schedshard.common.output import to_json, write_atomic

if TYPE_CHECKING:
    from schedshard.kernel.guest.boot import Emulation, Firmware
    from schedshard.kernel.layout import Layout
    from schedshard.kernel.testing.plan import GuestPlan
    from schedshard.kernel.testing.run import GuestResult, TestRequest

_CPUS = number_option("--cpus", help="CPUs of the guest, 1 to 240.")
_SPLIT = number_option("--split-llc", help="Boot with shard_split=N.")
_EMULATION = choice_option(
    "--emulation",
    choices=["single", "multi"],
    help="All CPUs in one thread of the host, or a thread each.",
)


_FIRMWARE = choice_option(
    "--firmware",
    choices=["usual", "acpi", "acpi-bare"],
    help="Of arm64: a device tree with caches; ACPI, with a table of caches, or the emulator's "
    "tables, which have none.",
)


def _emulated(emulation: str, firmware: str, layout: Layout) -> tuple[Emulation, Firmware]:
    """How guests run, if their architecture and this host can."""
    from schedshard.kernel.guest.boot import Emulation, Firmware, check_firmware

    check_firmware(found := Firmware(firmware), layout.arch)
    return Emulation(emulation), found


def _shape_options(verb: Verb) -> Verb:
    """The options of choose_shape()."""
    return MACHINE(_CPUS(_SPLIT(verb)))


@kernel.command()
@VARIANT
@CONFIG
@_shape_options
@PARAMETERS
@_EMULATION
@_FIRMWARE
@click.option("--verbose", "-v", is_flag=True, help="Show the guest's console.")
def boot(
    variants: tuple[str, ...],
    config: str,
    parameters: tuple[str, ...],
    emulation: str,
    firmware: str,
    verbose: bool,
    **machine: Any,
) -> None:
    """Boot a built variant in the emulator, and say what it found.

    The machine has 16 CPUs on 2 sockets unless it is given. KUnit suites that are built in run.
    """
    from schedshard.kernel.guest.topology import choose_shape
    from schedshard.kernel.testing.plan import guest_plan
    from schedshard.kernel.testing.run import TestRequest, run_guest
    from schedshard.kernel.testing.view import faults

    layout = the_layout(any_arch=True)
    how = _emulated(emulation, firmware, layout)
    shape = choose_shape(**machine)
    plan = guest_plan(shape, [], 1, 1)
    request = TestRequest(variants, config, (plan,), "boot", 1, parameters, *how)
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
    """Nothing is shown while a guest boots."""


@kernel.command()
@VARIANT
@CONFIG
@click.option(
    "--set",
    "which",
    type=click.Choice(["short", "quick", "ci", "soak", "foreign"]),
    default="quick",
    show_default=True,
    help="How long: 30 s, 90 s, 5 minutes or an hour of guest time a variant. foreign: the tests "
    "that others wrote, which must end alike in all variants.",
)
@number_option("--seconds", high=86400, help="Guest time, not that of --set.")
@many_option("--test", "names", metavar="T", help="Only this one; repeatable.")
@many_option(
    "--shape",
    "named",
    metavar="S",
    callback=split_commas,
    help="A small or odd machine (kernel/guest/README.md), or all of them; repeatable.",
)
@_shape_options
@PARAMETERS
@_EMULATION
@_FIRMWARE
@SEED
@click.option("--caught", is_flag=True, help="Succeed only if the kernel's check finds errors.")
@JSON
@OUT
def test(
    variants: tuple[str, ...],
    config: str,
    which: str,
    parameters: tuple[str, ...],
    emulation: str,
    firmware: str,
    seed: int,
    caught: bool,
    as_json: bool,
    out: Path | None,
    **guests: Any,
) -> None:
    """Run the tests in guests, and compare the variants.

    The guests have 16 CPUs on 2 sockets, 64 CPUs with shard_split=4, and 1, unless one is given.
    The exit status is 1 when anything went wrong in any of them. With --caught, for variants that
    are broken on purpose, it is 1 when the kernel's check found nothing in one guest.
    """
    from schedshard.kernel.testing.plan import OTHERS
    from schedshard.kernel.testing.run import TestRequest, as_data
    from schedshard.kernel.testing.view import differences, faults, test_tables, uncaught

    foreign = which == OTHERS
    if foreign and (guests["seconds"] is not None or len(set(variants)) < 2 or caught):
        raise UserError("--set foreign compares variants: give two or more, no --seconds, --caught")
    layout = the_layout(any_arch=True)
    how = _emulated(emulation, firmware, layout)
    plans = tuple(_guests(layout, variants, config, which, seed=seed, **guests))
    request = TestRequest(variants, config, plans, which, seed, parameters, *how)
    results = _tested(layout, request)
    data = as_data(request, results)
    saved = out or layout.make_folder(layout.work / "results") / f"test-{which}-{config}.json"
    write_atomic(saved, to_json(data))
    wrong = [reason for result in results for reason in faults(result)]
    if foreign:
        wrong = differences(results)
        data["passed"] = not wrong
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
    """What the options ask for: which guests, and the tests in each."""
    from schedshard.kernel.guest.boot import kernel_has, kernel_image
    from schedshard.kernel.guest.shapes import named_shapes
    from schedshard.kernel.guest.topology import choose_shape
    from schedshard.kernel.testing.plan import OTHERS, SETS, chosen, foreign_plan, matrix

    given = any(value is not None for value in machine.values())
    if given and named:
        raise UserError("--shape is a whole machine: no --machine, --cpus or --split-llc with it")
    shapes = [choose_shape(**machine)] if given else named_shapes(named)
    for variant in variants:
        kernel_image(layout, variant, config)
    if which == OTHERS:
        return [foreign_plan(shape, names) for shape in shapes or [choose_shape(None, None, None)]]

    def has(option: str) -> bool:
        return all(kernel_has(layout, variant, config, option) for variant in variants)

    tests = chosen(names, has, layout.arch)
    return matrix(seconds or SETS[which], tests, shapes, seed)


def _tested(layout: Layout, request: TestRequest) -> list[GuestResult]:
    """Run all guests; print each test when it has ended."""
    from schedshard.common.progress import ticking
    from schedshard.kernel.testing.run import run_matrix

    total = len(request.variants) * sum(len(plan.steps) for plan in request.guests)
    with ticking(f"testing {' and '.join(request.variants)}", total) as tick:

        def on_line(line: str) -> None:
            if "# time " in line:
                tick(line.partition("# time ")[2])

        return run_matrix(layout, request, on_line)


@kernel.command()
@variant_option(VARIANTS, required=False)
@CONFIG
@path_option(
    "--bzimage", metavar="B", help="A kernel that was built elsewhere; its memory is not read."
)
@number_option("--cpus", low=12, high=240, default=16)
@choice_option(
    "--set",
    "which",
    choices=["root-domains", "verdicts"],
    help="Ways to come to root domains, or hosts that doctor is to judge.",
)
@many_option("--case", "names", metavar="C", help="Only this one; repeatable.")
@path_option("--keep", metavar="DIR", help="Keep the tar files there.")
@number_option(
    "--slow",
    high=1000,
    help="Run the guest's clock at 1/N of the host's [1; for verdicts it counts instructions].",
)
@JSON_OR_TABLE
@OUT
def hosts(
    variants: tuple[str, ...],
    config: str,
    bzimage: Path | None,
    cpus: int,
    which: str,
    names: tuple[str, ...],
    keep: Path | None,
    slow: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Make guests into hosts of many kinds, and compare doctor's root domains with the kernel's.

    Doctor's collector runs in the guest; the kernel's root domains are read from its memory. Each
    host is printed when it is done; --out has the hosts so far. The exit status is 1 when the root
    domains differ. --keep keeps the collector's tar files, CASE.tar.gz.
    """
    from schedshard.kernel.guest.topology import usual_shape
    from schedshard.kernel.hosts.cases import ROOT_DOMAINS, VERDICTS
    from schedshard.kernel.hosts.hosts import HostsRequest
    from schedshard.kernel.hosts.hosts import hosts as stage
    from schedshard.kernel.hosts.hosts_view import row_words, sum_words

    known = ROOT_DOMAINS if which == "root-domains" else VERDICTS
    check_names("case", names, known)
    if keep is not None and not keep.is_dir():
        raise UserError(f"--keep {keep}: no such directory")
    layout = the_layout()
    kernels = _kernels(layout, variants, config, bzimage, one=keep is not None or out is not None)
    cases = {name: case for name, case in known.items() if not names or name in names}
    # Rates are a part of the verdict, and must not depend on how busy this host is.
    counted = which == "verdicts" and slow is None
    wrong = []

    def on_row(row: dict[str, Any], so_far: dict[str, Any]) -> None:
        print(row_words(row), file=sys.stderr if as_json else sys.stdout, flush=True)
        if out is not None:
            write_atomic(out, to_json(so_far))

    for name, image, symbols in kernels:
        shape = usual_shape(cpus)
        request = HostsRequest(name, image, symbols, cases, shape, counted, slow or 1, keep)
        print(f"{name}: {len(cases)} hosts, several a guest", file=sys.stderr, flush=True)
        report = stage(layout, request, on_row)
        deliver(report, as_json, out, None)
        if not as_json:
            click.echo(sum_words(report))
        wrong += [f"{name}: {row['case']}" for row in report["cases"] if row["equal"] is False]
    if wrong:
        raise UserError(f"{wrong[0]}: doctor's root domains are not the kernel's", status=1)


def _kernels(
    layout: Layout, variants: Sequence[str], config: str, bzimage: Path | None, *, one: bool
) -> list[tuple[str, Path, Path | None]]:
    """Name, image and symbols of the kernels: built ones, or another one without symbols."""
    from schedshard.kernel.profile.c2c import built_kernels

    if bool(variants) == (bzimage is not None):
        raise UserError("give --variant or --bzimage")
    if bzimage is not None:
        if not bzimage.is_file():
            raise UserError(f"--bzimage {bzimage}: no such file")
        return [(bzimage.name, bzimage, None)]
    if len(variants) > 1 and one:
        raise UserError("--keep and --out hold one variant: give one")
    built = built_kernels(layout, variants, config)
    return [(f"{each.name}-{config}", each.bzimage, each.vmlinux) for each in built]
