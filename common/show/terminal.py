# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Prints to stdout, as wide as the terminal, or with a fixed width to a file. Obeys NO_COLOR."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from common.safe import safe, trusted

_FILE_WIDTH = 100


class SafeConsole(Console):
    """A console that makes safe the text between its own control sequences."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments of a renderable."""
        for segment in super().render(renderable, options):
            known = segment.control or segment.text.isspace()
            yield segment if known else Segment(safe(segment.text), segment.style)


def show(
    parts: Iterable[RenderableType], file_width: int = _FILE_WIDTH, narrowest: int = 0
) -> None:
    """Print the parts below each other. A file gets no blanks at the ends of lines.

    A terminal that is narrower than ``narrowest`` gets the width of a file.
    """
    asked = sys.stdout.isatty() and shutil.get_terminal_size().columns >= narrowest
    width = None if asked else file_width
    console = SafeConsole(file=trusted(sys.stdout), width=width, highlight=False)
    if console.is_terminal:
        for part in parts:
            console.print(part)
        return
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
