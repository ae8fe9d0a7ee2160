# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The class of all command groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from common.errors import unknown_name

_WHOLE = 1000  # characters: a first sentence is wrapped and not cut


class NamedGroup(click.Group):
    """A group that suggests the nearest command, and lists commands by who needs them.

    ``sections``: the titles of the lists, each with its commands. Without them there is one list.
    """

    def __init__(
        self, *args: Any, sections: Mapping[str, Sequence[str]] | None = None, **options: Any
    ) -> None:
        """Keep the sections. All other arguments go to click."""
        super().__init__(*args, **options)
        self.sections = sections

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list of commands per section."""
        if self.sections is None:
            super().format_commands(ctx, formatter)
            return
        width = max(map(len, self.commands))
        for title, names in self.sections.items():
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name.ljust(width), self.commands[name].get_short_help_str(_WHOLE))
                        for name in names
                    ]
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Look up a command. For an unknown name the error suggests the nearest one."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            kind = "command" if ctx.parent is None else f"command of '{ctx.command_path}'"
            raise unknown_name(kind, args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


class UnnamedGroup(NamedGroup):
    """A group with a command that runs without its name: `doctor HOST.tar`, `record -- PROGRAM`.

    ``unnamed`` is that command's name, ``usage`` how its arguments are written in the usage.
    """

    def __init__(self, *args: Any, unnamed: str, usage: str, **options: Any) -> None:
        """Keep the name. All other arguments go to NamedGroup."""
        super().__init__(*args, **options)
        self._name = unnamed
        self._usage = usage

    @property
    def unnamed(self) -> click.Command:
        """Return the command that runs without a name."""
        return self.commands[self._name]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Pass arguments to the unnamed command, unless they name a command or ask for help."""
        if args[:1] == ["--version"]:
            return super().parse_args(ctx, args)
        # Completion passes the words before the incomplete word, which may become a command.
        if (args and args[0] in self.commands) or (ctx.resilient_parsing and not args):
            return super().parse_args(ctx, args)
        # Behind a program's name --help is the program's.
        words = args if self.unnamed.allow_interspersed_args else args[:1]
        if set(words) & set(ctx.help_option_names):
            return super().parse_args(ctx, ["--help"])
        return super().parse_args(ctx, [self._name, *args])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands except the unnamed one."""
        return [name for name in super().list_commands(ctx) if name != self._name]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands, and options and a file of the unnamed command."""
        completions = super().shell_complete(ctx, incomplete)
        completions += self.unnamed.shell_complete(ctx, incomplete)
        if not incomplete.startswith("-"):
            completions = [item for item in completions if item.value != self._name]
            completions.append(CompletionItem(incomplete, type="file"))
        return completions

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the usage without and with a command's name."""
        return [f"{self._usage} | COMMAND"]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the options of the unnamed command, and the named commands."""
        options = [option for option in self.unnamed.params if isinstance(option, click.Option)]
        rows = [record for option in options if (record := option.get_help_record(ctx))]
        with formatter.section("Options"):
            formatter.write_dl(rows)
        self.format_commands(ctx, formatter)
