# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verb doctor and its commands."""

from __future__ import annotations

import sys

import click

from schedshard.groups import NamedGroup

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


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


@doctor.command()
@_JSON
def catalogue(as_json: bool) -> None:
    """List the hot lines that doctor knows."""
    from schedshard.doctor.catalogue import load_catalogue
    from schedshard.doctor.catalogue_view import catalogue_data, catalogue_table
    from schedshard.doctor.print import show
    from schedshard.output import to_json

    known = load_catalogue()
    if as_json:
        sys.stdout.write(to_json(catalogue_data(known)))
    else:
        show([catalogue_table(known)])


@doctor.command()
@click.argument("name", metavar="ID")
def explain(name: str) -> None:
    """Tell all about one hot line: what it is, when it hurts, what helps, and the sources."""
    from schedshard.doctor.catalogue import find_entry
    from schedshard.doctor.catalogue_view import entry_parts
    from schedshard.doctor.print import show

    show(entry_parts(find_entry(name)))
