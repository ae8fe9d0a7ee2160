# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the types that `machine validate` saves, which judge the model by this host's times."""

from typing import Annotated

from msgspec import Meta

from model.results.rows import PAIR
from model.results.run import Host
from model.results.saved import Count, Few, Positive, Provenance, Real, Saved


class JudgedRow(Saved, kw_only=True, rename=PAIR):
    """A prediction beside a measurement, or beside the machine file's own figure."""

    experiment: str
    op: str
    threads: Few | None = None
    latency_class: str | None = None
    first: Count | None = None
    second: Count | None = None
    measured: Positive
    low: Real
    high: Real
    predicted: Positive
    error: Real
    factor: Real
    machine_file_ns: Real | None

    @property
    def where(self) -> str:
        """The row's CPUs in words."""
        if self.latency_class is not None:
            return f"{self.first} and {self.second} ({self.latency_class})"
        return "1 thread" if self.threads == 1 else f"{self.threads} threads"


class Bounds(Saved, kw_only=True):
    """The largest factors between predicted and measured figures that count as agreement.

    ``control`` limits the factor between the machine file's figure and that figure measured now.
    """

    median: Real
    worst: Real
    control: Real


class Judged(Saved, kw_only=True):
    """The verdict on all rows."""

    outcome: str
    median_factor: Real
    worst_factor: Real
    control_factor: Real | None
    bounds: Bounds
    worst: JudgedRow
    rows: Annotated[list[JudgedRow], Meta(min_length=1)]


class Validate(Saved, kw_only=True):
    """The part of the file of `machine validate` that a page shows."""

    format: str
    host: Host
    provenance: Provenance
    verdict: Judged
