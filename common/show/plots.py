# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What plots share: reproducible SVG, the data of a figure, colours and grids."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from common.show.drawing import FONT, Shown, shown_svg
from common.show.theme import INK, PALETTE, QUIET

PUBLISHED = "#1f2933"
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
    "published": "#2f6db3",
    "sbm-bits": "#1f2933",
    "shard": "#3a9a6b",
    "partition": "#5b6b7b",
}
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
RC: Any = {
    "font.family": list(FONT),
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
    """Return the colour of a variant, which is the same in every plot."""
    return VARIANT_COLOURS.get(name, PALETTE[index % len(PALETTE)])


def figure_svg(figure: Figure) -> str:
    """Return a figure as SVG without date, creator and references to other files."""
    buffer = io.BytesIO()
    with mpl.rc_context(RC):
        nothing = {"Date": None, "Creator": None, "Type": None, "Format": None}
        figure.savefig(buffer, format="svg", metadata=nothing, facecolor="white")
    return buffer.getvalue().decode("utf-8")


@dataclass(frozen=True)
class Plot:
    """A figure, and every number that it shows: one row per point, None for no value."""

    figure: Figure
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str | float | None]]


def shown(plot: Plot, title: str) -> Shown:
    """Return a plot for a page, with a title and its numbers."""
    return shown_svg(figure_svg(plot.figure), title, plot.columns, plot.rows)


def blank_figure(width: float, height: float) -> Figure:
    """Return an empty figure; width and height are in inches."""
    with mpl.rc_context(RC):
        return Figure(figsize=(width, height), layout="constrained")


def style(axes: Axes, axis: str) -> None:
    """Draw a light grid behind the data, along one axis or both."""
    axes.grid(True, axis="x" if axis == "x" else "y" if axis == "y" else "both", linewidth=0.6)
    axes.set_axisbelow(True)


def thread_axis(axes: Axes, largest: int) -> None:
    """Put the ticks of the x axis at the powers of two up to ``largest``."""
    ticks = [n for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096) if n <= largest]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
