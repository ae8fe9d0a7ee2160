# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Formats a prediction as text and as JSON data."""

from __future__ import annotations

from typing import Any

from doctor.predict.prediction import Predicted, Prediction, Range
from doctor.predict.rates import validation


def percent(share: float) -> str:
    """Return a share as a percentage with about two significant digits."""
    if share < 0.0001:
        return "less than 0.01%"
    return f"{share:.2%}" if share < 0.01 else f"{share:.1%}" if share < 0.1 else f"{share:.0%}"


def _microseconds(ns: float) -> str:
    digits = 2 if ns < 1e3 else 1 if ns < 1e5 else 0
    return f"{ns / 1000:,.{digits}f}"


def _with_bounds(value: str, low: str | None, high: str | None) -> str:
    return value if low is None else f"{value} ({low} to {high})"


def share_words(share: Range) -> str:
    """Return a share of the machine's CPU time with its interval."""
    low, high = (None if end is None else percent(end) for end in share.all[1:])
    if high is not None and high.startswith("less"):
        return high
    return _with_bounds(percent(share.value), low, high)


def delay_words(late_ns: Range) -> str:
    """Return a delay with its interval."""
    low, high = (None if end is None else _microseconds(end) for end in late_ns.all[1:])
    if high == _microseconds(0.0):
        return "less than 0.01 us"
    return f"{_with_bounds(_microseconds(late_ns.value), low, high)} us"


def row_words(row: Predicted) -> str:
    """Return the prediction of one variant as text."""
    late = f", a wake-up delayed by {delay_words(row.late_ns)} on average" if row.late_ns else ""
    return f"{row.title}: {share_words(row.share)} of the machine's CPU time{late}"


def prediction_words(prediction: Prediction) -> list[str]:
    """Return a prediction as lines of text: its basis, its validation, and a line per variant."""
    samples = {None: "90% interval", 0: "one run, no interval"}.get(
        prediction.samples, f"median of {prediction.samples} samples and 90% interval"
    )
    machine = (
        f"machine file {prediction.machine} ({prediction.kind}; {prediction.why})"
        if prediction.machine != "any"
        else prediction.why
    )
    head = f"predicted on {machine} for {prediction.shape.words}; {samples}; {prediction.source}"
    return [head, f"{validation()['said']}", *(row_words(row) for row in prediction.rows)]


def spread(figure: Range) -> dict[str, float | None]:
    """Return a figure with its interval as JSON data."""
    return {"value": figure.value, "low": figure.low, "high": figure.high}


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
        "pinned": shape.pinned,
        "spread": shape.packages > 1,
        "push_ipi": shape.push,
        "samples": prediction.samples,
        "source": prediction.source,
        "validation": dict(validation()),
        "variants": [
            {
                "variant": row.variant,
                "title": row.title,
                "share": spread(row.share),
                "kernel_ns": spread(row.kernel_ns),
                "late_ns": spread(row.late_ns) if row.late_ns else None,
            }
            for row in prediction.rows
        ],
    }
