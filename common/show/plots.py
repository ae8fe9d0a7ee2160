# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Gives the plots of pages their settings, colours and axes, and makes images of them."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Sequence
from typing import Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from common.show.format import compact
from common.show.page import Image

MARKERS = "osD^vPX*"
PUBLISHED = "black"
VARIANT_COLOURS = {
    "stock": "tab:red",
    "global": "tab:red",
    "atomic": "tab:red",
    "partition": "tab:gray",
    "published": "tab:blue",
    "llc": "tab:blue",
    "shard": "tab:green",
    "sbm": "tab:green",
    "sharded": "tab:green",
}
mpl.rcParams.update(
    {
        "font.size": 9,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 9,
        "grid.color": "#e4e7eb",
        "legend.frameon": False,
        "legend.fontsize": 8,
        "svg.fonttype": "none",
        "svg.hashsalt": "schedshard",
    }
)


def image(figure: Figure, title: str) -> Image:
    """Return a figure as an image for a page."""
    svg = io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    return Image(title, f"data:image/svg+xml;base64,{b64encode(svg.getvalue()).decode()}")


def blank_figure(height: float, width: float = 8.2) -> Figure:
    """Return an empty figure; lengths are in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def colour(variant: str, index: int) -> str:
    """Return the colour of a variant, which is the same in every plot."""
    return VARIANT_COLOURS.get(variant, f"C{index % 10}")


def marker(index: int) -> str:
    """Return the mark of the variant at a place of the legend."""
    return MARKERS[index % len(MARKERS)]


def number_axis(axes: Axes, which: str, values: Sequence[float], percent: bool = False) -> None:
    """Label an axis with numbers: a logarithmic one if the values differ by more than 8 times."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    positive = [value for value in values if value > 0]
    if positive and len(positive) == len(values) and max(positive) / min(positive) > 8:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(
        FuncFormatter((lambda x, _: f"{x * 100:g}%") if percent else (lambda x, _: compact(x)))
    )


def count_axis(axes: Axes, counts: Sequence[float], label: str) -> None:
    """Make the x axis one of numbers of threads or CPUs, logarithmic, with at most 12 ticks."""
    ticks = sorted(set(counts))
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(ticks[:: -(-len(ticks) // 12)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.tick_params(axis="x", labelsize=8)
    axes.set_xlabel(f"{label} (log scale)")


def name_axis(axes: Axes, names: Sequence[str]) -> None:
    """Put names on the y axis, the first one on top."""
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(False, axis="y")


def legend(figure: Figure, names: Sequence[str], line: Literal["-", ""] = "-") -> None:
    """Put the names of variants above a figure, each with its colour and mark."""
    handles = [
        Line2D([], [], marker=marker(i), linestyle=line, color=colour(name, i), label=name)
        for i, name in enumerate(names)
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=6)
