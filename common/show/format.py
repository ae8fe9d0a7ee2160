# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Formats numbers as people read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

PERCENT = "percent"


class Labelled(Protocol):
    """A figure with a title and a unit: of a result or of an experiment."""

    @property
    def title(self) -> str:
        """The figure's title, a few words."""

    @property
    def unit(self) -> str:
        """The figure's unit. The value of a figure in percent is a fraction."""


def head(metric: Labelled) -> str:
    """Return the head of a figure's column: title and unit."""
    unit = metric.unit
    return metric.title if unit == PERCENT or unit in metric.title else f"{metric.title}, {unit}"


def figure_text(metric: Labelled, value: float | None) -> str:
    """Return a figure as text, without its unit unless that is %; head() names other units."""
    if value is None:
        return "-"
    if metric.unit == PERCENT:
        return f"{value * 100:,.1f}%" if value < 10 else f"{value * 100:,.0f}%"
    if metric.unit == "bytes":
        return f"{value:,.0f}"
    return significant(value)


def metric_words(metric: Labelled) -> tuple[str, Callable[[float], str]]:
    """Return the head of a figure, and a function that writes its values."""
    return head(metric), lambda value: figure_text(metric, value)


def significant(value: float, digits: int = 3) -> str:
    """Return a number with ``digits`` significant digits, grouped thousands, no E notation."""
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    rounded = round(value, digits - 1 - exponent)
    return f"{rounded:,.{max(0, digits - 1 - exponent)}f}"


def percent(fraction: float) -> str:
    """Return a fraction as percent: 100%, 32.9%, 1.30%, 0.493%."""
    if fraction >= 0.9995:
        return f"{fraction:.0%}"
    return f"{significant(fraction * 100)}%"


def signed_percent(fraction: float) -> str:
    """Return an error as text: +4.2%, -12%; as a factor from +100% up and from -50% down."""
    if fraction >= 1.0:
        return f"{fraction + 1.0:.1f}x"
    if -1.0 < fraction <= -0.5:
        return f"1/{1.0 / (1.0 + fraction):.1f}x"
    return f"{fraction * 100:+.1f}%"


def times(ratio: float) -> str:
    """Return a ratio as text: 77x, 3.0x."""
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.1f}x"


def compact(value: float) -> str:
    """Return an axis label: 1, 10, 100, 1k, 10k."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:g}M"
    if value >= 1_000:
        return f"{value / 1_000:g}k"
    return f"{value:g}"


def nanoseconds(value: float) -> str:
    """Return a duration in nanoseconds as text, in the unit that fits."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if value >= size:
            return f"{significant(value / size)} {unit}"
    return f"{significant(value)} ns"
