# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The reference of all verbs as Markdown, from the descriptions that the manual pages have, too."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Sequence

import click

from cli.manual import verbs


def _text(text: str) -> str:
    """Return a description as Markdown: nothing in it is markup."""
    plain = html.escape(" ".join(text.replace("\b", "").split()), quote=False)
    return re.sub(r"([\\`*_{}\[\]#|])", r"\\\1", plain)


def _options(command: click.Command, context: click.Context) -> list[str]:
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            name = record[0].replace("|", "\\|")
            rows.append(f"| `{name}` | {_text(record[1])} |")
    return ["| option | |", "|---|---|", *rows, ""] if rows else []


def _verb(names: Sequence[str], command: click.Command, context: click.Context) -> list[str]:
    usage = " ".join([*names, *command.collect_usage_pieces(context)])
    description = inspect.cleandoc(command.help or command.get_short_help_str(limit=200))
    # A group may show the options of a command that it runs without a name.
    shown = getattr(command, "unnamed", command)
    return [
        f"{'#' * min(len(names), 4)} {' '.join(names)}",
        "",
        "```text",
        usage,
        "```",
        "",
        *(line for part in re.split(r"\n\s*\n", description) for line in (_text(part), "")),
        *_options(shown, context),
    ]


def commands() -> str:
    """Return the page."""
    lines = ["<!-- made by scripts/site/commands.py -->"]
    for names, command, context in verbs():
        lines += _verb(names, command, context)
    return "\n".join(lines)
