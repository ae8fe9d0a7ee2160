# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Findings get their predictions, stored or made now; both in words."""

from collections.abc import Mapping
from typing import Any

from schedshard.doctor.facts.facts import Facts
from schedshard.doctor.judge.verdict import Verdict
from schedshard.doctor.predict.prediction import Predicted, Prediction, shape_of
from schedshard.doctor.predict.stored import stored


def add_predictions(verdict: Verdict, facts: Facts, live: bool, now: bool, limit: float) -> None:
    """Put into each finding of a root domain what its load costs: predicted now, or as stored.

    ``limit`` is the time in seconds for all predictions together.
    """
    loads = {load.domain.cpus: load for load in verdict.loads}
    found = [each for each in verdict.findings if each.busy is not None and each.cpus in loads]
    for finding in found:
        load = loads[finding.cpus]
        if now:
            from schedshard.doctor.predict.predict import predict

            finding.predicted = predict(facts, load, live, limit / len(found))
        else:
            finding.predicted = stored(facts, shape_of(load))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _range(spread: Mapping[str, float]) -> str:
    if "low" not in spread:
        return f"{_number(spread['value'])} (no interval)"
    low, high = _number(spread["low"]), _number(spread["high"])
    return f"{_number(spread['value'])} ({low} to {high})"


def row_words(row: Predicted) -> str:
    """Return one variant in words."""
    words = f"{row.title}: {_range(row.figures['cycles_per_wakeup'])} cycles a wake-up"
    if row.variant != "stock":
        share = row.of_stock
        words += f", {share['value']:.1%} of today"
        if "low" in share:
            words += f" ({share['low']:.1%} to {share['high']:.1%})"
    latency = row.figures.get("latency_mean_ns")
    return words if latency is None else f"{words}; late by {_range(latency)} ns"


def prediction_words(prediction: Prediction) -> list[str]:
    """Return a prediction in lines: its basis, then a line a variant."""
    samples = (
        f"median of {prediction.samples} samples and 90% interval"
        if prediction.samples
        else "one run"
    )
    head = (
        f"predicted on machine file {prediction.machine} ({prediction.kind}; {prediction.why}) for "
        f"{prediction.shape.words}; {samples}; {prediction.source}"
    )
    return [head, *(row_words(row) for row in prediction.rows)]


def prediction_data(prediction: Prediction) -> dict[str, Any]:
    """Return a prediction as JSON data."""
    shape = prediction.shape
    return {
        "machine": prediction.machine,
        "machine_kind": prediction.kind,
        "why": prediction.why,
        "groups": shape.groups,
        "cpus_per_group": shape.cpus_per_group,
        "wakeups_per_second": round(shape.rate, 1),
        "samples": prediction.samples,
        "source": prediction.source,
        "variants": [
            {
                "variant": row.variant,
                "title": row.title,
                **{
                    name: row.figures.get(name) for name in ("cycles_per_wakeup", "latency_mean_ns")
                },
                "of_stock": row.of_stock,
            }
            for row in prediction.rows
        ],
    }
