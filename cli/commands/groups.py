# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The class of all command groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from common.errors import unknown_name

_WHOLE = 1000  # characters: a first sentence is wrapped and not cut


class NamedGroup(click.Group):
    """A group that suggests the nearest command, and lists commands by who needs them.

    ``sections`` contains the titles of the list, each with its commands. Without it there is one
    list.
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
