# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The reference of all verbs as Markdown: what --help of each prints."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cli.commands.main import main


def verbs(
    name: str = "schedshard", command: click.Command = main, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the words and the help of every visible command."""
    context = click.Context(command, info_name=name.split()[-1], parent=parent)
    yield name, command.get_help(context)
    if isinstance(command, click.Group):
        for word in command.list_commands(context):
            inner = command.get_command(context, word)
            if inner is not None and not inner.hidden:
                yield from verbs(f"{name} {word}", inner, context)


def commands() -> str:
    """Return the page."""
    parts = ["<!-- made by scripts/site/commands.py -->"]
    for name, text in verbs():
        level = "#" * min(len(name.split()), 4)
        parts += [f"{level} {name}", f"```text\n{text}\n```"]
    return "\n\n".join(parts) + "\n"
