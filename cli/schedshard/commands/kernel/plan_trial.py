# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verb of `schedshard kernel` that tries a plan of doctor in guests."""

import sys

import click

from schedshard.commands.kernel.group import kernel, the_layout
from schedshard.commands.options import choice_option, number_option, show
from schedshard.common.errors import UserError, first_of


@kernel.command()
@click.option(
    "--suite",
    default="bookworm",
    show_default=True,
    metavar="S",
    help="Debian's suite in the guest: bookworm has systemd 252, sid a newer one.",
)
@choice_option(
    "--init", choices=["systemd", "none"], help="The guest's first process: systemd, or a script."
)
@number_option(
    "--slow",
    high=50,
    default=1,
    help="Let the guest's clock run N times slower, for a busy host: its services time out less.",
)
@click.option("--verbose", "-v", is_flag=True, help="Print what the guest said.")
def plan(suite: str, init: str, slow: int, verbose: bool) -> None:
    """Try a plan of doctor in a small Debian: make, apply, verify, undo, and boot in between.

    The guest has 16 CPUs and three groups of real-time threads. Needs root on first use, for
    debootstrap. The exit status is 1 when a partition is not in force, the kernel makes other root
    domains, or undo.sh leaves a difference.
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
