# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines a finding, and the number formats that all findings use."""

from __future__ import annotations

from dataclasses import dataclass, field

from doctor.judge.severity import SEVERITIES
from doctor.known.catalogue import Entry
from doctor.predict.prediction import Prediction, Unpredicted


@dataclass(frozen=True)
class Evidence:
    """One thing that was seen: where (a file, a function, a line of a profile), and its value."""

    where: str
    value: str


@dataclass
class Finding:
    """The fault, its severity, and its remedies.

    ``predicted`` is the cost of a root domain's load, None for other findings.
    """

    entry: Entry
    severity: str
    summary: str
    evidence: list[Evidence]
    remedy: str
    command: str
    cpus: frozenset[int] = field(default_factory=frozenset)
    predicted: Prediction | Unpredicted | None = None

    @property
    def weight(self) -> int:
        """Return a number that grows with the severity."""
        return SEVERITIES.index(self.severity)

    @property
    def cost(self) -> float:
        """Return the predicted cost as a share of the machine's CPU time, 0 if there is none."""
        return self.predicted.now.share.value if isinstance(self.predicted, Prediction) else 0.0


def per_second(rate: float) -> str:
    """Return a rate as text, with a decimal below 10."""
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
