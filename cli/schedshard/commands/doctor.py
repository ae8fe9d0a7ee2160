# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verb doctor and its commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from schedshard.commands.groups import NamedGroup
from schedshard.commands.options import number_option, path_option, target_option
from schedshard.common.errors import UserError

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
_JUDGE = "judge"
_FLEET_WIDTH = 160


class DoctorGroup(NamedGroup):
    """A group whose unnamed command judges: doctor, doctor HOST.tar, doctor --perf FILE."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Send what names no command, and asks for no help, to the unnamed one."""
        if args[:1] == ["--version"]:
            return super().parse_args(ctx, args)
        # Completion asks with what stands before the word: it may become a command.
        if (args and args[0] in self.commands) or (ctx.resilient_parsing and not args):
            return super().parse_args(ctx, args)
        if set(args) & set(ctx.help_option_names):
            return super().parse_args(ctx, ["--help"])
        return super().parse_args(ctx, [_JUDGE, *args])

    @property
    def unnamed(self) -> click.Command:
        """Return the command that runs without a name."""
        return self.commands[_JUDGE]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands that have a name."""
        return [name for name in super().list_commands(ctx) if name != _JUDGE]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands, and options and the file of the unnamed one."""
        found = super().shell_complete(ctx, incomplete)
        found += self.unnamed.shell_complete(ctx, incomplete)
        if not incomplete.startswith("-"):
            found = [each for each in found if each.value != _JUDGE]
            found.append(CompletionItem(incomplete, type="file"))
        return found

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show both forms."""
        return ["[HOST.tar] [OPTIONS] | COMMAND"]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the options of the unnamed command with the named ones."""
        options = [each for each in self.unnamed.params if isinstance(each, click.Option)]
        rows = [record for each in options if (record := each.get_help_record(ctx))]
        with formatter.section("Options"):
            formatter.write_dl(rows)
        self.format_commands(ctx, formatter)


@click.group(cls=DoctorGroup)
def doctor() -> None:
    """Tell what the scheduler's shared cache lines cost this machine, and what helps today.

    Without arguments it looks at this host for some seconds; HOST.tar is what the script of 'doctor
    collect' made on another one. It only reads, and changes nothing.

    With --perf it judges a profile as well. That is the text of 'perf report --stdio', 'perf
    script' or 'perf c2c report --stdio', or perf.data where perf is installed. Without HOST.tar the
    profile is judged alone; --live adds this host.

    Exit status: 0 nothing found, 4 findings, 3 cannot tell, 2 bad usage or input. With --batch
    nagios those of a plugin: 0 nothing found, 1 findings, 2 findings of severity high, 3 cannot
    tell or bad input. With --batch prometheus 0 once the file is written.
    """


@doctor.command(_JUDGE)
@click.argument("host", required=False, type=click.Path(path_type=Path), metavar="[HOST.tar]")
@path_option("--perf", "profiles", multiple=True, help="A profile; repeatable.")
@click.option("--live", is_flag=True, help="Look at this host although a profile is given.")
@number_option("--seconds", high=600, default=3, help="How long to look at this host.")
@path_option(
    "--plan",
    metavar="DIR",
    help="Write a plan of cpuset partitions into DIR, which must be empty or absent.",
)
@path_option("--html", help="Write one page with a picture of the machine.")
@click.option(
    "--batch",
    type=click.Choice(["nagios", "prometheus"]),
    help="Print as a Nagios plugin does, or write metrics for Prometheus into the file of --out.",
)
@path_option("--out", help="See --batch.")
@click.option(
    "--predict",
    is_flag=True,
    help="Predict what the observed shape costs, now and after each remedy, instead of quoting the "
    "stored table.",
)
@number_option(
    "--limit",
    low=5,
    high=86400,
    default=120,
    metavar="SECONDS",
    help="How long --predict may take, about.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Look at this host again and again, write metrics for Prometheus into the file of --out, "
    "and say when the cost passes --threshold.",
)
@number_option(
    "--every", high=86400, default=60, metavar="SECONDS", help="From one look to the next."
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 100),
    default=5.0,
    show_default=True,
    metavar="PERCENT",
    help="Of the machine's CPU time.",
)
@number_option("--rounds", high=10_000, default=3, help="How often the cost must pass it.")
@number_option("--count", low=0, default=0, help="End after N looks; 0 is never.")
@_JSON
@click.pass_context
def judge(ctx: click.Context, /, host: Path | None, **options: Any) -> None:
    """Judge a host, a tar file of one, or profiles."""
    from schedshard.doctor.perform import JudgeRequest, perform

    if host is not None and not host.exists() and host.suffix == "":
        known = ", ".join(doctor.list_commands(ctx))
        raise UserError(f"no file '{host}', and no command of doctor: known are {known}")
    wanted = options.pop("watch")
    watched = {name: options.pop(name) for name in ("every", "threshold", "rounds", "count")}
    if not wanted:
        for name in watched:
            if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                raise UserError(f"--{name} is for --watch: give that, too")
        ctx.exit(perform(JudgeRequest(host, **options)))
    seconds, out = options.pop("seconds"), options.pop("out")
    others = [name for name in options if name != "limit" and options[name]]
    if host is not None or others:
        other = "HOST.tar" if host is not None else f"--{others[0].replace('_', '-')}"
        raise UserError(
            f"--watch looks at this host and writes metrics: leave out {other.replace('as-', '')}"
        )
    if seconds > watched["every"]:
        raise UserError(f"--every {watched['every']} is shorter than --seconds {seconds}")
    from schedshard.common.output import check_writable
    from schedshard.doctor.watch.watch import WatchRequest, watch

    if out is not None:
        check_writable(out)
    threshold = watched.pop("threshold") / 100
    ctx.exit(watch(WatchRequest(seconds=seconds, out=out, threshold=threshold, **watched)))


@doctor.command()
@click.argument(
    "places", nargs=-1, required=True, metavar="DIR|FILE...",
    type=click.Path(exists=True, path_type=Path),
)  # fmt: skip
@number_option("--jobs", high=1024, default=0, low=0, help="Hosts at a time; 0: one per CPU.")
@target_option("--html", help="Write one page.")
@target_option("--parquet", help="Write a row per host for other programs; needs pyarrow.")
@_JSON
@click.pass_context
def fleet(
    ctx: click.Context, /, places: tuple[Path, ...], jobs: int, html: Path | None,
    parquet: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Judge the archives of many hosts: by finding, and by machine and kernel, worst first.

    DIR is searched for .tar, .tar.gz and .tgz, with all folders in it. An archive that cannot be
    read is listed, and the run goes on. Exit status: 0 nothing found, 4 findings, 3 a host cannot
    be judged or read and none has findings.
    """
    import os

    from schedshard.common.output import to_json, write_atomic
    from schedshard.doctor.fleet.leave import fleet_data, fleet_page, fleet_parts, write_parquet
    from schedshard.doctor.fleet.survey import survey
    from schedshard.show.terminal import show

    found = survey(places, jobs or os.cpu_count() or 1)
    if html is not None:
        write_atomic(html, fleet_page(found))
    if parquet is not None:
        write_parquet(parquet, found)
    if as_json:
        sys.stdout.write(to_json(fleet_data(found)))
    else:
        show(fleet_parts(found), _FLEET_WIDTH)
    for path in (html, parquet):
        if path is not None:
            print(f"wrote {path}", file=sys.stderr)
    ctx.exit(found.status)


@doctor.command()
@click.argument("before", type=click.Path(path_type=Path), metavar="BEFORE.tar")
@click.argument("after", type=click.Path(path_type=Path), metavar="AFTER.tar")
@_JSON
@click.pass_context
def diff(ctx: click.Context, /, before: Path, after: Path, as_json: bool) -> None:
    """Tell what changed on one host, and whether the predicted gain came.

    Exit status: 0 no worse, 4 a finding is new or sharing costs more.
    """
    from schedshard.common.output import to_json
    from schedshard.doctor.fleet.diff import compare, diff_data, diff_parts
    from schedshard.show.terminal import show

    found = compare(before, after)
    if as_json:
        sys.stdout.write(to_json(diff_data(found)))
    else:
        show(diff_parts(found))
    ctx.exit(found.status)


@doctor.command()
@path_option(
    "--out",
    default=Path("/var/lib/prometheus/node-exporter/schedshard.prom"),
    show_default=True,
    help="Where the unit writes its metrics.",
)
def unit(out: Path) -> None:
    """Print a systemd unit that watches this host and writes metrics.

    'schedshard doctor unit > /etc/systemd/system/schedshard-doctor.service', then 'systemctl enable
    --now schedshard-doctor'.
    """
    from schedshard.common.paths import ALONE, own_argv
    from schedshard.doctor.watch.unit import unit_text

    # The file that Python runs need not be a program itself.
    command = [sys.executable, str(Path(sys.argv[0]).resolve())] if ALONE else own_argv("doctor")
    sys.stdout.write(unit_text(command, out))


@doctor.command()
def collect() -> None:
    """Print a shell script that collects what doctor reads into one small tar file.

    The script runs anywhere as an ordinary user: 'schedshard doctor collect > collect.sh', then
    'sh collect.sh' on the machine in question. It reads /proc and /sys twice, some seconds apart,
    and changes nothing. The tar file holds names of threads (comm) and of cgroups, or with -a
    pseudonyms of them. It holds neither command-line arguments nor environments nor names of the
    host and its users.
    """
    from schedshard.doctor.collector.script import script_text

    sys.stdout.write(script_text())


@doctor.command()
@_JSON
def catalogue(as_json: bool) -> None:
    """List the hot lines that doctor knows."""
    from schedshard.common.output import to_json
    from schedshard.doctor.known.catalogue import load_catalogue
    from schedshard.doctor.verdict.catalogue_view import catalogue_data, catalogue_table
    from schedshard.show.terminal import show

    known = load_catalogue()
    if as_json:
        sys.stdout.write(to_json(catalogue_data(known)))
    else:
        show([catalogue_table(known)])


@doctor.command()
@click.argument("name", metavar="ID")
def explain(name: str) -> None:
    """Explain one hot line: what it is, when it hurts, what helps, and the sources."""
    from schedshard.doctor.known.catalogue import find_entry
    from schedshard.doctor.verdict.catalogue_view import entry_parts
    from schedshard.show.terminal import show

    show(entry_parts(find_entry(name)))
