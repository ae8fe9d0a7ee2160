# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The look of all tables on a terminal, and how they adapt to a narrow one."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

WIDE = 115
# A column that wraps keeps this width, if its cells are that wide.
_LEAST = 24
_BETWEEN = 2  # blanks


class Sheet:
    """A table that leaves out its optional columns on a narrow console.

    A console is narrow if a line has fewer than WIDE characters, or fewer than the table needs.
    """

    def __init__(
        self,
        title: str | None,
        *columns: str,
        right: Iterable[str] = (),
        rigid: Iterable[str] = (),
        optional: Iterable[str] = (),
    ) -> None:
        """Name the columns. Several columns may have the same name.

        Columns in ``right`` contain numbers. They, the ``rigid`` ones and the first one never wrap.
        A narrow console omits the ``optional`` ones.
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

    def _needed(self, index: int) -> int:
        """Return the width that a column needs: all of it if it never wraps, otherwise _LEAST."""
        name = self.columns[index]
        widest = max(len(name), *(len(row[index]) for row in self.rows), 0)
        return widest if name in self.rigid else min(widest, _LEAST)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the table as wide as the console allows."""
        widths = [self._needed(index) for index in range(len(self.columns))]
        needed = sum(widths) + _BETWEEN * len(widths)
        narrow = options.max_width < max(WIDE, needed)
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
                min_width=None if narrow else widths[index],
            )
        for row in self.rows:
            made.add_row(*(row[index] for index in kept))
        yield made
