# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The one look of all tables on a terminal, and what gives way when the terminal is narrow."""

from collections.abc import Iterable

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

WIDE = 115


class Sheet:
    """A table that leaves out its optional columns where less than WIDE characters fit a line."""

    def __init__(
        self,
        title: str | None,
        *columns: str,
        right: Iterable[str] = (),
        rigid: Iterable[str] = (),
        optional: Iterable[str] = (),
    ) -> None:
        """Name the columns; several may have one name.

        Those in ``right`` hold numbers; they, those in ``rigid`` and the first are never wrapped;
        those in ``optional`` are the ones to leave out.
        """
        self.title = title
        self.columns = columns
        self.right = set(right)
        self.rigid = {*rigid, *self.right, columns[0]}
        self.optional = set(optional)
        self.rows: list[tuple[str | Text, ...]] = []
        self.caption: str | None = None

    def add_row(self, *cells: str | Text) -> None:
        """Add a row with a cell for each column."""
        if len(cells) != len(self.columns):
            raise ValueError(f"a row of {len(cells)} cells in a table of {len(self.columns)}")
        self.rows.append(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw as wide as the console allows."""
        narrow = options.max_width < WIDE
        kept = [
            index
            for index, name in enumerate(self.columns)
            if not (narrow and name in self.optional)
        ]
        made = Table(
            title=self.title,
            caption=self.caption,
            box=box.SIMPLE_HEAD,
            title_justify="left",
            caption_justify="left",
            title_style="bold",
            collapse_padding=narrow,
            pad_edge=not narrow,
        )
        for index in kept:
            name = self.columns[index]
            made.add_column(
                name,
                justify="right" if name in self.right else "left",
                overflow="fold",
                no_wrap=name in self.rigid,
            )
        for row in self.rows:
            made.add_row(*(row[index] for index in kept))
        yield made
