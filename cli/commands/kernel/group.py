# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the command group `schedshard kernel`, to which files beside this one add commands."""

from dataclasses import dataclass

import click

from cli.commands.groups import NamedGroup
from cli.commands.options import Decorator, many_option, number_option
from common.errors import UserError
from common.paths import INSTALLED
from kernel.arch import X86, Arch, find_arch
from kernel.layout import Layout


@dataclass(frozen=True)
class Chosen:
    """The values of the group's options."""

    linux: str | None
    arch: Arch


_SECTIONS = {
    "The series": ("fetch", "build", "boot", "test", "series", "deb", "trial"),
    "A kernel's cache lines": ("c2c",),
}


class _Kernel(NamedGroup):
    """The commands of kernel, which an installed command does not contain."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Look up a command; raise a UserError outside of a checkout."""
        if INSTALLED:
            raise UserError(
                "'kernel' needs a checkout of the project: run ./schedshard kernel there"
            )
        return super().resolve_command(ctx, args)


@click.group("kernel", cls=_Kernel, sections=None if INSTALLED else _SECTIONS)
@click.option(
    "--linux",
    metavar="V",
    envvar="SCHEDSHARD_LINUX",
    show_envvar=True,
    help="Use this series of Linux, one of kernel/base.toml [the default there].",
)
@click.option(
    "--arch",
    metavar="A",
    envvar="SCHEDSHARD_ARCH",
    show_envvar=True,
    default="x86",
    show_default=True,
    help="Architecture: x86, or arm64 for build, boot and test.",
)
@click.pass_context
def kernel(context: click.Context, linux: str | None, arch: str) -> None:
    """Make Linux with sharded scheduler state: fetch, build, test, series, packages.

    All files are in build/kernel, and each command continues where an earlier one stopped. A series
    of Linux other than the default has its own folder, build/kernel-V. These commands need a
    checkout of the project: run ./schedshard there.
    """
    context.obj = Chosen(linux, find_arch(arch))


def the_layout(*, any_arch: bool = False) -> Layout:
    """Return the layout of files for the chosen series of Linux and processor."""
    from kernel.source.base import layout_for

    context = click.get_current_context()
    chosen = context.find_object(Chosen) or Chosen(None, X86)
    if chosen.arch is not X86 and not any_arch:
        raise UserError(
            f"'kernel {context.info_name}' is for x86 only: leave out --arch {chosen.arch.name}"
        )
    return layout_for(chosen.linux, arch=chosen.arch)


def split_commas(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Split values at commas: ``stock,shard`` means ``--variant stock --variant shard``."""
    return tuple(word for value in values for word in value.split(","))


def variant_option(words: str, *, required: bool) -> Decorator:
    """Return the option --variant, which a command receives as ``variants``."""
    words = f"{words}; repeatable, or separated by commas."
    return many_option(
        "--variant", "variants", required=required, metavar="V", callback=split_commas, help=words
    )


VARIANTS = "A variant of kernel/series.toml, such as stock or shard"
VARIANT = variant_option(VARIANTS, required=True)
CONFIG = click.option(
    "--config",
    default="lab",
    show_default=True,
    metavar="C",
    help="A name of kernel/config, several joined by '+', or a file.",
)
JOBS = number_option(
    "-j",
    "--jobs",
    low=0,
    default=0,
    metavar=None,
    show_default=False,
    help="Jobs of make [one per CPU].",
)
MACHINE = click.option(
    "--machine",
    metavar="M",
    help="Machine to emulate, scaled down to --cpus [at most 64]: preset name or path of a machine "
    "file.",
)
