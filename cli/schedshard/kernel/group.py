# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The group of `schedshard kernel`, its own module so that several files can add verbs to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from schedshard.errors import UserError
from schedshard.groups import NamedGroup
from schedshard.kernel.layout import Layout
from schedshard.paths import INSTALLED

Verb = TypeVar("Verb", bound=Callable[..., Any])


@click.group("kernel", cls=NamedGroup)
@click.option(
    "--linux",
    metavar="V",
    envvar="SCHEDSHARD_LINUX",
    show_envvar=True,
    help="Series of Linux, one of kernel/base.toml [the default there].",
)
@click.pass_context
def kernel(context: click.Context, linux: str | None) -> None:
    """Linux with sharded scheduler state: fetch, build, test, series, packages.

    Work lies in build/kernel; every verb goes on where an earlier one stopped. A series of Linux
    that is not the default one has its own, build/kernel-V. These verbs need a checkout of the
    project: run ./schedshard there.
    """
    if INSTALLED:
        raise UserError("'kernel' needs a checkout of the project: run ./schedshard kernel there")
    context.obj = linux


def the_layout() -> Layout:
    """Where things are for the series of Linux that the user chose."""
    from schedshard.kernel.base import layout_for

    return layout_for(click.get_current_context().find_object(str))


def split_commas(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """``--variant stock,shard`` is ``--variant stock --variant shard``."""
    return tuple(word for value in values for word in value.split(","))


def variant_option(words: str, *, required: bool) -> Callable[[Verb], Verb]:
    """--variant of a verb, which gets ``variants``."""
    return click.option(
        "--variant",
        "variants",
        multiple=True,
        required=required,
        metavar="V",
        callback=split_commas,
        help=f"{words}; repeatable, or with commas.",
    )


VARIANT = variant_option("stock, shard, ... (kernel/series.toml)", required=True)
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
