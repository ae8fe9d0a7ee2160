# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plots of intervals: their width, and the inputs that cause it."""

from __future__ import annotations

from common.show.page import Image
from common.show.plots import (
    PUBLISHED,
    blank_figure,
    colour,
    image,
    name_axis,
    number_axis,
)
from model.results.run import Result
from model.run.uncertain.intervals import headlines
from model.run.uncertain.words import (
    figure_label,
    figure_words,
    shares_of,
    telling,
)

PANELS = 3
INPUTS = 14


def _is_share(result: Result, name: str) -> bool:
    units = {metric.name: metric.unit for metric in result.metrics or ()}
    return name == "relative" or units.get(name) == "percent"


def whiskers(result: Result) -> list[Image]:
    """Draw each variant's median and 90% interval beside the published figure.

    Each figure has a panel. Curves and pairs have no such plot.
    """
    shown = [figure for figure in headlines(result) if figure.name in result.comparing]
    names = list(dict.fromkeys(f.name for f in shown if f.interval is not None))
    tested = {f.name for f in shown if f.published is not None}
    names = sorted(names, key=lambda name: name not in tested)[:PANELS]
    if not names:
        return []
    variants = list(dict.fromkeys(f.variant for f in shown))
    figure = blank_figure(0.3 * len(variants) + 1.2)
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        ends: list[float] = []
        for each in shown:
            found = each.interval
            if each.name != name or found is None:
                continue
            row = variants.index(each.variant)
            panel.hlines(row, found.low, found.high, lw=3, color=colour(each.variant, row))
            panel.plot(found.median, row, "ko", markersize=4)
            ends += [found.low, found.high]
            if each.published is not None and each.judged:
                panel.plot(each.published, row, "D", markerfacecolor="white", color=PUBLISHED)
                ends.append(each.published)
        number_axis(panel, "x", ends, percent=_is_share(result, name))
        panel.set_title(figure_words(result, name)[0])
    name_axis(panels[0], variants)
    figure.supxlabel("bar: 90% interval, dot: median, diamond: published", fontsize=8)
    return [image(figure, f"{result.title}: predicted intervals beside published figures")]


def influence(result: Result) -> list[Image]:
    """Draw the share of the variance that each input explains, a panel per figure, if any does."""
    shown = [f for f in telling(result, 2 * PANELS) if shares_of(result, f)][:PANELS]
    if not shown:
        return []
    shares = [shares_of(result, figure) for figure in shown]
    largest = {name: max(each.get(name, 0) for each in shares) for each in shares for name in each}
    names = sorted(largest, key=lambda name: (-largest[name], name))[:INPUTS]
    figure = blank_figure(0.24 * len(names) + 1.2)
    panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    for panel, each, known in zip(panels, shown, shares, strict=True):
        panel.barh(range(len(names)), [known.get(name, 0) for name in names], 0.6)
        panel.set_xlim(0, 1)
        panel.set_title(figure_label(result, each), fontsize=8)
        number_axis(panel, "x", [], percent=True)
    name_axis(panels[0], names)
    figure.supxlabel("share of the variance that the input explains, above chance", fontsize=8)
    return [image(figure, f"{result.title}: which inputs to measure for narrower intervals")]
