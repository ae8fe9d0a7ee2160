# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plots of a sweep: how each figure grows with CPUs, last-level caches and shard size."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes

from common.show.format import PERCENT, head
from common.show.page import Image
from common.show.plots import (
    blank_figure,
    colour,
    count_axis,
    image,
    legend,
    marker,
    number_axis,
)
from model.machines.llc_split import whole_name
from model.run.experiment import Metric
from model.run.sweep.swept import Swept, is_sampled

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


def scaling(one: Swept, metric: Metric, axis: Axis) -> list[Image]:
    """Draw one figure over one axis, a line per variant; nothing when nothing varies.

    A point is the mean over seeds, and its bar spans the smallest to the largest. For samples, a
    point is their median, and its bar the 90% interval.
    """
    column = f"figure {metric.name}"
    panels = [panel for panel in _panels(one, axis) if panel.frame[column].notna().any()]
    if not panels:
        return []
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure = blank_figure(2.9 * rows + 0.6)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    flat = list(grid.flat)
    for axes, panel in zip(flat, panels, strict=False):
        _draw(axes, one, panel, column, axis)
        axes.set_title(panel.title)
        count_axis(axes, [float(value) for value in panel.frame[axis.column]], axis.words)
        number_axis(axes, "y", panel.frame[column].tolist(), metric.unit == PERCENT)
    for axes in flat[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel(head(metric))
    legend(figure, one.variants)
    return [image(figure, f"{one.title}: {metric.title} over {axis.words}")]


def _draw(axes: Axes, one: Swept, panel: Panel, column: str, axis: Axis) -> None:
    keys = [axis.column] if panel.joined else [axis.column, "place", "cpus"]
    for index, name in enumerate(one.variants):
        mine = panel.frame[panel.frame["variant"] == name].dropna(subset=[column])
        if mine.empty:
            continue
        groups = mine.groupby(keys, sort=True)[column]
        if is_sampled(mine):
            middle, low, high = groups.median(), groups.quantile(0.05), groups.quantile(0.95)
        else:
            middle, low, high = groups.mean(), groups.min(), groups.max()
        places = [float(key[0] if isinstance(key, tuple) else key) for key in middle.index]
        axes.errorbar(
            places, middle.to_numpy(), yerr=[(middle - low).to_numpy(), (high - middle).to_numpy()],
            fmt=marker(index) + ("-" if panel.joined else ""), color=colour(name, index),
            markersize=4, linewidth=1, elinewidth=0.8,
        )  # fmt: skip
