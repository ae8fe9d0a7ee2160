# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plots of intervals: their width, the inputs that cause it, and how figures follow an input."""

from __future__ import annotations

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from common.show.format import compact
from common.show.plots import (
    PUBLISHED,
    RC,
    Plot,
    blank_figure,
    style,
    variant_colour,
)
from common.show.theme import INK, QUIET
from model.results.run import Result
from model.run.uncertain.intervals import headlines
from model.tables.intervals import figure_label, figure_words, indices_of, telling

PANELS = 3
INPUTS = 14
_LOG_FROM = 8.0


def _percent(name: str, result: Result) -> bool:
    units = {metric.name: metric.unit for metric in result.metrics or ()}
    return name == "relative" or units.get(name) == "percent"


def _axis(axes: Axes, low: float, high: float, percent: bool, along: str) -> None:
    """Set the scale of an axis: logarithmic where values differ by more than _LOG_FROM."""
    axis = axes.xaxis if along == "x" else axes.yaxis
    if low > 0 and high / low > _LOG_FROM:
        (axes.set_xscale if along == "x" else axes.set_yscale)("log")
        axis.set_minor_formatter(NullFormatter())
    if percent:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value * 100:g}%"))
    else:
        axis.set_major_formatter(FuncFormatter(lambda value, _: compact(value)))


def whiskers(result: Result) -> Plot | None:
    """Draw each variant's median and 90% interval beside the published figure.

    Each figure has a panel. Curves and pairs have no such plot: None.
    """
    shown = [figure for figure in headlines(result) if figure.name in result.comparing]
    names = list(dict.fromkeys(f.name for f in shown if f.interval is not None))
    judged = {f.name for f in shown if f.published is not None}
    names.sort(key=lambda name: name not in judged)
    names = names[:PANELS]
    if not names:
        return None
    variants = list(dict.fromkeys(f.variant for f in shown))
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 0.3 * len(variants) + 1.2)
        panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for panel, name in zip(panels, names, strict=True):
            ends: list[float] = []
            for one in (f for f in shown if f.name == name):
                found = one.interval
                if found is None:
                    continue
                row = variants.index(one.variant)
                panel.plot(
                    [found.low, found.high], [row, row], lw=3, solid_capstyle="butt",
                    color=variant_colour(one.variant, row),
                )  # fmt: skip
                panel.plot(found.median, row, "o", color=INK, markersize=4, zorder=3)
                ends += [found.low, found.high]
                if one.published is not None and one.judged:
                    panel.plot(
                        one.published, row, "D", markerfacecolor="white", markersize=6,
                        markeredgecolor=PUBLISHED, zorder=4,
                    )  # fmt: skip
                    ends.append(one.published)
            _axis(panel, min(ends), max(ends), _percent(name, result), "x")
            panel.set_title(figure_words(result, name)[0], fontsize=9)
            panel.margins(x=0.08)
            style(panel, "x")
        panels[0].set_yticks(range(len(variants)), variants, fontsize=8)
        panels[0].invert_yaxis()
        figure.supxlabel("bar: 90% interval, dot: median, diamond: published", fontsize=8)
    rows = [
        (one.variant, one.name, found.median, found.low, found.high,
         None if one.given else one.published)
        for one in shown
        if one.name in names and (found := one.interval) is not None
    ]  # fmt: skip
    return Plot(figure, ("variant", "figure", "median", "low", "high", "published"), rows)


def influence(result: Result) -> Plot | None:
    """Draw the first-order index of each input, a panel per figure; None without indices."""
    shown = [f for f in telling(result, 2 * PANELS) if indices_of(result, f)][:PANELS]
    if not shown:
        return None
    indices = [indices_of(result, figure) for figure in shown]
    largest = {name: max(one[name] for one in indices) for name in indices[0]}
    names = sorted(largest, key=lambda name: (-largest[name], name))[:INPUTS]
    made = result.samples.sensitivity
    noise = (made and made.noise) or 0.0
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 0.24 * len(names) + 1.3)
        panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for column, (panel, one) in enumerate(zip(panels, shown, strict=True)):
            panel.axvspan(0, 2 * noise, color="#eef1f4", linewidth=0)
            panel.barh(
                range(len(names)), [indices[column][name] for name in names], 0.6, zorder=2,
                color=variant_colour(one.variant, column),
            )  # fmt: skip
            panel.set_xlim(0, 1)
            panel.set_title(figure_label(result, one), fontsize=8)
            panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x * 100:g}%"))
            style(panel, "x")
        panels[0].set_yticks(range(len(names)), names, fontsize=7)
        panels[0].invert_yaxis()
        figure.supxlabel(
            "share of the variance that the input explains alone (grey: as much as chance gives)",
            fontsize=8,
        )
    rows = [
        (one.variant, one.name, one.place, name, indices[column][name])
        for column, one in enumerate(shown)
        for name in names
    ]
    return Plot(figure, ("variant", "figure", "place", "input", "share_of_variance"), rows)


def following(result: Result) -> Plot | None:
    """Draw every sample over the input that a figure depends on most, a panel per figure."""
    shown = [f for f in telling(result, 2 * PANELS) if indices_of(result, f)][:PANELS]
    about = result.samples
    inputs = {one.name: one for one in about.inputs}
    values = {
        each.key: known
        for each in about.figures
        if len(known := [v for v in each.values if v is not None]) == len(each.values)
    }
    shown = [figure for figure in shown if figure.key in values]
    if not shown:
        return None
    found = [indices_of(result, one) for one in shown]
    chosen = [inputs[max(indices, key=lambda n: (indices[n], n))] for indices in found]
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 2.7)
        panels = figure.subplots(1, len(shown), squeeze=False)[0]
        for column, (panel, one) in enumerate(zip(panels, shown, strict=True)):
            most = chosen[column]
            points = values[one.key]
            panel.plot(
                most.drawn, points, "o", markersize=3, alpha=0.7,
                color=variant_colour(one.variant, column),
            )  # fmt: skip
            ends = list(points)
            if one.published is not None:
                panel.axhline(one.published, color=PUBLISHED, lw=1, ls=":")
                ends.append(one.published)
            panel.axvline(most.value, color=QUIET, lw=0.8)
            _axis(panel, min(ends), max(ends), _percent(one.name, result), "y")
            panel.xaxis.set_major_locator(FixedLocator(sorted({most.low, most.value, most.high})))
            panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.4g}"))
            panel.set_xlabel(most.name, fontsize=8)
            panel.set_title(figure_label(result, one), fontsize=8)
            panel.tick_params(labelsize=7)
            style(panel, "y")
        figure.supxlabel(
            "one dot per sample; dotted: published, grey line: the value used", fontsize=8
        )
    rows = [
        (one.variant, one.name, one.place, most.name, drawn, value, one.published, most.value)
        for one, most in zip(shown, chosen, strict=True)
        for drawn, value in zip(most.drawn, values[one.key], strict=True)
    ]
    return Plot(
        figure,
        ("variant", "figure", "place", "input", "drawn", "sample", "published", "input_used"),
        rows,
    )
