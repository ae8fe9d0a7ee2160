# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Bars of an experiment with several figures: one panel per figure, published bars hatched."""

from __future__ import annotations

import matplotlib as mpl
from matplotlib.ticker import FuncFormatter

from common.show.format import compact
from common.show.plots import PUBLISHED, RC, Plot, blank_figure, style, variant_colour
from model.results.rows import Metric
from model.results.run import Figures
from model.run.experiment import PERCENT
from model.tables.figures import figure_text, head

PANELS = 3
_LOG_FROM = 30.0


def _panels(result: Figures) -> list[Metric]:
    """Return the metrics to draw: the published ones first, at most PANELS."""
    known = [
        metric
        for metric in result.metrics
        if any(variant.values[metric.name] is not None for variant in result.variants)
    ]
    published = {name for variant in result.variants for name in variant.published}
    known.sort(key=lambda metric: metric.name not in published)
    return known[:PANELS]


def figure_bars(result: Figures) -> Plot:
    """Draw a row per variant and a panel per figure; published bars are hatched."""
    variants = result.variants
    metrics = _panels(result)
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 0.42 * len(variants) + 1.3)
        panels = figure.subplots(1, max(1, len(metrics)), sharey=True, squeeze=False)[0]
        for panel, metric in zip(panels, metrics, strict=False):
            name = metric.name
            values = [variant.values[name] for variant in variants]
            for index, variant in enumerate(variants):
                value, published = values[index], variant.published.get(name)
                offset = 0.19 if published is not None else 0.0
                if value is not None:
                    panel.barh(
                        index - offset, value, 0.36, color=variant_colour(variant.name, index)
                    )
                    panel.annotate(
                        figure_text(metric, value), (value, index - offset), xytext=(3, 0),
                        textcoords="offset points", va="center", fontsize=7,
                    )  # fmt: skip
                if published is not None:
                    panel.barh(
                        index + offset, published, 0.36, facecolor="white", edgecolor=PUBLISHED,
                        linewidth=0.8, hatch="////",
                    )  # fmt: skip
                    panel.annotate(
                        figure_text(metric, published), (published, index + offset), xytext=(3, 0),
                        textcoords="offset points", va="center", fontsize=7,
                    )  # fmt: skip
            positive = [value for value in values if value]
            if metric.unit != PERCENT and positive and min(positive) > 0:
                if max(positive) / min(positive) > _LOG_FROM:
                    panel.set_xscale("log")
                panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: compact(x)))
            else:
                panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x * 100:g}%"))
            panel.margins(x=0.28)
            panel.set_title(head(metric), fontsize=9)
            panel.tick_params(axis="x", labelsize=7)
            style(panel, "x")
        panels[0].set_yticks(range(len(variants)), [v.name for v in variants], fontsize=8)
        panels[0].invert_yaxis()
        figure.supxlabel("solid: predicted, hatched: published", fontsize=8)
    return Plot(
        figure,
        ("variant", "figure", "unit", "predicted", "published"),
        [
            (v.name, metric.name, metric.unit, v.values[metric.name],
             v.published.get(metric.name))
            for metric in metrics
            for v in variants
        ],
    )  # fmt: skip
