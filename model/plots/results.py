# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plots of results with one figure per variant: bars, dots by machine, curves over threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from common.show.format import compact, percent
from common.show.plots import (
    MARKERS,
    PUBLISHED,
    RC,
    VARIANT_COLOURS,
    Plot,
    blank_figure,
    style,
    thread_axis,
    variant_colour,
)
from common.show.theme import QUIET
from model.results.rows import Compared, ThreadPoint
from model.results.run import Bars, Curve, CurveBand


def yield_bars(result: Bars) -> Plot:
    """Draw predicted and published cost relative to the baseline, on a log scale."""
    shown = [(v, v.relative) for v in result.variants if v.relative is not None]
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 0.62 * len(shown) + 1.2)
        axes = figure.add_subplot()
        low = min(value for v, relative in shown for value in (relative, v.published) if value)
        for index, (variant, relative) in enumerate(shown):
            colour = variant_colour(variant.name, index)
            published = variant.published
            offset = 0.19 if published else 0.0
            axes.barh(index - offset, relative, 0.36, color=colour, zorder=2)
            axes.text(
                relative * 1.06, index - offset, percent(relative), va="center", fontsize=8,
            )  # fmt: skip
            if published:
                axes.barh(
                    index + offset, published, 0.36, facecolor="white", edgecolor=PUBLISHED,
                    linewidth=0.9, hatch="////", zorder=2,
                )  # fmt: skip
                axes.text(
                    published * 1.06, index + offset, f"{percent(published)} published",
                    va="center", fontsize=8,
                )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlim(low / 2.5, 4.0)
        axes.set_yticks(range(len(shown)), [v.title for v, _ in shown])
        axes.invert_yaxis()
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x * 100:g}%"))
        axes.set_xlabel(f"cycles per operation, relative to '{result.baseline}' (log scale)")
        style(axes, "x")
    rows = [(v.name, relative, v.published) for v, relative in shown]
    return Plot(figure, ("variant", "predicted_relative", "published_relative"), rows)


def machine_dots(results: Sequence[Bars]) -> Plot:
    """Draw ns per operation of every variant on every machine, on a log scale."""
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 0.46 * len(results) + 1.5)
        axes = figure.add_subplot()
        names: dict[str, str] = {}
        for row, result in enumerate(results):
            values = [v.ns_per_op for v in result.variants]
            # Each variant has its own height, so that those of equal cost do not overlap.
            step = 0.4 / max(1, len(values) - 1)
            axes.plot([min(values), max(values)], [row, row], color="#cbd2d9", lw=2, zorder=1)
            for index, variant in enumerate(result.variants):
                names.setdefault(variant.name, variant.title)
                axes.plot(
                    variant.ns_per_op, row - 0.2 + index * step,
                    MARKERS[index % len(MARKERS)],
                    color=variant_colour(variant.name, index), markersize=7,
                    markeredgecolor="white", markeredgewidth=0.7, zorder=3,
                )  # fmt: skip
        axes.set_xscale("log")
        labels = [f"{r.machine.name}\n{r.cpus} CPUs, {r.machine.kind}" for r in results]
        axes.set_yticks(range(len(results)), labels, fontsize=8)
        axes.set_ylim(len(results) - 0.4, -0.6)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: compact(x)))
        axes.set_xlabel("predicted ns per operation, all CPUs at once (log scale)")
        handles = [
            Line2D([], [], marker=MARKERS[i % len(MARKERS)], linestyle="", markersize=7,
                   color=variant_colour(name, i), label=title)
            for i, (name, title) in enumerate(names.items())
        ]  # fmt: skip
        figure.legend(handles=handles, loc="outside upper left", ncols=3, fontsize=8)
        style(axes, "x")
    rows = [(r.machine.name, r.cpus, v.name, v.ns_per_op) for r in results for v in r.variants]
    return Plot(figure, ("machine", "cpus", "variant", "predicted_ns_per_op"), rows)


Published = Sequence[tuple[ThreadPoint, Compared]]


def _published_band(axes: Axes, published: Published) -> None:
    threads = [point.threads for point, _ in published]
    axes.fill_between(
        threads,
        [known.low for _, known in published],
        [known.high for _, known in published],
        color="#cbd2d9", linewidth=0, label="published, smallest to largest thread",
    )  # fmt: skip
    axes.plot(
        threads, [known.published for _, known in published], color=PUBLISHED, lw=1.2,
        label="published, mean",
    )  # fmt: skip


def _error_axes(axes: Axes, accept: CurveBand | None, published: Published) -> None:
    for limit, shade in (
        ((accept.worst, "#eef1f4"), (accept.median, "#dde3ea")) if accept is not None else ()
    ):
        if limit:
            axes.axhspan(-100 * limit, 100 * limit, color=shade, linewidth=0)
    errors = [100 * known.error for _, known in published]
    axes.axhline(0, color=QUIET, lw=0.8)
    axes.plot(
        [point.threads for point, _ in published], errors, "o-",
        markersize=4, lw=1, color=VARIANT_COLOURS["atomic"],
    )  # fmt: skip
    axes.set_ylabel("error, %")
    edge = max(45.0, *(abs(error) * 1.1 for error in errors))
    axes.set_ylim(-edge, edge)
    style(axes, "y")


def curve(result: Curve) -> Plot:
    """Draw the time of an operation over threads, predicted and published, and the error."""
    every = [point for variant in result.variants for point in variant.points]
    published = [each for variant in result.variants for each in variant.compared]
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 5.6 if published else 4.0)
        if published:
            axes, lowest = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1.2))
            _published_band(axes, published)
            accept = result.published.accept if result.published is not None else None
            _error_axes(lowest, accept, published)
        else:
            axes = lowest = figure.add_subplot()
        for index, variant in enumerate(result.variants):
            points = variant.points
            axes.plot(
                [point.threads for point in points], [point.ns_per_op for point in points],
                MARKERS[index % len(MARKERS)] + "-", markersize=4, lw=1,
                color=variant_colour(variant.name, index),
                label=f"predicted, {variant.title}",
            )  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: compact(y)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylabel("ns per operation (log)")
        axes.legend(loc="upper left", fontsize=8)
        style(axes, "both")
        thread_axis(lowest, max(point.threads for point in every))
        lowest.set_xlabel("threads (log scale)")
    return Plot(figure, _CURVE, list(_points(result)))


_CURVE = (
    "variant", "threads", "predicted_ns_per_op", "published_ns_per_op", "published_low",
    "published_high", "error_percent",
)  # fmt: skip


def _points(result: Curve) -> Iterator[tuple[str | float | None, ...]]:
    for variant in result.variants:
        for point in variant.points:
            known = point.published, point.published_low, point.published_high
            error = None if point.error is None else 100 * point.error
            yield (variant.name, point.threads, point.ns_per_op, *known, error)
