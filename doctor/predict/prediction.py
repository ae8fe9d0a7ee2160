# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines a root domain's predicted cost, a share of the machine's CPU time, or why it has none.

The cost is the kernel's time for real-time wake-ups, less the time that they would take if no other
CPU had real-time threads. Sharing the lines causes this cost, which includes the waits for lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from doctor.predict.rates import validation
from doctor.predict.shape import PARTITION, PIN, STOCK, TITLES, Shape


def model_error() -> float:
    """Return the error factor on published curves to which the model was not fitted.

    docs/results/fidelity.md lists them.
    """
    return float(validation()["factor"])


@dataclass(frozen=True)
class Range:
    """A figure with its 90% interval; ``low`` and ``high`` are None after one run."""

    value: float
    low: float | None = None
    high: float | None = None

    def times(self, factor: float, most: float = float("inf")) -> Range:
        """Return the figure times a factor, where no value exceeds ``most``."""
        scaled = [None if end is None else min(end * factor, most) for end in self.all]
        return Range(scaled[0] or 0.0, *scaled[1:])

    @property
    def all(self) -> tuple[float, float | None, float | None]:
        """Return value, low and high."""
        return self.value, self.low, self.high

    def meets(self, other: Range) -> bool:
        """Whether two intervals overlap. A figure without an interval counts as a point."""
        low, high = (self.value if end is None else end for end in self.all[1:])
        least, most = (other.value if end is None else end for end in other.all[1:])
        return low <= most and least <= high


def total(ranges: Iterable[Range]) -> Range:
    """Return the sum. Its interval goes from the sum of the low ends to that of the high ends.

    That is wider than a 90% interval of the sum.
    """
    held = list(ranges)
    if any(addend.low is None for addend in held):
        return Range(sum(addend.value for addend in held))
    return Range(
        sum(addend.value for addend in held), sum(addend.low or 0.0 for addend in held),
        sum(addend.high or 0.0 for addend in held),
    )  # fmt: skip


@dataclass(frozen=True)
class Predicted:
    """One variant: its share of the machine's CPU time, and nanoseconds per wake-up.

    ``kernel_ns`` is the kernel's time, ``late_ns`` the delay from a timer to its thread, which only
    a simulation of the load shows.
    """

    variant: str
    share: Range
    kernel_ns: Range
    late_ns: Range | None

    @property
    def title(self) -> str:
        """Return the variant's title."""
        return TITLES[self.variant]


@dataclass(frozen=True)
class Prediction:
    """A prediction's figures, its machine file, its shape, and its source.

    ``samples`` is the number of samples behind the intervals. 0: there are no intervals. None: they
    come from the stored table.
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
        """Return the cost without a remedy."""
        return self.rows[0]

    def row(self, *variants: str) -> Predicted | None:
        """Return the first of these variants that was predicted."""
        return next((row for row in self.rows if row.variant in variants), None)

    @property
    def saved(self) -> float:
        """Return the share of the machine's CPU time that a remedy saves without another kernel.

        The share is 0 if the model's error may explain the difference between the two costs.
        """
        now, best = self.now.share.value, self.row(PARTITION, PIN)
        return now - best.share.value if best and best.share.value * model_error() < now else 0.0


@dataclass(frozen=True)
class Unpredicted:
    """Why nothing was predicted."""

    why: str


def predicted_rows(
    shape: Shape, figures: Mapping[str, tuple[Range, Range | None]]
) -> tuple[Predicted, ...]:
    """Return each variant's figures at the observed rate, from kernel time and delay per wake-up.

    Wake-ups that partitions do not take along cost as much as before.
    """
    most = min(shape.busy, shape.cpus / shape.online)
    rows = []
    for variant, (kernel_ns, late_ns) in figures.items():
        if variant in (PARTITION, PIN):
            stay = figures[STOCK][0].times(1 - shape.moved)
            kernel_ns = total((kernel_ns.times(shape.moved), stay))
        share = kernel_ns.times(shape.rate * 1e-9 / shape.online, most)
        rows.append(Predicted(variant, share, kernel_ns, late_ns))
    return tuple(rows)
