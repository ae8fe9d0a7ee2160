# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines subcommands of `schedshard kernel` that compile; each imports its stage when it runs."""

from pathlib import Path

import click

from cli.commands.kernel.group import CONFIG, JOBS, VARIANT, kernel, the_layout
from cli.commands.options import path_option


@kernel.command()
@VARIANT
@CONFIG
@JOBS
def build(variants: tuple[str, ...], config: str, jobs: int) -> None:
    """Compile a variant into bzImage, and into vmlinux with type information."""
    from kernel.build.build import BuildRequest
    from kernel.build.build import build as stage

    layout = the_layout(any_arch=True)
    for variant in variants:
        built = stage(layout, BuildRequest(variant, config, jobs))
        made = built.made
        click.echo(
            f"{layout.shown(built.kernel)}: {made.seconds:.0f} s, {made.files} files made, "
            f"ccache {made.hits} of {made.hits + made.misses} ({made.hit_rate:.0%})"
        )


@kernel.command()
@click.option("--variant", default="shard", show_default=True, metavar="V")
@click.option(
    "--config",
    default="host",
    show_default=True,
    metavar="C",
    help="As for 'build'; or 'host': the running kernel's configuration with only loaded modules.",
)
@path_option("--modules", metavar="FILE", help="lsmod's output on the target machine.")
@path_option("--out", metavar="DIR", help="Folder for the packages [build/kernel/deb].")
@JOBS
def deb(variant: str, config: str, modules: Path | None, out: Path | None, jobs: int) -> None:
    """Build Debian packages of a kernel and of its headers."""
    from kernel.build.deb import DebRequest
    from kernel.build.deb import deb as stage

    layout = the_layout()
    packages = stage(layout, DebRequest(variant, config, out, jobs, modules))
    for path in (packages.image, packages.headers, *packages.others):
        if path is not None:
            click.echo(f"{layout.shown(path)}: {path.stat().st_size / 1e6:.1f} MB")
    if packages.headers is None:
        click.echo("no package of headers: this configuration has no modules")
