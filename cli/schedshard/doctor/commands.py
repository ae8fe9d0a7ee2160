# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verb doctor and its commands."""

from __future__ import annotations

import sys

import click

from schedshard.groups import NamedGroup


@click.group(cls=NamedGroup)
def doctor() -> None:
    """Look at the scheduler of a machine."""


@doctor.command()
def collect() -> None:
    """Print a shell script that collects what doctor reads into one small tar file.

    The script runs anywhere as an ordinary user: './schedshard doctor collect > collect.sh', then
    'sh collect.sh' on the machine in question. It reads /proc and /sys twice, some seconds apart,
    and changes nothing. The tar file holds names of threads (comm) and of cgroups, and neither
    command-line arguments nor environments nor names of the host and its users.
    """
    from schedshard.doctor.script import script_text

    sys.stdout.write(script_text())
