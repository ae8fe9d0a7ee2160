# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Text on stdout: as wide as the terminal, or 100 columns in a file; no colour under NO_COLOR."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, RenderableType

_FILE_WIDTH = 100


def show(parts: Iterable[RenderableType]) -> None:
    """Print the parts below each other, without blanks at the ends of lines."""
    console = Console(width=None if sys.stdout.isatty() else _FILE_WIDTH, highlight=False)
    if console.is_terminal:
        for part in parts:
            console.print(part)
        return
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
