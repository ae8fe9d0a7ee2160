# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Subcommands of `schedshard kernel` that test doctor: guests to judge, and plans to try."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedshard.commands.kernel.group import CONFIG, VARIANTS, kernel, the_layout, variant_option
from schedshard.commands.options import (
    JSON_OR_TABLE,
    OUT,
    choice_option,
    deliver,
    many_option,
    number_option,
    path_option,
    show,
)
from schedshard.common.errors import UserError, check_names, first_of
from schedshard.common.output import to_json, write_atomic

if TYPE_CHECKING:
    from schedshard.kernel.layout import Layout


@kernel.command()
@variant_option(VARIANTS, required=False)
@CONFIG
@path_option(
    "--bzimage", metavar="B", help="A kernel built elsewhere; its root domains are not read."
)
@number_option("--cpus", low=12, high=240, default=16)
@choice_option(
    "--set",
    "which",
    choices=["root-domains", "verdicts"],
    help="Ways to make root domains, or hosts for doctor to judge.",
)
@many_option("--case", "names", metavar="C", help="Run only this case; repeatable.")
@path_option("--keep", metavar="DIR", help="Keep the collector's tar files in DIR.")
@number_option(
    "--slow",
    high=1000,
    help="Run the guest's clock at 1/N of the host's [1; with --set verdicts it counts "
    "instructions].",
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
    """Compare doctor's root domains with the kernel's, in guests set up as hosts of many kinds.

    Doctor's collector runs in the guest, and the kernel's root domains are read from its memory.
    Each host is printed when it is done, and --out then contains the hosts so far. The exit status
    is 1 if root domains differ. --keep keeps the collector's tar files, CASE.tar.gz.
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
        print(f"{name}: {len(cases)} hosts, several per guest", file=sys.stderr, flush=True)
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
    """Return name, image and symbols of the chosen kernels. --bzimage has no symbols."""
    from schedshard.kernel.profile.c2c import built_kernels

    if bool(variants) == (bzimage is not None):
        raise UserError("give either --variant or --bzimage")
    if bzimage is not None:
        if not bzimage.is_file():
            raise UserError(f"--bzimage {bzimage}: no such file")
        return [(bzimage.name, bzimage, None)]
    if len(variants) > 1 and one:
        raise UserError("--keep and --out work for one variant only: give one --variant")
    built = built_kernels(layout, variants, config)
    return [(f"{each.name}-{config}", each.bzimage, each.vmlinux) for each in built]


@kernel.command()
@click.option(
    "--suite",
    default="bookworm",
    show_default=True,
    metavar="S",
    help="Debian suite in the guest: bookworm has systemd 252, sid a newer one.",
)
@choice_option(
    "--init", choices=["systemd", "none"], help="The guest's first process: systemd, or a script."
)
@number_option(
    "--slow",
    high=50,
    default=1,
    help="Slow the guest's clock down N times, so that its services do not time out on a busy "
    "host.",
)
@click.option("--verbose", "-v", is_flag=True, help="Print the guest's output.")
def plan(suite: str, init: str, slow: int, verbose: bool) -> None:
    """Try a plan of doctor in a small Debian: make, apply, verify and undo it, with reboots.

    The guest has 16 CPUs and three groups of real-time threads. The first use needs root, for
    debootstrap. The exit status is 1 if a partition is not in force, if the kernel makes other root
    domains, or if undo.sh leaves a difference.
    """
    from schedshard.kernel.hosts.plan_trial import Trial, try_plan
    from schedshard.kernel.hosts.plan_view import plan_view

    layout = the_layout()

    def on_phase(phase: str) -> None:
        print(f"boot: {phase} (some minutes)", file=sys.stderr, flush=True)

    tried = try_plan(layout, Trial(suite, init == "systemd", slow), on_phase)
    if verbose:
        for phase, lines in tried.said.items():
            for line in lines:
                click.echo(f"{phase}: {line}")
    show(plan_view(tried))
    for log in tried.logs:
        print(f"log {layout.shown(log)}", file=sys.stderr)
    if tried.wrong:
        raise UserError(first_of(tried.wrong), status=1)


@kernel.command()
@variant_option(VARIANTS, required=False)
@CONFIG
@path_option("--bzimage", metavar="B", help="A kernel built elsewhere.")
@many_option("--case", "names", metavar="C", help="Run only this case; repeatable.")
@number_option("--slow", high=50, default=1, help="Slow the guest's clock down N times.")
@click.option("--verbose", "-v", is_flag=True, help="Print the guest's output.")
def plans(
    variants: tuple[str, ...],
    config: str,
    bzimage: Path | None,
    names: tuple[str, ...],
    slow: int,
    verbose: bool,
) -> None:
    """Try plans of doctor on hosts of several kinds, in guests with 16 CPUs.

    The guest collects, and doctor makes the plan. After a reboot the guest applies it step by step,
    verifies it, and undoes it. After each change a FIFO thread of priority 1 and an ordinary one
    have to run within a second, and no real-time thread may have lost a CPU. The exit status is 1
    if the result differs from the plan.
    """
    from schedshard.kernel.hosts.plan_cases import PLAN_CASES, CasesRequest, CaseTried, try_cases

    check_names("case", names, PLAN_CASES)
    layout = the_layout()
    cases = {name: case for name, case in PLAN_CASES.items() if not names or name in names}
    wrong: list[str] = []

    def on_case(tried: CaseTried) -> None:
        if verbose:
            for line in tried.said:
                click.echo(f"{tried.name}: {line}")
        state = "; ".join(tried.wrong) or f"as planned, {tried.probes} probes in time"
        click.echo(
            f"{tried.name}: {cases[tried.name].what}: root domains "
            f"{' '.join(tried.planned) or 'none'}: {state} ({tried.seconds:.0f} s)"
        )
        wrong.extend(f"{tried.name}: {each}" for each in tried.wrong)

    for name, image, _ in _kernels(layout, variants, config, bzimage, one=False):
        try_cases(layout, CasesRequest(name, image, cases, slow), on_case)
    if wrong:
        raise UserError(first_of(wrong), status=1)
