# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The parts of a page: the question and the answer, then boxes with figures and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from common.show.drawing import Shown
from common.show.theme import variables

if TYPE_CHECKING:
    # Not imported for doctor's pages, which have no layouts: it imports the reader of binaries.
    from model.layout_picture import Picture

_NUMBER = {"num", "good", "bad"}


@dataclass(frozen=True)
class Cell:
    """One cell of a table. ``kind`` is a class of the style sheet."""

    text: str
    kind: str = ""


@dataclass(frozen=True)
class Column:
    """The head of a column. ``number``: the column contains numbers."""

    name: str
    number: bool = False


@dataclass(frozen=True)
class Grid:
    """A table with a caption."""

    columns: list[Column]
    rows: list[list[Cell]]
    caption: str = ""


@dataclass(frozen=True)
class LayoutGroup:
    """The pictures of layouts of one variant."""

    title: str
    pictures: list[Picture]


@dataclass(frozen=True)
class Lead:
    """The beginning of a page: a question, its answer, and the answer's interval."""

    asked: str
    answer: str
    interval: str


@dataclass
class Section:
    """One box of a page. Readers open ``folded`` tables and notes on demand."""

    anchor: str
    heading: str
    where: str
    lead: Lead | None = None
    figures: list[Shown] = field(default_factory=list)
    tables: list[Grid] = field(default_factory=list)
    folded: list[Grid] = field(default_factory=list)
    folded_title: str = ""
    layouts: list[LayoutGroup] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def num(text: str) -> Cell:
    """Return a cell with a number."""
    return Cell(text, "num")


def code(text: str) -> Cell:
    """Return a cell with a name from a program."""
    return Cell(text, "code")


def grid(columns: Sequence[str], rows: list[list[Cell]], caption: str = "") -> Grid:
    """Return a table.

    A column counts as a number column if its cell in the first row is a number.
    """
    heads = [
        Column(name, bool(rows) and rows[0][index].kind in _NUMBER)
        for index, name in enumerate(columns)
    ]
    return Grid(heads, rows, caption)


def rendered(template: str, **values: Any) -> str:
    """Return a page as text. The page loads nothing else, not even from a network."""
    environment = Environment(
        loader=PackageLoader("common.show"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    themes = {"light_plots": variables(dark=False), "dark_plots": variables(dark=True)}
    return environment.get_template(template).render(themes | values).lstrip()
