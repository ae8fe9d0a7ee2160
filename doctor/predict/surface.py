# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Interpolates the cost of a wake-up on a machine between simulated loads.

predictions.json contains curves: cost and delay of a wake-up over the wake-ups per second, for a
number of CPUs that have such threads. The lines act as a queue: the cost rises slowly until they
are saturated, and then steeply. Points lie close together where it rises. The rates are those that
the simulation reached. Logarithms are interpolated, between two points and between two numbers of
CPUs. Curves of different numbers of CPUs bend at about the same rate, so they are compared at equal
rates. A kernel with schedshard's series has no line that all CPUs write, and its searches read one
byte per CPU of a group. So its curves are for one group, by the group's CPUs and wake-ups. Above
the last point each wake-up costs as much as at that point, but at most all CPU time.

The interval takes two factors per kernel and machine. If all latencies are k times as long, a
wake-up costs k times as much at 1/k of the rate, for any queue. So the bounds are the curve itself,
stretched by the k of fast and of slow samples. Above the last point the lower bound is the cost per
second at that point: more wake-ups were not simulated, and cost no less.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, log
from typing import Any

FILE = files("doctor.predict") / "predictions.json"


@dataclass(frozen=True)
class Cost:
    """Nanoseconds per wake-up: the kernel's time, and the delay."""

    kernel_ns: float
    late_ns: float


SHARD = "shard"
Point = tuple[float, float, float]  # wake-ups per second, kernel_ns, late_ns


@dataclass(frozen=True)
class Curve:
    """The simulated loads of one number of CPUs, sorted by rate."""

    cpus: int
    points: Sequence[Point]

    def at(self, rate: float, *, least: bool = False) -> Cost:
        """Return the cost at a rate; with ``least`` its lower bound above the last point."""
        rates = [point[0] for point in self.points]
        right = bisect_left(rates, rate)
        if right == 0:
            return Cost(*self.points[0][1:])
        if right == len(rates):
            kernel, late = self.points[-1][1:]
            if least:
                return Cost(kernel * rates[-1] / rate, late)
            return Cost(min(kernel, self.cpus / rate * 1e9), late)
        (x0, *low), (x1, *high) = self.points[right - 1], self.points[right]
        part = log(rate / x0) / log(x1 / x0)
        return Cost(*(_between(a, b, part) for a, b in zip(low, high)))


def _between(low: float, high: float, part: float) -> float:
    return exp(log(low) * (1 - part) + log(high) * part)


@dataclass(frozen=True)
class Asked:
    """A load whose cost a surface interpolates. points.Spot explains the fields."""

    kernel: str
    push: bool
    pinned: bool
    spread: bool
    cpus: int
    rate: float
    group: int = 8


@dataclass(frozen=True)
class Surface:
    """All curves of a machine file, and the factors that stretch them to an interval."""

    row: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Return the name of the machine file."""
        return str(self.row["name"])

    def _curves(self, asked: Asked) -> list[Curve]:
        def fits(curve: Mapping[str, Any]) -> bool:
            return curve["kernel"] == asked.kernel and all(
                curve[key] is None or curve[key] == getattr(asked, key)
                for key in ("push", "pinned", "spread")
            )

        held = [Curve(each["cpus"], each["points"]) for each in self.row["curves"] if fits(each)]
        return sorted(held, key=lambda curve: curve.cpus)

    def at(self, asked: Asked, *, least: bool = False) -> Cost:
        """Return the cost of a load, or with ``least`` its lower bound.

        It is 0 on one CPU, where nothing is shared.
        """
        if asked.cpus < 2:
            return Cost(0.0, 0.0)
        size, rate = asked.cpus, asked.rate
        if asked.kernel == SHARD:
            size, rate = asked.group, asked.rate * asked.group / asked.cpus
        curves = self._curves(asked)
        sizes = [curve.cpus for curve in curves]
        right = bisect_left(sizes, size)
        if right in (0, len(curves)) or sizes[right] == size:
            return curves[min(right, len(curves) - 1)].at(rate, least=least)
        low, high = curves[right - 1], curves[right]
        part = log(size / low.cpus) / log(high.cpus / low.cpus)
        below, above = low.at(rate, least=least), high.at(rate, least=least)
        return Cost(
            _between(below.kernel_ns, above.kernel_ns, part),
            _between(below.late_ns, above.late_ns, part),
        )

    def stretched(self, asked: Asked, by: float, *, least: bool = False) -> Cost:
        """Return the cost if all latencies were ``by`` times as long."""
        found = self.at(Asked(**{**vars(asked), "rate": asked.rate * by}), least=least)
        return Cost(found.kernel_ns * by, found.late_ns * by)

    def bounds(self, asked: Asked) -> tuple[Cost, Cost]:
        """Return the ends of the 90% interval."""
        fast, slow = self.row["stretch"][asked.kernel]
        return self.stretched(asked, fast, least=True), self.stretched(asked, slow)


@cache
def _table() -> Mapping[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def validation() -> Mapping[str, Any]:
    """Return how the predictions were validated: the published curves, and the error factor."""
    return _table()["validation"]  # type: ignore[no-any-return]


@cache
def load_surfaces() -> tuple[Surface, ...]:
    """Return the surfaces of all machine files in the stored table."""
    return tuple(Surface(row) for row in _table()["machines"])
