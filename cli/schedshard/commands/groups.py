# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The class of all command groups."""

from __future__ import annotations

import click

from schedshard.common.errors import unknown_name


class NamedGroup(click.Group):
    """A group that suggests the nearest command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Look a command up; an unknown one is answered with the nearest name."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            kind = "command" if ctx.parent is None else f"command of '{ctx.command_path}'"
            raise unknown_name(kind, args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)
