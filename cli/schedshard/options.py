# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Options that several verbs have, and how a result leaves."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console, RenderableType

from schedshard.output import to_json, write_atomic

_PLAIN_WIDTH = 140

OUT = click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Save the result as JSON."
)
PLACEMENT = click.option(
    "--placement",
    type=click.Choice(["os", "compact", "scatter"]),
    default="os",
    show_default=True,
    help="Which CPUs come first: CPU numbers in order, neighbours, or far apart.",
)
LIMIT = click.option(
    "--limit",
    type=click.IntRange(1, 86400),
    default=50,
    show_default=True,
    metavar="SECONDS",
    help="Start no measurement after that time.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")


def show(renderable: RenderableType) -> None:
    """Print to stdout: as wide as the terminal, or as wide as a table likes in a file."""
    width = None if sys.stdout.isatty() else _PLAIN_WIDTH
    if sys.stdout.isatty() and shutil.get_terminal_size().columns < 60:
        width = _PLAIN_WIDTH
    console = Console(width=width, highlight=False)
    if console.is_terminal:
        console.print(renderable)
        return
    with console.capture() as captured:
        console.print(renderable)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def deliver(
    result: dict[str, Any], as_json: bool, out: Path | None, view: RenderableType | None
) -> None:
    """Save where asked, then print JSON or the view."""
    text = to_json(result)
    if out is not None:
        write_atomic(out, text)
    if as_json:
        sys.stdout.write(text)
    elif view is not None:
        show(view)
    if out is not None and not as_json:
        print(f"saved {out}", file=sys.stderr)
