# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plots of a sweep: how each figure grows with CPUs, last-level caches and shard size."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from schedshard.experiment import PERCENT, Metric
from schedshard.figure_tables import head
from schedshard.format import compact
from schedshard.plots import MARKERS, RC, blank_figure, style, variant_colour
from schedshard.sweep_view import Swept

COLUMNS = 3
MOST_PANELS = 9


@dataclass(frozen=True)
class Axis:
    """What lies on the x axis: a column, its words, and whether lines join a machine's points."""

    column: str
    words: str
    joined: bool


CPUS = Axis("cpus", "CPUs", True)
LLCS = Axis("llcs", "last-level caches in use", False)
CAP = Axis("cap", "most CPUs in a shard", True)


def usual_cap(frame: pd.DataFrame) -> int:
    """The shard size that plots over other things hold fixed: the largest one of the sweep."""
    return int(frame["cap"].max())


def _panels(one: Swept, axis: Axis) -> list[tuple[str, pd.DataFrame]]:
    """What is drawn, a panel each; empty when nothing varies along the axis."""
    frame = one.frame
    # The whole machine, or as much of it as the sweep has.
    full = frame["cpus"] == frame.groupby("machine")["cpus"].transform("max")
    usual = frame["cap"] == usual_cap(frame)
    if axis.column == "llcs":
        frame = frame[full & usual]
        several = frame[axis.column].nunique() > 1
        return [("whole machines, a point each", frame)] if several else []
    frame = frame[full] if axis.column == "cap" else frame[usual]
    found = []
    for machine, part in frame.groupby("machine", sort=True):
        if part[axis.column].nunique() > 1:
            cpus = f", {part['cpus'].iloc[0]} CPUs" if axis.column == "cap" else ""
            found.append((f"{machine}{cpus}", part))
    return found[:MOST_PANELS]


def scaling(one: Swept, metric: Metric, axis: Axis) -> Figure | None:
    """One figure of an experiment over one axis, a line a variant; None when nothing varies.

    A point is the mean over seeds; the bar through it reaches from the smallest to the largest.
    """
    panels = _panels(one, axis)
    column = f"figure {metric.name}"
    panels = [(title, part) for title, part in panels if part[column].notna().any()]
    if not panels:
        return None
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 2.9 * rows + 0.6)
        grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
        flat = [axes for line in grid for axes in line]
        for axes, (title, part) in zip(flat, panels, strict=False):
            _draw(axes, one, part, column, axis)
            axes.set_title(title, fontsize=9)
            _axes(axes, part, column, metric, axis)
        for axes in flat[len(panels) :]:
            axes.set_visible(False)
        for line in grid:
            line[0].set_ylabel(head({"title": metric.title, "unit": metric.unit}))
        handles = [
            Line2D([], [], marker=MARKERS[i % len(MARKERS)], color=variant_colour(name, i),
                   markersize=5, lw=1, label=name)
            for i, name in enumerate(one.variants)
        ]  # fmt: skip
        figure.legend(handles=handles, loc="outside upper left", ncols=6, fontsize=8)
    return figure


def _draw(axes: Axes, one: Swept, part: pd.DataFrame, column: str, axis: Axis) -> None:
    keys = [axis.column] if axis.joined else [axis.column, "machine", "cpus"]
    for index, name in enumerate(one.variants):
        mine = part[part["variant"] == name].dropna(subset=[column])
        if mine.empty:
            continue
        groups = mine.groupby(keys, sort=True)[column]
        mean = groups.mean()
        places = [float(key[0] if isinstance(key, tuple) else key) for key in mean.index]
        axes.errorbar(
            places,
            mean.to_numpy(),
            yerr=[(mean - groups.min()).to_numpy(), (groups.max() - mean).to_numpy()],
            fmt=MARKERS[index % len(MARKERS)] + ("-" if axis.joined else ""),
            color=variant_colour(name, index), markersize=4, lw=1, elinewidth=0.8,
        )  # fmt: skip


def _axes(axes: Axes, part: pd.DataFrame, column: str, metric: Metric, axis: Axis) -> None:
    axes.set_xscale("log", base=2)
    ticks = sorted({float(value) for value in part[axis.column]})
    thinned = ticks[:: max(1, -(-len(ticks) // 8))]
    axes.xaxis.set_major_locator(FixedLocator(thinned))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.tick_params(labelsize=7)
    axes.set_xlabel(f"{axis.words} (log)", fontsize=8)
    if metric.unit == PERCENT:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y * 100:g}%"))
        axes.set_ylim(bottom=0)
    elif float(part[column].min()) > 0:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: compact(y)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    style(axes, "both")
