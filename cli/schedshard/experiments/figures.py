# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Variants of an experiment with several published figures, side by side."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from schedshard.common.errors import UserError
from schedshard.experiments.experiment import PERCENT, Experiment, Metric, Variant


def is_figures(result: Mapping[str, Any]) -> bool:
    """Whether a result is of an experiment with several figures."""
    return "metrics" in result


def reported(experiment: Experiment, variant: str, metrics: Mapping[str, float]) -> None:
    """Refuse output of the simulator that lacks a declared figure."""
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
    """The declared figures of one run; a relative one is None when its baseline was not run."""
    found: dict[str, float | None] = {}
    for metric in experiment.metrics:
        value: float | None = metrics[metric.reported]
        if metric.relative:
            base = baseline.get(metric.reported) if baseline is not None else None
            value = value / base if value is not None and base else None
        found[metric.name] = value
    return found


def error(metric: Metric, predicted: float, published: float) -> float:
    """Return the error: in points (as a fraction) for shares, otherwise relative."""
    return predicted - published if metric.unit == PERCENT else predicted / published - 1.0


def figure_row(
    experiment: Experiment, variant: Variant, found: Mapping[str, float | None], comparable: bool
) -> dict[str, Any]:
    """One variant of the result, without its lines."""
    row: dict[str, Any] = {"name": variant.name, "title": variant.title, **found}
    published = dict(variant.published_metrics) if comparable else {}
    row["published"] = published
    errors: dict[str, float] = {}
    accept: dict[str, float] = {}
    accepted = True
    for metric in experiment.metrics:
        value = found[metric.name]
        if value is None or metric.name not in published:
            continue
        errors[metric.name] = error(metric, value, published[metric.name])
        limit = variant.accept_metrics.get(metric.name)
        if limit is not None:
            accept[metric.name] = limit
            accepted = accepted and abs(value - published[metric.name]) <= limit
    row["error"] = errors
    if accept:
        row["accept"] = accept
        row["accepted"] = accepted
        if not accepted and variant.lacks:
            row["lacks"] = variant.lacks
    if comparable and variant.calibrated:
        row["calibrated"] = list(variant.calibrated)
    return row


def described(experiment: Experiment) -> list[dict[str, Any]]:
    """The meaning of the columns, so that a saved result explains itself."""
    return [
        {
            "name": metric.name,
            "title": metric.title,
            "unit": metric.unit,
            "relative_to_baseline": metric.relative,
        }
        for metric in experiment.metrics
    ]


def misses(result: Mapping[str, Any], variant: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of a result's metrics for a variant's figures outside their band."""
    outside = []
    for metric in result["metrics"]:
        name = metric["name"]
        limit = variant.get("accept", {}).get(name)
        if limit is not None and abs(variant[name] - variant["published"][name]) > limit:
            outside.append(metric)
    return outside


def hot_lines(
    result: Mapping[str, Any], variant: Mapping[str, Any], most: int = 3
) -> list[dict[str, Any]]:
    """The lines of a variant on which its loads wait longest, and all published ones.

    In the order of the time of all loads together, which is a line's cost.
    """
    published = {
        (line["object"], line["line"])
        for line in result.get("published", {}).get("lines", ())
        if line["variant"] == variant["name"]
    }
    ordered: Sequence[dict[str, Any]] = sorted(
        variant["lines"],
        key=lambda line: (-line["avg_load_cycles"] * line["loads"], line["object"], line["line"]),
    )
    return [
        line
        for index, line in enumerate(ordered)
        if index < most or (line["object"], line["line"]) in published
    ]
