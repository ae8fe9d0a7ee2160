# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Subcommands of `schedshard kernel` that compile. They import their stages when they run."""

from pathlib import Path

import click

from schedshard.commands.kernel.group import (
    CONFIG,
    JOBS,
    VARIANT,
    VARIANTS,
    kernel,
    the_layout,
    variant_option,
)
from schedshard.commands.options import JSON_OR_TABLE, deliver, many_option, path_option
from schedshard.common.errors import check_names


@kernel.command()
@VARIANT
@CONFIG
def config(variants: tuple[str, ...], config: str) -> None:
    """Merge a variant's configuration, and check that all options took effect."""
    from schedshard.kernel.build.config import configure, resolve
    from schedshard.kernel.source.apply import apply as apply_stage
    from schedshard.kernel.source.recipe import load_recipe

    layout = the_layout(any_arch=True)
    recipe = load_recipe(layout)
    for variant in variants:
        chosen = recipe.variant(variant)
        configuration = resolve(layout, config, chosen.config)
        apply_stage(layout, variant)
        with layout.locked(variant):
            path = configure(layout, variant, configuration)
        click.echo(layout.shown(path))


@kernel.command()
@VARIANT
@CONFIG
@JOBS
def build(variants: tuple[str, ...], config: str, jobs: int) -> None:
    """Compile a variant: bzImage, and vmlinux with its types."""
    from schedshard.kernel.build.build import BuildRequest
    from schedshard.kernel.build.build import build as stage

    layout = the_layout(any_arch=True)
    for variant in variants:
        built = stage(layout, BuildRequest(variant, config, jobs))
        made = built.made
        click.echo(
            f"{layout.shown(built.kernel)}: {made.seconds:.0f} s, {made.files} files made, "
            f"ccache {made.hits} of {made.hits + made.misses} ({made.hit_rate:.0%})"
        )


@kernel.command()
@variant_option(f"[shard], {VARIANTS}", required=False)
@many_option("--only", "names", metavar="K", help="Only this kernel, such as m68k; repeatable.")
@JOBS
def cross(variants: tuple[str, ...], names: tuple[str, ...], jobs: int) -> None:
    """Compile the objects of a variant for other architectures, without booting them.

    Any warning is an error. Small kernels are also linked and measured: '--variant stock --variant
    series' shows the size that the series adds.
    """
    from schedshard.kernel.build.cross import CROSS, compile_cross

    check_names("kernel for another architecture", names, CROSS)
    layout = the_layout()
    for name in names or CROSS:
        for variant in variants or ("shard",):
            done = compile_cross(layout, name, variant, jobs)
            words = f"{name} ({CROSS[name].words}): {variant}, {done.compiler}, "
            words += f"{done.made.files} files made, {done.made.seconds:.0f} s"
            if size := done.sections:
                words += f"; {size.text} text, {size.data} data, {size.bss} bss"
            click.echo(words)


@kernel.command()
@click.option("--variant", default="shard", show_default=True, metavar="V")
@click.option(
    "--config",
    default="package",
    show_default=True,
    metavar="C",
    help="As for build; /boot/config-$(uname -r) copies that of the running Debian kernel.",
)
@path_option("--out", metavar="DIR", help="[build/kernel/deb]")
@click.option(
    "--try-install", is_flag=True, help="Install and remove the packages in a debootstrap root."
)
@JOBS
def deb(variant: str, config: str, out: Path | None, try_install: bool, jobs: int) -> None:
    """Build Debian packages of a kernel and of its headers."""
    from schedshard.kernel.build.deb import DebRequest
    from schedshard.kernel.build.deb import deb as stage
    from schedshard.kernel.build.deb_try import try_install as trial

    layout = the_layout()
    packages = stage(layout, DebRequest(variant, config, out, jobs))
    for path in (packages.image, packages.headers, *packages.others):
        if path is not None:
            click.echo(f"{layout.shown(path)}: {path.stat().st_size / 1e6:.1f} MB")
    if packages.headers is None:
        click.echo("no package of headers: this configuration has no modules")
    if try_install:
        tried = trial(layout, packages)
        click.echo(f"{tried.release}: installed and removed in a small Debian, as it should be")


@kernel.command()
@VARIANT
@CONFIG
@click.option("--machine", default="xeon-480", show_default=True, metavar="M")
@JSON_OR_TABLE
def sizes(variants: tuple[str, ...], config: str, machine: str, as_json: bool) -> None:
    """Compare the memory of a root domain: its structures, and what it allocates for the CPUs."""
    from schedshard.kernel.build.sizes import plan_of
    from schedshard.kernel.build.sizes import sizes as stage
    from schedshard.kernel.build.sizes_view import sizes_table
    from schedshard.machines.presets import load_machine, machine_topology

    plan = plan_of(machine_topology(load_machine(machine))["plan"])
    result = stage(the_layout(), variants, config, plan)
    deliver(result, as_json, None, sizes_table(result))
