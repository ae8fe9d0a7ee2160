# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plots of a sweep: how each figure grows with CPUs, last-level caches and shard size."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from common.show.format import compact
from common.show.plots import MARKERS, RC, Plot, blank_figure, style, variant_colour
from model.machines.llc_split import whole_name
from model.run.experiment import PERCENT, Metric
from model.tables.figures import head
from model.tables.sweep import Swept, is_sampled

COLUMNS = 3
MOST_PANELS = 9


@dataclass(frozen=True)
class Axis:
    """An x axis: the column of the frame, and the label."""

    column: str
    words: str


CPUS = Axis("cpus", "CPUs")
LLCS = Axis("llcs", "last-level caches in use")
CAP = Axis("cap", "most CPUs in a shard")


@dataclass(frozen=True)
class Panel:
    """One plot; ``joined``: its points belong to one machine, and lines join them."""

    title: str
    frame: pd.DataFrame
    joined: bool = True


def usual_cap(frame: pd.DataFrame) -> int:
    """Return the cap at which plots over CPUs or caches hold: the largest of the sweep."""
    return int(frame["cap"].max())


def _panels(one: Swept, axis: Axis) -> list[Panel]:
    """Return the panels to draw; empty when nothing varies along the axis."""
    frame = one.frame
    # The whole machine, or the most CPUs of it that the sweep contains.
    full = frame["cpus"] == frame.groupby("place")["cpus"].transform("max")
    usual = frame["cap"] == usual_cap(frame)
    whole = frame["machine"] == frame["machine"].map(whole_name)
    if axis.column == "cap":
        return _of_machines(frame[full & whole], axis, frame["place"])
    if axis.column == "cpus":
        found = _of_machines(frame[usual & whole], axis, frame["place"])
    else:
        found = _of_machines(frame[usual & full], axis, frame["machine"].map(whole_name))
    across = frame[usual & full & whole]
    if across["machine"].nunique() > 1 and across[axis.column].nunique() > 1:
        found.insert(0, Panel("all machines, one point each", across, joined=False))
    return found[:MOST_PANELS]


def _of_machines(frame: pd.DataFrame, axis: Axis, names: pd.Series) -> list[Panel]:
    """Return a panel per machine on which values along the axis vary."""
    found = []
    for name, part in frame.groupby(names, sort=True):
        if part[axis.column].nunique() > 1:
            same = axis is not CPUS and part["cpus"].nunique() == 1
            found.append(Panel(f"{name}, {part['cpus'].iloc[0]} CPUs" if same else str(name), part))
    return found


def scaling(one: Swept, metric: Metric, axis: Axis) -> Plot | None:
    """Draw one figure over one axis, a line per variant; None when nothing varies.

    A point is the mean over seeds, and its bar spans the smallest to the largest. For samples, a
    point is their median, and its bar the 90% interval.
    """
    panels = _panels(one, axis)
    column = f"figure {metric.name}"
    panels = [panel for panel in panels if panel.frame[column].notna().any()]
    if not panels:
        return None
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    told: list[tuple[str | float | None, ...]] = []
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 2.9 * rows + 0.6)
        grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
        flat = [axes for line in grid for axes in line]
        for axes, panel in zip(flat, panels, strict=False):
            told += _draw(axes, one, panel, column, axis)
            axes.set_title(panel.title, fontsize=9)
            _axes(axes, panel.frame, column, metric, axis)
        for axes in flat[len(panels) :]:
            axes.set_visible(False)
        for line in grid:
            line[0].set_ylabel(head(metric))
        handles = [
            Line2D([], [], marker=MARKERS[i % len(MARKERS)], color=variant_colour(name, i),
                   markersize=5, lw=1, label=name)
            for i, name in enumerate(one.variants)
        ]  # fmt: skip
        figure.legend(handles=handles, loc="outside upper left", ncols=6, fontsize=8)
    columns_of = ("plot", "variant", axis.column, metric.name, "low", "high")
    return Plot(figure, columns_of, told)


def _draw(
    axes: Axes, one: Swept, panel: Panel, column: str, axis: Axis
) -> list[tuple[str | float | None, ...]]:
    told: list[tuple[str | float | None, ...]] = []
    keys = [axis.column] if panel.joined else [axis.column, "place", "cpus"]
    for index, name in enumerate(one.variants):
        mine = panel.frame[panel.frame["variant"] == name].dropna(subset=[column])
        if mine.empty:
            continue
        groups = mine.groupby(keys, sort=True)[column]
        if is_sampled(mine):
            mean, low, high = groups.median(), groups.quantile(0.05), groups.quantile(0.95)
        else:
            mean, low, high = groups.mean(), groups.min(), groups.max()
        places = [float(key[0] if isinstance(key, tuple) else key) for key in mean.index]
        axes.errorbar(
            places,
            mean.to_numpy(),
            yerr=[(mean - low).to_numpy(), (high - mean).to_numpy()],
            fmt=MARKERS[index % len(MARKERS)] + ("-" if panel.joined else ""),
            color=variant_colour(name, index), markersize=4, lw=1, elinewidth=0.8,
        )  # fmt: skip
        told += [(panel.title, name, *point) for point in zip(places, mean, low, high, strict=True)]
    return told


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
