# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plots of single operations: cost over threads, and cost by latency class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from common.show.format import compact
from common.show.plots import (
    MARKERS,
    PUBLISHED,
    RC,
    Plot,
    blank_figure,
    style,
    thread_axis,
)
from common.show.theme import PALETTE, QUIET
from model.results.rows import Compared, ThreadPoint
from model.results.run import Curve, Pairs
from model.run.pairs import class_rows

STYLES = ("-", "--", ":")


def _line(index: int) -> dict[str, Any]:
    """Return colour, marker and dashes of a curve; they differ between the first 24."""
    return {
        "color": PALETTE[index % len(PALETTE)],
        "marker": MARKERS[(index + index // len(PALETTE)) % len(MARKERS)],
        "linestyle": STYLES[index // len(PALETTE) % len(STYLES)],
    }


def scaling(result: Curve) -> Plot:
    """Draw the time of every operation over threads, both log, with published means as rings.

    The legend lists the lines in the order of their right ends.
    """
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 5.4)
        axes = figure.add_subplot()
        entries: list[tuple[float, Line2D, str]] = []
        largest = 1
        for index, variant in enumerate(result.variants):
            points = variant.points
            threads = [point.threads for point in points]
            times = [point.ns_per_op for point in points]
            (line,) = axes.plot(threads, times, markersize=4, lw=1.2, **_line(index))
            entries.append((times[-1], line, variant.name))
            largest = max(largest, *threads)
            _published(axes, variant.compared)
        entries.sort(key=lambda entry: -entry[0])
        handles = [line for _, line, _ in entries]
        labels = [name for _, _, name in entries]
        for variant in result.variants:
            if variant.compared:
                handles.append(Line2D([], [], **_RING))
                labels.append(f"{variant.name},\npublished")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: compact(y)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("threads, one per CPU (log scale)")
        axes.set_ylabel(f"{result.label} ns per operation (log)")
        thread_axis(axes, largest)
        style(axes, "both")
        figure.legend(handles, labels, loc="outside right upper", fontsize=8)
    return Plot(
        figure,
        ("operation", "threads", "ns_per_op", "published", "published_low", "published_high"),
        [
            (
                v.name,
                point.threads,
                point.ns_per_op,
                point.published,
                point.published_low,
                point.published_high,
            )
            for v in result.variants
            for point in v.points
        ],
    )


_RING: dict[str, Any] = {
    "marker": "o",
    "linestyle": "",
    "markersize": 7,
    "markerfacecolor": "none",
    "markeredgecolor": PUBLISHED,
    "markeredgewidth": 1.0,
}


def _published(axes: Axes, known: Sequence[tuple[ThreadPoint, Compared]]) -> None:
    if not known:
        return
    threads = [point.threads for point, _ in known]
    axes.vlines(
        threads, [each.low for _, each in known], [each.high for _, each in known],
        color=PUBLISHED, lw=0.8, zorder=3,
    )  # fmt: skip
    axes.plot(threads, [each.published for _, each in known], zorder=4, **_RING)


def pair_dots(result: Pairs) -> Plot:
    """Draw the time of every operation by latency class (log), published medians as rings."""
    rows = class_rows(result)
    classes = list(dict.fromkeys(row.latency_class for row in rows))
    names = [variant.name for variant in result.variants]
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 0.75 * len(classes) + 1.5)
        axes = figure.add_subplot()
        # Each operation has its own height, so that those of equal cost do not overlap.
        step = 0.6 / max(1, len(names) - 1)
        for row in rows:
            index = names.index(row.operation)
            height = classes.index(row.latency_class) - 0.3 + index * step
            look = _line(index)
            axes.plot(
                row.ns, height, look["marker"], color=look["color"], markersize=7,
                markeredgecolor="white", markeredgewidth=0.7, zorder=3,
            )  # fmt: skip
            if row.high > row.low:
                axes.hlines(height, row.low, row.high, color=look["color"], lw=1.2, zorder=2)
            if row.published is not None:
                axes.plot(row.published, height, zorder=4, **{**_RING, "markersize": 9})
        for index in range(1, len(classes)):
            axes.axhline(index - 0.5, color=QUIET, lw=0.5)
        axes.set_xscale("log")
        axes.set_yticks(range(len(classes)), classes)
        axes.set_ylim(len(classes) - 0.5, -0.5)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: compact(x)))
        axes.set_xlabel(f"{result.label} ns per operation of two CPUs that take turns (log scale)")
        handles = [
            Line2D([], [], marker=_line(i)["marker"], linestyle="", markersize=7,
                   color=_line(i)["color"], label=name)
            for i, name in enumerate(names)
        ]  # fmt: skip
        if any(row.published is not None for row in rows):
            handles.append(Line2D([], [], label="published, median", **_RING))
        figure.legend(handles=handles, loc="outside upper left", ncols=6, fontsize=8)
        style(axes, "x")
    return Plot(
        figure,
        ("class", "cpus", "operation", "ns_per_op", "lowest", "highest", "published"),
        [(r.latency_class, r.where, r.operation, r.ns, r.low, r.high, r.published) for r in rows],
    )
