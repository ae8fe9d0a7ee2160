# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Prints to stdout, as wide as the terminal, or with a fixed width to a file. Obeys NO_COLOR."""

import re
import shutil
import sys
from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.segment import Segment, Segments

from common.errors import printable

_FILE_WIDTH = 100
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _harmless(console: Console, part: RenderableType) -> Segments:
    """Return a part in which a file's names, such as those of objects, hold no control characters.

    A terminal would obey them.
    """
    return Segments(
        segment
        if segment.control
        else Segment(_CONTROL.sub(lambda met: printable(met[0]), segment.text), segment.style)
        for segment in console.render(part)
    )


def show(
    parts: Iterable[RenderableType], file_width: int = _FILE_WIDTH, narrowest: int = 0
) -> None:
    """Print the parts below each other. A file gets no blanks at the ends of lines.

    A terminal that is narrower than ``narrowest`` gets the width of a file.
    """
    asked = sys.stdout.isatty() and shutil.get_terminal_size().columns >= narrowest
    console = Console(width=None if asked else file_width, highlight=False)
    if console.is_terminal:
        for part in parts:
            console.print(_harmless(console, part), end="")
        return
    with console.capture() as captured:
        for part in parts:
            console.print(_harmless(console, part), end="")
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
