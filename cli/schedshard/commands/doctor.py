# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verb doctor and its commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from schedshard.commands.groups import NamedGroup
from schedshard.commands.options import number_option, path_option
from schedshard.common.errors import UserError

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
_JUDGE = "judge"


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
    collect' made on another one. It reads only, and applies nothing.

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
@_JSON
@click.pass_context
def judge(ctx: click.Context, /, host: Path | None, **options: Any) -> None:
    """Judge a host, a tar file of one, or profiles."""
    from schedshard.doctor.perform import JudgeRequest, perform

    if host is not None and not host.exists() and host.suffix == "":
        known = ", ".join(doctor.list_commands(ctx))
        raise UserError(f"no file '{host}', and no command of doctor: known are {known}")
    ctx.exit(perform(JudgeRequest(host, **options)))


@doctor.command()
def collect() -> None:
    """Print a shell script that collects what doctor reads into one small tar file.

    The script runs anywhere as an ordinary user: 'schedshard doctor collect > collect.sh', then
    'sh collect.sh' on the machine in question. It reads /proc and /sys twice, some seconds apart,
    and changes nothing. The tar file holds names of threads (comm) and of cgroups, and neither
    command-line arguments nor environments nor names of the host and its users.
    """
    from schedshard.doctor.facts.script import script_text

    sys.stdout.write(script_text())


@doctor.command()
@_JSON
def catalogue(as_json: bool) -> None:
    """List the hot lines that doctor knows."""
    from schedshard.common.output import to_json
    from schedshard.doctor.judge.catalogue import load_catalogue
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
    from schedshard.doctor.judge.catalogue import find_entry
    from schedshard.doctor.verdict.catalogue_view import entry_parts
    from schedshard.show.terminal import show

    show(entry_parts(find_entry(name)))
