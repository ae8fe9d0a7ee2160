# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Searches for the value of a parameter at which a figure equals the published one.

The search proposes a value, gets the figure there, and ends when the figure is near enough. The
search works on logarithms of figure and value, between the ends of the parameter's range. The
search assumes only that the figure is smooth: the parameter may raise or lower it.
"""

import math
from dataclasses import dataclass, field
from itertools import pairwise

NEAR = 0.02  # of the published figure
ROUNDS = 10
_FIRST_SLOPE = -1.5  # the slope of a share of time against the time of the rest
_LONGEST_STEP = math.log(4.0)
_TINY = 1e-9


@dataclass
class Search:
    """One search for ``target`` with values between ``low`` and ``high``."""

    start: float
    low: float
    high: float
    target: float
    trials: list[tuple[float, float]] = field(default_factory=list)

    def tell(self, value: float, figure: float) -> None:
        """Record the figure at a proposed value."""
        self.trials.append((value, figure))

    def _miss(self, figure: float) -> float:
        return math.log(max(figure, _TINY) / self.target)

    @property
    def best(self) -> float:
        """Return the value whose figure is nearest to the target so far."""
        return min(self.trials, key=lambda trial: abs(self._miss(trial[1])))[0]

    @property
    def reached(self) -> bool:
        """Whether a value with the published figure was found."""
        return any(abs(figure / self.target - 1.0) <= NEAR for _, figure in self.trials)

    def propose(self) -> float | None:
        """Return the next value to try, or None if no better value is left."""
        if not self.trials:
            return self.start
        if self.reached or len(self.trials) >= ROUNDS:
            return None
        points = sorted((math.log(value), self._miss(figure)) for value, figure in self.trials)
        for (x, miss), (right, other) in pairwise(points):
            if (miss < 0) != (other < 0):
                # Every other step takes the middle, because interpolation may stay near one end for
                # long.
                part = miss / (miss - other) if len(self.trials) % 2 == 0 else 0.5
                return math.exp(x + part * (right - x))
        near = sorted(points, key=lambda point: abs(point[1]))[:2]
        x, miss = near[0]
        slope = _FIRST_SLOPE
        if len(near) > 1 and near[1][1] != miss:
            slope = (near[1][1] - miss) / (near[1][0] - x)
        step = max(-_LONGEST_STEP, min(_LONGEST_STEP, -miss / slope))
        value = min(self.high, max(self.low, math.exp(x + step)))
        return None if any(math.isclose(value, old) for old, _ in self.trials) else value
