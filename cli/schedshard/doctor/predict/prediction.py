# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A prediction of a root domain's cost: the share of the machine's CPU time, or why there is none.

Cost is the kernel's time for real-time wake-ups beyond the time that it takes for a thread that is
the only one of its kind: what comes of sharing the lines, waits for them included.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from schedshard.doctor.predict.shape import PARTITION, PIN, STOCK, TITLES, Shape


@dataclass(frozen=True)
class Range:
    """A figure with its 90% interval; ``low`` and ``high`` are None after one run."""

    value: float
    low: float | None = None
    high: float | None = None

    def times(self, factor: float, most: float = float("inf")) -> Range:
        """Return the figure in another unit, at most ``most``."""
        scaled = [None if each is None else min(each * factor, most) for each in self.all]
        return Range(scaled[0] or 0.0, *scaled[1:])

    @property
    def all(self) -> tuple[float, float | None, float | None]:
        """Return value, low and high."""
        return self.value, self.low, self.high

    def meets(self, other: Range) -> bool:
        """Whether two intervals overlap; a figure without one is an interval of no width."""
        low, high = (self.value if each is None else each for each in self.all[1:])
        least, most = (other.value if each is None else each for each in other.all[1:])
        return low <= most and least <= high


def total(ranges: Iterable[Range]) -> Range:
    """Return the sum; its interval is of all low and of all high ends, which is wide."""
    held = list(ranges)
    if any(each.low is None for each in held):
        return Range(sum(each.value for each in held))
    return Range(
        sum(each.value for each in held), sum(each.low or 0.0 for each in held),
        sum(each.high or 0.0 for each in held),
    )  # fmt: skip


@dataclass(frozen=True)
class Predicted:
    """One variant: share of the machine's CPU time, and the nanoseconds of a wake-up.

    ``kernel_ns`` is of the kernel's time, ``late_ns`` of the time from a timer to its thread.
    """

    variant: str
    share: Range
    kernel_ns: Range
    late_ns: Range

    @property
    def title(self) -> str:
        """Return the variant in words."""
        return TITLES[self.variant]


@dataclass(frozen=True)
class Prediction:
    """A prediction's figures, its machine file, its shape, and its source.

    ``samples`` counts the runs behind an interval, 0: there is none, None: the stored table's.
    """

    machine: str
    kind: str
    why: str
    shape: Shape
    source: str
    samples: int | None
    rows: tuple[Predicted, ...]

    @property
    def now(self) -> Predicted:
        """Return the cost as it is."""
        return self.rows[0]

    def row(self, *variants: str) -> Predicted | None:
        """Return the first of these variants that was predicted."""
        return next((row for row in self.rows if row.variant in variants), None)

    @property
    def saved(self) -> float:
        """Return the share of the machine's CPU time that can be had without another kernel."""
        best = self.row(PARTITION, PIN)
        return 0.0 if best is None else max(0.0, self.now.share.value - best.share.value)


@dataclass(frozen=True)
class Unpredicted:
    """Why nothing was predicted."""

    why: str


def predicted_row(shape: Shape, variant: str, kernel_ns: Range, late_ns: Range) -> Predicted:
    """Return a variant's figures from those of a wake-up, at the rate that was observed."""
    most = min(shape.busy, shape.cpus / shape.online)
    return Predicted(
        variant, kernel_ns.times(shape.rate * 1e-9 / shape.online, most), kernel_ns, late_ns
    )


__all__ = [
    "PARTITION", "PIN", "STOCK", "TITLES", "Predicted", "Prediction", "Range", "Unpredicted",
    "predicted_row", "total",
]  # fmt: skip
