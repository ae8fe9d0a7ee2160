# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verb of `schedshard kernel` that tries a plan of doctor in guests."""

from __future__ import annotations

import sys

import click

from schedshard.errors import UserError
from schedshard.kernel.group import kernel, the_layout


@kernel.command()
@click.option(
    "--suite",
    default="bookworm",
    show_default=True,
    metavar="S",
    help="Debian's suite in the guest: bookworm has systemd 252, sid a newer one.",
)
@click.option(
    "--init",
    type=click.Choice(["systemd", "none"]),
    default="systemd",
    show_default=True,
    help="The guest's first process: systemd, or a script.",
)
@click.option(
    "--slow",
    type=click.IntRange(1, 50),
    default=1,
    show_default=True,
    metavar="N",
    help="Let the guest's clock run N times slower, for a busy host: its services time out less.",
)
@click.option("--verbose", "-v", is_flag=True, help="Print what the guest said.")
def plan(suite: str, init: str, slow: int, verbose: bool) -> None:
    """Try a plan of doctor in a small Debian: make, apply, verify, undo, and boot in between.

    The guest has 16 CPUs and three groups of real-time threads. Needs root on first use, for
    debootstrap. The exit status is 1 when a partition is not in force, the kernel makes other root
    domains, or undo.sh leaves a difference.
    """
    from schedshard.kernel.plan_trial import Trial, try_plan
    from schedshard.kernel.plan_view import plan_view
    from schedshard.options import show

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
        more = f" (and {len(tried.wrong) - 1} more)" if len(tried.wrong) > 1 else ""
        raise UserError(f"{tried.wrong[0]}{more}", status=1)
