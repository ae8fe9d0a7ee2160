# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plots results of `run` as bars, as dots by machine or class, or as curves over threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from common.show.format import figure_text, head, percent
from common.show.page import Image
from common.show.plots import (
    PUBLISHED,
    blank_figure,
    colour,
    count_axis,
    image,
    legend,
    marker,
    name_axis,
    number_axis,
)
from model.results.rows import Compared, ThreadPoint
from model.results.run import Bars, Curve, Figures, Pairs
from model.run.pairs import class_rows

PANELS = 3
Values = dict[str, float | None]


def bar_image(result: Bars | Figures) -> list[Image]:
    """Draw predicted and published figures, a panel for each of at most three figures."""
    panels = _relative(result) if isinstance(result, Bars) else _figures(result)
    if not panels:
        return []
    names = [variant.name for variant in result.variants]
    figure = blank_figure(0.42 * len(names) + 1.2)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for panel, (title, write, predicted, published) in zip(axes, panels, strict=True):
        for index, name in enumerate(names):
            paired = published.get(name) is not None
            _bar(
                panel, index - 0.19 * paired, predicted[name], write, facecolor=colour(name, index)
            )
            _bar(panel, index + 0.19, published.get(name), write, hatch="////",
                 facecolor="white", edgecolor=PUBLISHED)  # fmt: skip
        known = [value for of in (predicted, published) for value in of.values() if value]
        number_axis(panel, "x", known, percent="%" in write(0.5))
        panel.margins(x=0.28)
        panel.set_title(title)
    name_axis(axes[0], names)
    figure.supxlabel("solid: predicted, hatched: published", fontsize=8)
    return [image(figure, f"{result.title}: predicted and published")]


Panel = tuple[str, Callable[[float], str], Values, Values]


def _relative(result: Bars) -> list[Panel]:
    predicted: Values = {v.name: v.relative for v in result.variants}
    if not any(predicted.values()):
        return []
    title = f"cycles per operation, relative to '{result.baseline}'"
    return [(title, percent, predicted, {v.name: v.published for v in result.variants})]


def _figures(result: Figures) -> list[Panel]:
    """Return the figures to draw, the published ones first."""
    panels: list[Panel] = []
    for metric in result.metrics:
        predicted: Values = {v.name: v.values[metric.name] for v in result.variants}
        published: Values = {v.name: v.published.get(metric.name) for v in result.variants}
        if any(value is not None for value in predicted.values()):
            panels.append((head(metric), partial(figure_text, metric), predicted, published))
    panels.sort(key=lambda panel: not any(panel[3].values()))
    return panels[:PANELS]


def _bar(
    axes: Axes, place: float, value: float | None, write: Callable[[float], str], **look: str
) -> None:
    if value is not None:
        bars = axes.barh(place, value, 0.36, **look)  # type: ignore[arg-type]
        axes.bar_label(bars, [write(value)], padding=3, fontsize=7)


def machines_image(results: Sequence[Bars]) -> list[Image]:
    """Draw the time of every variant on every machine."""
    names = list(dict.fromkeys(v.name for result in results for v in result.variants))
    figure = blank_figure(0.46 * len(results) + 1.4)
    axes = figure.add_subplot()
    rows = [
        (row, names.index(v.name), v.name, v.ns_per_op)
        for row, result in enumerate(results)
        for v in result.variants
    ]
    _dots(axes, rows, len(names))
    number_axis(axes, "x", [ns for *_, ns in rows])
    name_axis(axes, [f"{r.machine.name}\n{r.cpus} CPUs, {r.machine.kind}" for r in results])
    axes.set_xlabel("predicted ns per operation, all CPUs at once")
    legend(figure, names, "")
    return [image(figure, f"{results[0].title}: time per operation on every machine")]


def _height(row: int, index: int, count: int) -> float:
    """Return the height of a variant in its row: equal values must not overlap."""
    return row - 0.25 + 0.5 * index / max(1, count - 1)


def _dots(axes: Axes, rows: Sequence[tuple[int, int, str, float]], count: int) -> None:
    for row, index, name, value in rows:
        look = {"marker": marker(index), "color": colour(name, index)}
        axes.plot(value, _height(row, index, count), markersize=6, **look)  # type: ignore[arg-type]


def pairs_image(result: Pairs) -> list[Image]:
    """Draw the time of every operation by latency class, and published medians as rings."""
    rows = class_rows(result)
    classes = list(dict.fromkeys(row.latency_class for row in rows))
    names = [variant.name for variant in result.variants]
    figure = blank_figure(0.75 * len(classes) + 1.4)
    axes = figure.add_subplot()
    places = [(classes.index(r.latency_class), names.index(r.operation), r) for r in rows]
    _dots(axes, [(at, index, r.operation, r.ns) for at, index, r in places], len(names))
    for at, index, row in places:
        if row.published is not None:
            axes.plot(
                row.published, _height(at, index, len(names)), "o", markersize=9,
                markerfacecolor="none", color=PUBLISHED,
            )  # fmt: skip
    number_axis(axes, "x", [r.ns for r in rows])
    name_axis(axes, classes)
    axes.set_xlabel(f"{result.label} ns per operation of two CPUs that take turns")
    legend(figure, names, "")
    return [image(figure, f"{result.title}: time of a turn by latency class")]


def curve_image(result: Curve) -> list[Image]:
    """Draw the time of every operation over threads, with the range of published threads."""
    figure: Figure = blank_figure(4.8)
    axes = figure.add_subplot()
    every: list[ThreadPoint] = []
    published: list[tuple[ThreadPoint, Compared]] = []
    for index, variant in enumerate(result.variants):
        every += variant.points
        published += variant.compared
        axes.plot(
            [point.threads for point in variant.points],
            [point.ns_per_op for point in variant.points],
            marker(index) + "-", color=colour(variant.name, index), markersize=4, linewidth=1,
        )  # fmt: skip
    if published:
        means = [known.published for _, known in published]
        axes.errorbar(
            [point.threads for point, _ in published], means, fmt="o", color=PUBLISHED,
            markerfacecolor="none", elinewidth=0.8, label="published: mean, and range of threads",
            yerr=[
                [known.published - known.low for _, known in published],
                [known.high - known.published for _, known in published],
            ],
        )  # fmt: skip
        axes.legend(loc="upper left")
    number_axis(axes, "y", [point.ns_per_op for point in every])
    count_axis(axes, [point.threads for point in every], "threads, one per CPU")
    axes.set_ylabel(f"{result.label} ns per operation")
    legend(figure, [variant.name for variant in result.variants])
    return [image(figure, f"{result.title}: time of each operation over threads")]
