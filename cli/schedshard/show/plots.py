# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What plots share: SVG with the same bytes for the same numbers, their data, colours, grids."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from schedshard.show.theme import themed

INK = "#1f2933"
QUIET = "#9aa5b1"
PUBLISHED = "#1f2933"
PALETTE = ("#2f6db3", "#d9822b", "#3a9a6b", "#b5476d", "#7a5cb8", "#1795a6", "#a0812b", "#5b6b7b")
VARIANT_COLOURS = {
    "global": "#b5302b",
    "atomic": "#b5302b",
    "node": "#d9822b",
    "llc": "#2f6db3",
    "llc-byte": "#1795a6",
    "sbm": "#3a9a6b",
    "sharded": "#3a9a6b",
    "sbm-summary": "#7a5cb8",
    "stock": "#b5302b",
    "pad": "#d9822b",
    "split": "#b08900",
    "relayout": "#b5476d",
    "node-count": "#7a5cb8",
    "node-mask": "#1795a6",
    "series": "#2f6db3",
    "llc-count": "#8c6d46",
    "sbm-bits": "#1f2933",
    "shard": "#3a9a6b",
    "partition": "#5b6b7b",
}
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
RC: Any = {
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "grid.color": "#e4e7eb",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "schedshard",
}


def variant_colour(name: str, index: int) -> str:
    """The colour of a variant, the same in every plot."""
    return VARIANT_COLOURS.get(name, PALETTE[index % len(PALETTE)])


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """A figure as SVG or PNG, without date, creator or other outside reference."""
    buffer = io.BytesIO()
    with mpl.rc_context(RC):
        metadata: dict[str, Any] = (
            {"Date": None, "Creator": None, "Type": None, "Format": None}
            if kind == "svg"
            else {"Software": None}
        )
        figure.savefig(buffer, format=kind, dpi=160, metadata=metadata, facecolor="white")
    return buffer.getvalue()


@dataclass(frozen=True)
class Plot:
    """A figure, and every number that it shows: a row a point, None where there is none."""

    figure: Figure
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str | float | None]]

    def csv(self) -> str:
        """The numbers as RFC 4180 has them, but for the ends of lines."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()


@dataclass(frozen=True)
class Shown:
    """A plot on a page: the picture, what it shows in words, and a link to its numbers."""

    svg: str
    title: str
    link: str
    points: int


def shown(plot: Plot, title: str) -> Shown:
    """A plot for a page."""
    link = f"data:text/csv;charset=utf-8,{quote(plot.csv())}"
    return Shown(inline(plot.figure, title), title, link, len(plot.rows))


def inline(figure: Figure, title: str) -> str:
    """A figure as an SVG element for an HTML page: no prolog, no name spaces, a title for readers.

    A page's parser knows SVG's name spaces, and without them the page holds no address. Colours are
    variables of the page, which has a set for light and one for dark paper.
    """
    svg = figure_bytes(figure, "svg").decode("utf-8")
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", svg)
    # Groups are called the same in every figure; nothing refers to them.
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r'(<svg[^>]*?)\s+height="[^"]*"', r"\1", svg, count=1)
    # Never larger than it was drawn: small pictures stay small on wide screens. Not much smaller
    # either, or the letters could not be read: the box around it scrolls.
    svg = re.sub(
        r'(<svg[^>]*?)\s+width="([^"]*)"', r'\1 style="max-width:\2;min-width:min(\2,40rem)"', svg,
        count=1,
    )  # fmt: skip
    safe = title.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return themed(svg).replace("<svg", f'<svg role="img" aria-label="{safe}"', 1).strip()


def blank_figure(width: float, height: float) -> Figure:
    """A figure of that many inches."""
    with mpl.rc_context(RC):
        return Figure(figsize=(width, height), layout="constrained")


def style(axes: Axes, axis: str) -> None:
    """A light grid behind the data, along one axis or both."""
    axes.grid(True, axis="x" if axis == "x" else "y" if axis == "y" else "both", linewidth=0.6)
    axes.set_axisbelow(True)


def thread_axis(axes: Axes, largest: int) -> None:
    """Ticks at the powers of two."""
    ticks = [n for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096) if n <= largest]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
