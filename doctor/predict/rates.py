# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Says at which rate of wake-ups sharing costs a share of the CPUs' time, by machine and load.

predictions.json, which the simulator made, has a row per number of CPUs, with the rate at which the
cost reaches each share of LEVELS. Rates, shares and numbers of CPUs are interpolated by their
logarithms. Below the first rate a wake-up costs as much as at that rate. A row lacks shares that
are more than twice the highest simulated one. A kernel with schedshard's series has no line that
all CPUs write, and its searches read one byte per CPU of a group. So its rows are by the CPUs and
wake-ups of one group.

The interval comes from a fast and a slow factor k per machine. If all latencies are k times as
long, the rate of each share is divided by k. So the ends are the shares at k times the rate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, log
from typing import Any

FILE = files("doctor.predict") / "predictions.json"
LEVELS = (0.001, 0.01, 0.05, 0.2, 0.5)
SHARD = "shard"


@dataclass(frozen=True)
class Asked:
    """A load: FIFO threads, one per CPU, that sleep and wake up.

    ``rate``: how often per second all threads would wake up if none waited. ``pinned``: each thread
    may run on one CPU only, otherwise on the CPUs of its ``group``. ``push``: RT_PUSH_IPI is on.
    ``spread``: the CPUs are far apart, otherwise as near as possible.
    """

    kernel: str
    push: bool
    pinned: bool
    spread: bool
    cpus: int
    rate: float
    group: int = 8


def between(low: float, high: float, part: float) -> float:
    """Interpolate on a logarithmic scale; ``part`` 0 gives ``low``, and 1 gives ``high``."""
    return exp(log(low) * (1 - part) + log(high) * part)


def level_at(rates: Sequence[float], rate: float, bound: int = 0) -> float:
    """Return the share at a rate, by the rates of LEVELS: its low (``bound`` -1) or high end (1).

    Beyond the last rate a wake-up is taken to cost as much as at the last rate. There the low end
    is the last level, and the high end is all of the time if the last level is the highest one.
    """
    points = list(zip(rates, LEVELS))
    for (x, low), (y, high) in zip([(0.0, 0.0), *points], points):
        if rate <= y:
            return between(low, high, log(rate / x) / log(y / x)) if x else high * rate / y
    last, level = points[-1]
    if bound < 0:
        return level
    return 1.0 if bound > 0 and level == LEVELS[-1] else min(1.0, level * rate / last)


def row_name(kernel: str, push: bool, pinned: bool, spread: bool) -> str:
    """Return the name of a load's rows: no other setting matters where threads are pinned."""
    words = [kernel, "pinned" if pinned else "push" if push and kernel != SHARD else ""]
    return " ".join(filter(None, [*words, "far" if spread and kernel != SHARD else ""]))


@dataclass(frozen=True)
class Rates:
    """All rows of a machine file."""

    row: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Return the name of the machine file."""
        return str(self.row["name"])

    @property
    def package(self) -> float:
        """Return the machine's number of CPUs per package."""
        return float(self.row["cpus"] / self.row["packages"])

    def at(self, asked: Asked, speed: float = 1.0, bound: int = 0) -> float:
        """Return the cost as a share of the load's CPUs, if latencies are ``speed`` times as long.

        The cost is 0 on one CPU, where nothing is shared. ``bound`` is that of level_at().
        """
        if asked.cpus < 2:
            return 0.0
        size, rate = asked.cpus, asked.rate * speed
        if asked.kernel == SHARD:
            size, rate = asked.group, rate * asked.group / asked.cpus
        name = row_name(asked.kernel, asked.push, asked.pinned, asked.spread)
        rows = self.row["rates"].get(name) or self.row["rates"][name.replace(" far", "")]
        low = max((row for row in rows if row[0] <= size), default=rows[0])
        high = min((row for row in rows if row[0] >= size), default=rows[-1])
        part = log(size / low[0]) / log(high[0] / low[0]) if low[0] < size < high[0] else 0.0
        made = [between(a, b, part) for a, b in zip(low[1:], high[1:])]
        return level_at(made, rate, bound)

    def bounds(self, asked: Asked) -> tuple[float, float]:
        """Return the ends of the 90% interval."""
        fast, slow = self.row["stretch"]
        return self.at(asked, fast, -1), self.at(asked, slow, 1)


@cache
def _table() -> Mapping[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def validation() -> Mapping[str, Any]:
    """Return how the predictions were validated: the published curves, and the error factor."""
    return _table()["validation"]  # type: ignore[no-any-return]


@cache
def load_rates() -> tuple[Rates, ...]:
    """Return the rates of all machine files in the table."""
    return tuple(Rates(row) for row in _table()["machines"])
