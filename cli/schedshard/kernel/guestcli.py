# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Verbs of `schedshard kernel` that run guests; stages are imported inside the verbs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from schedshard.errors import UserError
from schedshard.kernel.group import CONFIG, VARIANT, kernel, split_commas, the_layout
from schedshard.output import check_writable, to_json, write_atomic

_CPUS = click.option(
    "--cpus", type=click.IntRange(min=1), metavar="N", help="CPUs of the guest, 1 to 240."
)
_MACHINE = click.option(
    "--machine", metavar="M", help="A machine file, scaled down: preset name or path."
)
_SPLIT = click.option(
    "--split-llc", type=click.IntRange(min=1), metavar="N", help="Boot with shard_split=N."
)
_SHAPES = click.option(
    "--shape",
    "named",
    multiple=True,
    metavar="S",
    callback=split_commas,
    help="A small or odd machine (kernel/guest/README.md), or all of them; repeatable.",
)
_PARAMETERS = click.option(
    "--append", "parameters", multiple=True, metavar="P", help="A kernel parameter; repeatable."
)
_EMULATION = click.option(
    "--emulation",
    type=click.Choice(["single", "multi"]),
    default="single",
    show_default=True,
    help="All CPUs in one thread of the host, or a thread each.",
)


@kernel.command()
@VARIANT
@CONFIG
@_MACHINE
@_CPUS
@_SPLIT
@_PARAMETERS
@_EMULATION
@click.option("--verbose", "-v", is_flag=True, help="Show the guest's console.")
def boot(
    variants: tuple[str, ...],
    config: str,
    machine: str | None,
    cpus: int | None,
    split_llc: int | None,
    parameters: tuple[str, ...],
    emulation: str,
    verbose: bool,
) -> None:
    """Boot a built variant in the emulator, and say what it found.

    The machine has 16 CPUs on 2 sockets unless it is given. KUnit suites that are built in run.
    """
    from schedshard.kernel.boot import Emulation
    from schedshard.kernel.testplan import guest_plan
    from schedshard.kernel.testrun import TestRequest, run_guest
    from schedshard.kernel.testview import faults
    from schedshard.kernel.topology import choose_shape

    layout = the_layout()
    shape = choose_shape(machine, cpus, split_llc)
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
        raise UserError(_first(wrong), status=1)


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
@click.option(
    "--seconds", type=click.IntRange(1, 86400), metavar="N", help="Guest time, not that of --set."
)
@click.option("--test", "names", multiple=True, metavar="T", help="Only this one; repeatable.")
@_SHAPES
@_MACHINE
@_CPUS
@_SPLIT
@_PARAMETERS
@_EMULATION
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True)
@click.option("--caught", is_flag=True, help="Succeed only if the kernel's check finds errors.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Save the result as JSON."
)
def test(
    variants: tuple[str, ...],
    config: str,
    which: str,
    seconds: int | None,
    names: tuple[str, ...],
    named: tuple[str, ...],
    machine: str | None,
    cpus: int | None,
    split_llc: int | None,
    parameters: tuple[str, ...],
    emulation: str,
    seed: int,
    caught: bool,
    as_json: bool,
    out: Path | None,
) -> None:
    """Run the tests in guests, and compare the variants.

    The guests have 16 CPUs on 2 sockets, 64 CPUs with shard_split=4, and 1, unless one is given.
    The exit status is 1 when anything went wrong in any of them; with --caught, for variants that
    are broken on purpose, when one was not found to be.
    """
    from schedshard.kernel.boot import Emulation, kernel_has, kernel_image
    from schedshard.kernel.shapes import named_shapes
    from schedshard.kernel.testplan import OTHERS, SETS, chosen, foreign_plan, matrix
    from schedshard.kernel.testrun import TestRequest, as_data, run_matrix
    from schedshard.kernel.testview import differences, faults, test_tables, uncaught
    from schedshard.kernel.topology import choose_shape
    from schedshard.options import show
    from schedshard.progress import ticking

    if out is not None:
        check_writable(out)
    if which == OTHERS and (seconds is not None or len(set(variants)) < 2 or caught):
        raise UserError("--set foreign compares variants: give two or more, no --seconds, --caught")
    layout = the_layout()
    given = (machine, cpus, split_llc) != (None, None, None)
    if given and named:
        raise UserError("--shape is a whole machine: no --machine, --cpus or --split-llc with it")
    shapes = [choose_shape(machine, cpus, split_llc)] if given else named_shapes(named)
    for variant in variants:
        kernel_image(layout, variant, config)

    def has(option: str) -> bool:
        return all(kernel_has(layout, variant, config, option) for variant in variants)

    if which == OTHERS:
        guests = [
            foreign_plan(shape, names) for shape in shapes or [choose_shape(None, None, None)]
        ]
    else:
        guests = matrix(seconds or SETS[which], chosen(names, has), shapes, seed)
    request = TestRequest(
        variants, config, tuple(guests), which, seed, parameters, Emulation(emulation)
    )
    total = len(variants) * sum(len(plan.steps) for plan in guests)
    with ticking(f"testing {' and '.join(variants)}", total) as tick:

        def on_line(line: str) -> None:
            if "# time " in line:
                tick(line.partition("# time ")[2])

        results = run_matrix(layout, request, on_line)
    data = as_data(request, results)
    saved = out or layout.make_folder(layout.work / "results") / f"test-{which}-{config}.json"
    write_atomic(saved, to_json(data))
    wrong = [reason for result in results for reason in faults(result)]
    if which == OTHERS:
        wrong = differences(results)
        data["passed"] = not wrong
    if as_json:
        click.echo(to_json(data), nl=False)
    else:
        show(test_tables(results, wrong))
    print(f"saved {layout.shown(saved)}", file=sys.stderr)
    if caught:
        wrong = [reason for result in results for reason in uncaught(result)]
    if wrong:
        raise UserError(_first(wrong), status=1)


def _quiet(line: str) -> None:
    """Nothing is shown while a guest boots."""


def _first(faults: list[str]) -> str:
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{faults[0]}{more}"


@kernel.command()
@VARIANT
@CONFIG
@click.option("--cpus", type=click.IntRange(12, 240), default=16, show_default=True, metavar="N")
@click.option(
    "--set",
    "which",
    type=click.Choice(["root-domains", "verdicts"]),
    default="root-domains",
    show_default=True,
    help="Ways to come to root domains, or hosts that doctor is to judge.",
)
@click.option("--case", "names", multiple=True, metavar="C", help="Only this one; repeatable.")
@click.option(
    "--keep", type=click.Path(path_type=Path), metavar="DIR", help="Keep the tar files there."
)
@click.option(
    "--slow",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Run the guest's clock at 1/N of the host's [1; for verdicts 50].",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Save the result as JSON."
)
def hosts(
    variants: tuple[str, ...],
    config: str,
    cpus: int,
    which: str,
    names: tuple[str, ...],
    keep: Path | None,
    slow: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Make guests into hosts of many kinds, and compare doctor's root domains with the kernel's.

    Doctor's collector runs in the guest; the kernel's root domains are read from its memory. The
    exit status is 1 when they differ. --keep keeps the collector's tar files, CASE.tar.gz.
    """
    from schedshard.errors import unknown_name
    from schedshard.kernel.hostcases import ROOT_DOMAINS, VERDICTS
    from schedshard.kernel.hosts import HostsRequest
    from schedshard.kernel.hosts import hosts as stage
    from schedshard.kernel.hosts_view import hosts_view
    from schedshard.kernel.topology import usual_shape
    from schedshard.options import deliver

    known = ROOT_DOMAINS if which == "root-domains" else VERDICTS
    for name in names:
        if name not in known:
            raise unknown_name("case", name, known)
    if out is not None:
        check_writable(out)
    if keep is not None and not keep.is_dir():
        raise UserError(f"--keep {keep}: no such directory")
    if len(variants) > 1 and (keep is not None or out is not None):
        raise UserError("--keep and --out hold one variant: give one")
    cases = {name: case for name, case in known.items() if not names or name in names}
    clock = slow or (50 if which == "verdicts" else 1)
    layout = the_layout()
    wrong = []
    for variant in variants:
        request = HostsRequest(variant, config, cases, usual_shape(cpus), slow=clock, keep=keep)
        report = stage(layout, request, lambda name: print(f"guest: {name}", file=sys.stderr))
        deliver(report, as_json, out, hosts_view(report))
        wrong += [f"{variant}: {row['case']}" for row in report["cases"] if not row["equal"]]
    if wrong:
        raise UserError(f"{wrong[0]}: doctor's root domains are not the kernel's", status=1)
