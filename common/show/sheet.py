# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the only kind of table, for pages and for terminals, which may be narrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Union

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

WIDE = 115
# A column that wraps keeps this width, if its cells are that wide.
_LEAST = 24
_BETWEEN = 2  # blanks

Cell = Union[str, Text]


def judged(text: str, good: bool | None) -> Text:
    """Return a cell in the colour of a verdict; None: it was not judged."""
    return Text(text, style={True: "green", False: "bold red", None: ""}[good])


class Sheet:
    """A table that leaves out its optional columns on a narrow console.

    A console is narrow if a line has fewer than WIDE characters, or fewer than the table needs. A
    page shows all columns.
    """

    def __init__(
        self,
        title: str | None,
        *columns: str,
        right: Iterable[str] = (),
        rigid: Iterable[str] = (),
        optional: Iterable[str] = (),
        code: Iterable[str] = (),
        rows: Iterable[Sequence[Cell]] = (),
    ) -> None:
        """Name the columns. Several columns may have the same name.

        Columns in ``right`` contain numbers. Those, the ``rigid`` columns and the first column
        never wrap. A narrow console omits ``optional`` columns. ``code`` columns contain names.
        """
        self.title = title
        self.columns = columns
        self.right = set(right)
        self.rigid = {*rigid, *self.right, columns[0]}
        self.optional = set(optional)
        self.code = set(code)
        self.rows: list[tuple[Cell, ...]] = []
        self.caption: str | None = None
        for row in rows:
            self.add_row(*row)

    def add_row(self, *cells: Cell) -> None:
        """Add a row with a cell for each column."""
        if len(cells) != len(self.columns):
            raise ValueError(f"a row of {len(cells)} cells in a table of {len(self.columns)}")
        self.rows.append(cells)

    def named(self, row: tuple[Cell, ...]) -> Iterable[tuple[str, Cell]]:
        """Return the cells of a row, each with the name of its column."""
        return zip(self.columns, row)

    def kind(self, column: str, cell: Cell = "") -> str:
        """Return the class of a cell, or of a column's head, in a page's style sheet."""
        if isinstance(cell, Text) and cell.style:
            return {"green": "good", "bold red": "bad"}.get(str(cell.style), "num")
        return "num" if column in self.right else "code" if column in self.code else ""

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


class Notes:
    """Words, each with a sentence that explains it; a terminal shows the sentence beside it."""

    def __init__(self, rows: Iterable[tuple[str, str]]) -> None:
        self.rows = list(rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the notes as a grid."""
        made = Table.grid(padding=(0, 2))
        made.add_column(style="dim", no_wrap=True)
        made.add_column(overflow="fold")
        for row in self.rows:
            made.add_row(*row)
        yield made


def flat(view: RenderableType) -> list[Sheet | str]:
    """Return what a page shows of a terminal's view: its tables, and its texts and notes."""
    if isinstance(view, Group):
        return [part for renderable in view.renderables for part in flat(renderable)]
    if isinstance(view, Notes):
        return [f"{word}: {text}" for word, text in view.rows]
    if isinstance(view, Text):
        return [line.strip() for line in view.plain.splitlines() if line.strip()]
    return [view] if isinstance(view, Sheet) else []
