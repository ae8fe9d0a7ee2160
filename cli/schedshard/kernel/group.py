# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The group of `schedshard kernel`, its own module so that several files can add verbs to it."""

from __future__ import annotations

import click

from schedshard.groups import NamedGroup


@click.group("kernel", cls=NamedGroup)
def kernel() -> None:
    """Linux with sharded scheduler state: fetch, build, test, series, packages.

    Work lies in build/kernel; every verb goes on where an earlier one stopped.
    """


def split_commas(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """``--variant stock,shard`` is ``--variant stock --variant shard``."""
    return tuple(word for value in values for word in value.split(","))


VARIANT = click.option(
    "--variant",
    "variants",
    multiple=True,
    required=True,
    metavar="V",
    callback=split_commas,
    help="stock, shard, ... (kernel/series.toml); repeatable, or with commas.",
)
CONFIG = click.option(
    "--config",
    default="lab",
    show_default=True,
    metavar="C",
    help="A name of kernel/config, several joined by '+', or a file.",
)
JOBS = click.option(
    "-j", "--jobs", type=click.IntRange(min=0), default=0, help="Jobs of make [one a CPU]."
)
