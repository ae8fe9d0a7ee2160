# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draws boxes, lines and words as SVG without a plotting library, and puts pictures on pages.

Lengths are points, from the upper left corner.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Union
from urllib.parse import quote

from common.show.theme import WHITE, themed

FONT = ("DejaVu Sans", "sans-serif")

Value = Union[str, float, None]


@dataclass(frozen=True)
class Rect:
    """A box. It has no edge if ``edge`` is ""."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    edge: str = ""
    radius: float = 0.0

    def svg(self) -> str:
        """Return the box as an SVG element."""
        edge = f"; stroke: {self.edge}; stroke-width: 0.6" if self.edge else ""
        round_ = f' rx="{_n(self.radius)}"' if self.radius else ""
        return (
            f'<rect x="{_n(self.x)}" y="{_n(self.y)}" width="{_n(self.width)}" '
            f'height="{_n(self.height)}"{round_} style="fill: {self.fill}{edge}"/>'
        )


@dataclass(frozen=True)
class Words:
    """Text that begins at a place or is centred there. Its middle is at the given height."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    centred: bool = False

    def svg(self) -> str:
        """Return the text as an SVG element."""
        anchor = "; text-anchor: middle" if self.centred else ""
        # The baseline of digits is a third of their size below the middle.
        return (
            f'<text x="{_n(self.x)}" y="{_n(self.y + self.size * 0.36)}" style="font-size: '
            f'{_n(self.size)}px; fill: {self.colour}{anchor}">{escape(self.text)}</text>'
        )


@dataclass(frozen=True)
class Line:
    """A thin, translucent line."""

    x: float
    y: float
    to_x: float
    to_y: float
    colour: str

    def svg(self) -> str:
        """Return the line as an SVG element."""
        return (
            f'<line x1="{_n(self.x)}" y1="{_n(self.y)}" x2="{_n(self.to_x)}" '
            f'y2="{_n(self.to_y)}" style="stroke: {self.colour}; stroke-width: 0.7; '
            'stroke-opacity: 0.6"/>'
        )


Shape = Union[Rect, Words, Line]


def _n(length: float) -> str:
    return f"{length:.2f}".rstrip("0").rstrip(".")


@dataclass
class Drawing:
    """A picture, and the numbers that it shows: a row per point, None for no value."""

    width: float = 0.0
    height: float = 0.0
    shapes: list[Shape] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    rows: Sequence[Sequence[Value]] = ()

    def svg(self) -> str:
        """Return the picture as the text of an SVG file."""
        width, height = _n(self.width), _n(self.height)
        font = ", ".join(f"&quot;{name}&quot;" if " " in name else name for name in FONT)
        paper = Rect(0.0, 0.0, self.width, self.height, WHITE)
        parts = "\n".join(shape.svg() for shape in (paper, *self.shapes))
        return (
            '<?xml version="1.0" encoding="utf-8"?>\n'
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}pt" height="{height}pt" '
            f'viewBox="0 0 {width} {height}" version="1.1" style="font-family: {font}">\n'
            f"{parts}\n</svg>\n"
        )

    def shown(self, title: str) -> Shown:
        """Return the picture for a page, with a title and its numbers."""
        return shown_svg(self.svg(), title, self.columns, self.rows)


@dataclass(frozen=True)
class Shown:
    """A picture on a page: its SVG, a title in words, and a link to its numbers."""

    svg: str
    title: str
    link: str
    points: int


def csv_text(columns: Iterable[str], rows: Iterable[Sequence[Value]]) -> str:
    """Return numbers as CSV by RFC 4180, except for the line ends."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def shown_svg(
    svg: str, title: str, columns: Iterable[str], rows: Sequence[Sequence[Value]]
) -> Shown:
    """Return a picture with its numbers for a page."""
    link = f"data:text/csv;charset=utf-8,{quote(csv_text(columns, rows))}"
    return Shown(in_page(svg, title), title, link, len(rows))


def in_page(svg: str, title: str) -> str:
    """Return an SVG element for a page: no prolog, no name spaces, a title for readers.

    A page's parser knows SVG's name spaces, and without them the page holds no address. Colours are
    variables of the page, which has a set for light and one for dark paper.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", svg)
    # Groups are called the same in every figure; nothing refers to them.
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r'(<svg[^>]*?)\s+height="[^"]*"', r"\1", svg, count=1)
    font = re.search(r'<svg[^>]*? style="([^"]*)"', svg)
    svg = svg.replace(f' style="{font[1]}"', "", 1) if font else svg
    # A picture is never larger than it was drawn, so small ones stay small on wide screens. It is
    # not much smaller either, because letters must stay readable: the box around it scrolls.
    svg = re.sub(
        r'(<svg[^>]*?)\s+width="([^"]*)"', r'\1 style="max-width:\2;min-width:min(\2,40rem)'
        + (f";{font[1]}" if font else "") + '"', svg, count=1,
    )  # fmt: skip
    safe = title.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return themed(svg).replace("<svg", f'<svg role="img" aria-label="{safe}"', 1).strip()
