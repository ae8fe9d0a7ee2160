# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command doctor and its subcommands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from cli.commands.groups import UnnamedGroup
from cli.commands.options import number_option, path_option, target_option
from common.errors import UserError

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
_JUDGE = "judge"
_FLEET_WIDTH = 160


@click.group(cls=UnnamedGroup, unnamed=_JUDGE, usage="[HOST.tar] [OPTIONS]")
def doctor() -> None:
    """Show what the scheduler's shared cache lines cost this machine, and what helps today.

    Without arguments doctor looks at this host for a few seconds. HOST.tar is the file that the
    script of 'doctor collect' made on another host. Only 'apply' and 'undo' change anything.

    With --perf it also judges a profile: the text of 'perf report --stdio', 'perf script' or 'perf
    c2c report --stdio', or perf.data if perf is installed. Without HOST.tar it then judges only the
    profile; --live also judges this host.

    Exit status: 0 nothing found, 4 findings, 3 cannot tell, 2 bad usage or input. With --batch
    nagios the exit status is that of a Nagios plugin. It is 0 if no finding is above severity low,
    1 for severity medium, 2 for high, and 3 for cannot tell or bad input. With --batch prometheus
    it is 0 once the file is written.
    """


@doctor.command(_JUDGE)
@click.argument("host", required=False, type=click.Path(path_type=Path), metavar="[HOST.tar]")
@path_option("--perf", "profiles", multiple=True, help="A profile; repeatable.")
@click.option("--live", is_flag=True, help="With --perf: judge this host, too.")
@number_option("--seconds", high=600, default=3, help="Seconds between two readings of this host.")
@path_option("--plan", help="Write a page of commands that make cpuset partitions.")
@path_option("--html", help="Write an HTML page with a picture of the machine.")
@click.option(
    "--batch",
    type=click.Choice(["nagios", "prometheus"]),
    help="Print the verdict as a Nagios plugin does, or write metrics for Prometheus to --out.",
)
@path_option(
    "--out",
    help="The file for the metrics of --batch prometheus. A finding keeps its severity until its "
    "value is 30% below that severity's limit, so that a monitor does not flap.",
)
@click.option(
    "--threshold",
    type=float,
    default=0.0,
    metavar="PERCENT",
    help="Leave out findings whose remedy saves less than this share of the machine's CPU time.",
)
@click.option(
    "--predict",
    is_flag=True,
    help="Simulate what the observed load costs, now and with each remedy, instead of using the "
    "stored table.",
)
@number_option(
    "--limit",
    low=5,
    high=86400,
    default=120,
    metavar="SECONDS",
    help="About how long --predict may take.",
)
@_JSON
@click.pass_context
def judge(ctx: click.Context, /, host: Path | None, **options: Any) -> None:
    """Judge this host, a host's tar file, or profiles."""
    from doctor.perform import JudgeRequest, perform

    if host is not None and not host.exists() and host.suffix == "":
        known = ", ".join(doctor.list_commands(ctx))
        raise UserError(f"'{host}' is neither a file nor a command of doctor ({known})")
    ctx.exit(perform(JudgeRequest(host, **options)))


@doctor.command()
@click.argument(
    "places", nargs=-1, required=True, metavar="DIR|FILE...",
    type=click.Path(exists=True, path_type=Path),
)  # fmt: skip
@number_option("--jobs", high=1024, default=0, low=0, help="Judge N hosts at once; 0: one per CPU.")
@target_option("--html", help="Write an HTML page.")
@_JSON
@click.pass_context
def fleet(
    ctx: click.Context, /, places: tuple[Path, ...], jobs: int, html: Path | None, as_json: bool
) -> None:
    """Judge the archives of many hosts, with sums by finding, and by machine and kernel.

    DIR and all folders in it are searched for .tar, .tar.gz and .tgz. An archive that cannot be
    read is listed, and the others are judged. Exit status: 0 nothing found, 4 findings, 3 no
    findings, but some hosts cannot be judged or read.
    """
    import os

    from common.output import to_json, write_atomic
    from common.show.terminal import show
    from doctor.fleet.leave import fleet_data, fleet_page, fleet_parts
    from doctor.fleet.survey import survey

    result = survey(places, jobs or os.cpu_count() or 1)
    if html is not None:
        write_atomic(html, fleet_page(result))
    if as_json:
        sys.stdout.write(to_json(fleet_data(result)))
    else:
        show(fleet_parts(result), _FLEET_WIDTH)
    if html is not None:
        print(f"wrote {html}", file=sys.stderr)
    ctx.exit(result.status)


@doctor.command()
@click.argument("before", type=click.Path(path_type=Path), metavar="BEFORE.tar")
@click.argument("after", type=click.Path(path_type=Path), metavar="AFTER.tar")
@_JSON
@click.pass_context
def diff(ctx: click.Context, /, before: Path, after: Path, as_json: bool) -> None:
    """Show what changed on a host between two archives, and whether the predicted gain was reached.

    Exit status: 0 not worse, 4 a finding is new or sharing costs more.
    """
    from common.output import to_json
    from common.show.terminal import show
    from doctor.fleet.diff import compare, diff_data, diff_parts

    difference = compare(before, after)
    if as_json:
        sys.stdout.write(to_json(diff_data(difference)))
    else:
        show(diff_parts(difference))
    ctx.exit(difference.status)


@doctor.command()
def collect() -> None:
    """Print a shell script that collects what doctor reads into one small tar file.

    Run 'schedshard doctor collect > collect.sh', then 'sh collect.sh' on the machine in question.
    An ordinary user can run the script. It reads /proc and /sys twice, some seconds apart, and
    changes nothing. The tar file contains names of threads (comm) and of cgroups, or with -a
    pseudonyms. It does not contain command-line arguments, environments, or names of the host and
    its users.
    """
    from doctor.collector.script import script_text

    sys.stdout.write(script_text())


@doctor.command()
@click.argument("plan", type=click.Path(path_type=Path), metavar="PLAN.json")
@click.option("--again", is_flag=True, help="Make only the partitions that are missing.")
def apply(plan: Path, again: bool) -> None:
    """Make the partitions of a plan on this host, as root.

    'doctor --plan FILE' writes PLAN.json beside its page. After each partition the command asks the
    kernel whether it is valid. If not, all changes are undone, and the kernel's reason is printed
    (exit status 1). With --again, partitions whose cgroups do not exist now are left for later.
    """
    import platform

    from doctor.plan import apply as work

    print(work.apply(work.read_plan(plan, platform.release()), work.this_host(), again=again))


@doctor.command()
def undo() -> None:
    """Undo what 'apply' did, even if it was interrupted."""
    from doctor.plan import apply as work

    print(work.undo(work.this_host()))


@doctor.command()
@click.pass_context
def verify(ctx: click.Context, /) -> None:
    """Check that the kernel still has the partitions that 'apply' made.

    Exit status: 0 yes, 4 no.
    """
    from doctor.plan import apply as work

    wrong = work.verify(work.this_host())
    for line in wrong or ["the kernel has all partitions of the plan"]:
        print(line)
    ctx.exit(4 if wrong else 0)


@doctor.command()
@_JSON
def catalogue(as_json: bool) -> None:
    """List the hot lines that doctor knows."""
    from common.output import to_json
    from common.show.terminal import show
    from doctor.known.catalogue import load_catalogue
    from doctor.verdict.catalogue_view import catalogue_data, catalogue_table

    known = load_catalogue()
    if as_json:
        sys.stdout.write(to_json(catalogue_data(known)))
    else:
        show([catalogue_table(known)])


@doctor.command()
@click.argument("name", metavar="ID")
def explain(name: str) -> None:
    """Explain one hot line: what it is, when it hurts, what helps, and the sources."""
    from common.show.terminal import show
    from doctor.known.catalogue import find_entry
    from doctor.verdict.catalogue_view import entry_parts

    show(entry_parts(find_entry(name)))
