# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines subcommands of `schedshard kernel` for sources and patches. They import stages late."""

from dataclasses import replace
from pathlib import Path

import click

from cli.commands.kernel.group import CONFIG, JOBS, Chosen, kernel, the_layout
from cli.commands.options import path_option
from common.errors import UserError


@kernel.command()
@path_option(
    "--base",
    "path",
    metavar="PATH",
    help="Use this source tree, tarball or Debian package instead of the mirror.",
)
@click.option(
    "--any",
    "any_series",
    is_flag=True,
    help="Use the next Linux series in kernel/base.toml if the mirror no longer has the default "
    "one; print which series was used.",
)
def fetch(path: Path | None, any_series: bool) -> None:
    """Unpack Debian's kernel source: the installed package, or else the mirror's newest.

    If the version was not tested, the command checks that every edit of the series applies to it.
    """
    from kernel.source.apply import try_edits
    from kernel.source.base import fetch as stage
    from kernel.source.base import fetch_any, load_base

    chosen = click.get_current_context().find_object(Chosen)
    named = chosen is not None and chosen.linux is not None
    if any_series and (path is not None or named):
        raise UserError("--any chooses the series: leave --base, --linux and SCHEDSHARD_LINUX out")
    if any_series:
        layout, source = fetch_any(tell=lambda line: click.echo(f"schedshard: {line}", err=True))
        how = "is there"
    else:
        layout = the_layout(any_arch=True)
        source, fresh = stage(layout, path)
        how = "unpacked" if fresh else "already there"
    click.echo(f"{layout.shown(layout.base)}: {source.version}, {how}", err=any_series)
    if not source.tested:
        made, all_edits = try_edits(layout)
        words = f"this version was not tested: {made} of {all_edits} edits of the series apply"
        click.echo(words, err=any_series)
    if any_series:
        click.echo(load_base(layout).linux)


@kernel.command()
@path_option("--out", metavar="DIR", help="Folder for the patches [build/kernel/series].")
@click.option(
    "--send",
    metavar="NAME",
    default="",
    help="Write only this part, a, b, c or fork, to send-PART; it can be sent alone.",
)
@path_option(
    "--onto",
    metavar="TREE",
    help="A git tree of Linux: the series must apply to its commit, which the cover letter names.",
)
@click.option(
    "--signoff",
    metavar="'NAME <MAIL>'",
    help="Make this person the author, and sign off each patch as them [nobody].",
)
@click.option(
    "--assisted-by",
    metavar="TEXT",
    default="",
    help="Add a line Assisted-by to each patch (Documentation/process/coding-assistants.rst).",
)
@click.option("--check", is_flag=True, help="Run git am on a clean tree, and checkpatch --strict.")
@click.option("--check-steps", is_flag=True, help="Compile the tree after every step.")
@CONFIG
@JOBS
def series(
    out: Path | None,
    send: str,
    onto: Path | None,
    signoff: str | None,
    assisted_by: str,
    check: bool,
    check_steps: bool,
    config: str,
    jobs: int,
) -> None:
    """Write the patches, as git format-patch does."""
    from common.programs import require
    from kernel.arch import X86
    from kernel.build.make import tools as build_tools
    from kernel.series.checkpatch import checkpatch
    from kernel.series.git import parse_person
    from kernel.series.onto import current_commit, name_base
    from kernel.series.series import Sender, check_am, check_lines, count_lines, write_series
    from kernel.series.series import check_steps as build_steps
    from kernel.series.series_view import print_judged, print_lines, print_steps
    from kernel.source.base import fetch_command, fetched, require_fetched

    if onto is not None and not onto.is_dir():
        raise UserError(f"--onto {onto}: no such folder")
    layout = replace(the_layout(), send=send)
    # Before minutes of work check that all programs are there, then that the source is fetched.
    programs = ["git", "spatch", "diff", *(["perl"] if check else [])]
    programs += build_tools(X86) if check_steps else ()
    require(*programs, then="" if fetched(layout) else fetch_command(layout))
    require_fetched(layout)
    sender = Sender(parse_person(signoff) if signoff is not None else None, assisted_by)
    if onto is None:
        made = write_series(layout, out, sender=sender)
    else:
        commit = current_commit(onto)
        made = write_series(layout, out, lambda folder: name_base(folder, onto, commit), sender)
        click.echo(f"{layout.shown(made.patches[0].parent)}: base-commit {commit}")
    for _, patches in made.parts:
        click.echo(f"{layout.shown(patches[0].parent)}: patches: {len(patches)}")
    lines = count_lines(made)
    print_lines(lines)
    check_lines(layout, lines)
    if check:
        files = check_am(layout, made)
        click.echo(f"git am on an untouched tree: the same {files} files as in the built tree")
        print_judged(checkpatch(layout, made.all, signed=sender.person is not None))
    if check_steps:
        print_steps(build_steps(layout, config, jobs))
