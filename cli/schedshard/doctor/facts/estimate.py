# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How busy the hottest line of a root domain is, from the rate of wake-ups alone.

This is arithmetic, not a simulation. A wake-up and the sleep after it each send a request for the
line with the lowest priority level. A line serves one request at a time, and that takes

- 30 to 280 ns between last-level caches. A counter of 8 sockets takes 22 to 36 ns an increment; 200
  to 280 follows by Little's law from the published figures (docs/results/rt.md);
- 10 to 60 ns inside one cache, an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

from schedshard.doctor.facts.load import DomainLoad

REQUESTS = 2
BETWEEN_NS = (30.0, 280.0)
INSIDE_NS = (10.0, 60.0)


@dataclass(frozen=True)
class Busy:
    """The part of the time in which a line serves requests; above 1 the wake-ups wait for it."""

    low: float
    high: float

    @property
    def severity(self) -> str | None:
        """Return how bad it may be, or None when it is negligible: below 2% at most."""
        for limit, name in ((0.5, "high"), (0.1, "medium"), (0.02, "low")):
            if self.high >= limit:
                return name
        return None

    @property
    def words(self) -> str:
        """Return the range in words."""
        return f"{self.low:.1%} to {self.high:.1%}"


def line_busy(load: DomainLoad) -> Busy:
    """Return how busy the hottest line of a root domain is.

    ``load.llcs`` of 0 means that the kernel does not know the caches: then they may be several.
    """
    low, high = INSIDE_NS if load.llcs == 1 else BETWEEN_NS
    rate = load.wakeups * REQUESTS * 1e-9
    return Busy(rate * low, rate * high)
