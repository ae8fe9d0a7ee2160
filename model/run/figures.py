# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compares each variant's figures with the published ones, for experiments with several figures."""

import math
from collections.abc import Mapping

from common.errors import UserError
from common.show.format import PERCENT
from model.results import rows
from model.results.lines import CacheLine
from model.results.rows import FigureVariant
from model.results.run import Figures
from model.run.experiment import Experiment, Metric, Variant


def reported(experiment: Experiment, variant: str, metrics: Mapping[str, float]) -> None:
    """Raise a UserError if the simulator's output lacks a declared figure."""
    for metric in experiment.metrics:
        if not math.isfinite(metrics.get(metric.reported, math.nan)):
            raise UserError(
                f"schedshard-sim printed no '{metric.reported}' for {variant} of "
                f"{experiment.name}: the figure '{metric.name}' needs it",
                status=1,
            )


def values(
    experiment: Experiment, metrics: Mapping[str, float], baseline: Mapping[str, float] | None
) -> dict[str, float | None]:
    """Return the declared figures of one run.

    A relative one is None if the baseline was not run.
    """
    figures: dict[str, float | None] = {}
    for metric in experiment.metrics:
        value: float | None = metrics[metric.reported]
        if metric.relative:
            base = baseline.get(metric.reported) if baseline is not None else None
            value = value / base if value is not None and base else None
        figures[metric.name] = value
    return figures


def error(metric: Metric, predicted: float, published: float) -> float:
    """Return the error: in points (as a fraction) for shares, otherwise relative."""
    return predicted - published if metric.unit == PERCENT else predicted / published - 1.0


def figure_variant(
    experiment: Experiment,
    variant: Variant,
    metrics: Mapping[str, float],
    baseline: Mapping[str, float] | None,
    lines: list[CacheLine],
    comparable: bool,
) -> FigureVariant:
    """Return one variant of the result, from the simulator's metrics."""
    shown = values(experiment, metrics, baseline)
    published = dict(variant.published_metrics) if comparable else {}
    errors: dict[str, float] = {}
    accept: dict[str, float] = {}
    accepted = True
    for metric in experiment.metrics:
        value = shown[metric.name]
        if value is None or metric.name not in published:
            continue
        errors[metric.name] = error(metric, value, published[metric.name])
        limit = variant.accept_metrics.get(metric.name)
        if limit is not None:
            accept[metric.name] = limit
            accepted = accepted and abs(value - published[metric.name]) <= limit
    return FigureVariant(
        name=variant.name,
        title=variant.title,
        values=shown,
        published=published,
        error=errors,
        accept=accept or None,
        accepted=accepted if accept else None,
        lacks=variant.lacks or None if accept and not accepted else None,
        calibrated=list(variant.calibrated) if comparable and variant.calibrated else None,
        metrics=dict(metrics),
        lines=lines,
    )


def described(experiment: Experiment) -> list[rows.Metric]:
    """Return the meaning of the columns, so that a saved result explains itself."""
    return [
        rows.Metric(
            name=metric.name,
            title=metric.title,
            unit=metric.unit,
            relative_to_baseline=metric.relative,
        )
        for metric in experiment.metrics
    ]


def misses(result: Figures, variant: FigureVariant) -> list[rows.Metric]:
    """Return the figures of a variant that are outside their band."""
    outside = []
    for metric in result.metrics:
        limit = (variant.accept or {}).get(metric.name)
        value, known = variant.values[metric.name], variant.published.get(metric.name)
        if limit is None or value is None or known is None:
            continue
        if abs(value - known) > limit:
            outside.append(metric)
    return outside


def hot_lines(result: Figures, variant: FigureVariant, most: int = 3) -> list[CacheLine]:
    """Return the lines of a variant on which its loads wait longest, and all published lines.

    The lines are in order of the total time of loads, which is a line's cost.
    """
    published = {
        (line.object, line.line) for line in result.published_lines if line.variant == variant.name
    }
    ordered = sorted(variant.lines, key=lambda line: (-line.waited, line.object, line.line))
    return [
        line
        for index, line in enumerate(ordered)
        if index < most or (line.object, line.line) in published
    ]
