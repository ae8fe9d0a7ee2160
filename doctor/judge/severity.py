# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Decides how severe a finding is. All limits are in this file, those of the severest first.

Findings that do not depend on a limit have a fixed severity where they are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SEVERITIES = ("low", "medium", "high")
# This many interrupts per second and CPU are a storm. Those of irq_work are usually below 10.
STORM = 1000.0

_Limits = tuple[tuple[float, str], ...]
# The predicted saving of a remedy for a root domain, as a share of the machine's CPU time.
_GAIN = ((0.05, "high"), (0.01, "medium"), (0.001, "low"))
# The lower end of the interval of an entry's share: that of its functions in all samples.
_SAMPLES = ((0.1, "high"), (0.03, "medium"), (0.0, "low"))
# Mean cycles per load of a contended line's slowest access in perf c2c.
_LOAD_CYCLES = ((5000, "high"), (1000, "medium"), (0, "low"))
_INTERRUPTS = ((10 * STORM, "high"), (STORM, "medium"))


# A severity that was reported before remains until its value is below this fraction of the limit.
# So a value near a limit does not change a monitor's state at each run.
KEPT = 0.7


@dataclass(frozen=True)
class Policy:
    """What a monitor asks for: the least gain of a finding, and the severities of its last run."""

    threshold: float = 0.0
    held: Mapping[str, str] = field(default_factory=dict)

    def keeps(self, entry: str, severity: str = "low") -> float:
        """Return the factor for a limit: below 1 if an entry had at least this severity before."""
        held = self.held.get(entry)
        before = held in SEVERITIES and SEVERITIES.index(held) >= SEVERITIES.index(severity)
        return KEPT if before else 1.0


NO_POLICY = Policy()


def _by(limits: _Limits, value: float, entry: str = "", policy: Policy = NO_POLICY) -> str | None:
    for least, severity in limits:
        if value >= max(least, policy.threshold) * policy.keeps(entry, severity):
            return severity
    return None


def of_gain(share: float, entry: str = "", policy: Policy = NO_POLICY) -> str | None:
    """Return the severity of what a remedy saves, or None if that is too small for a finding."""
    return _by(_GAIN, share, entry, policy)


def of_samples(share: float, excerpt: bool = False) -> str:
    """Return the severity of hot functions. An excerpt of a profile shows no more than medium."""
    return _by(_SAMPLES[1:] if excerpt else _SAMPLES, share) or "low"


def of_load(cycles: float) -> str:
    """Return the severity of a contended line."""
    return _by(_LOAD_CYCLES, cycles) or "low"


def of_interrupts(rate: float, entry: str = "", policy: Policy = NO_POLICY) -> str | None:
    """Return the severity of interrupts that look for work, or None if there are few."""
    return _by(_INTERRUPTS, rate, entry, Policy(held=policy.held))


def of_invalid_partition(used: bool) -> str:
    """Return the severity of a partition that is not in force.

    ``used``: real-time threads run in it, or below it.
    """
    return "medium" if used else "low"
