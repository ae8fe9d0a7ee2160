# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A prediction of a root domain's load: its shape, its figures, or why there is none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median

from schedshard.doctor.facts.facts import DEADLINE
from schedshard.doctor.facts.load import DomainLoad

STOCK = "stock"
# The variants that are remedies, in words.
REMEDIES = {
    "partition": "a partition of type root for each group",
    "series": "a kernel with the four patches that were published",
    "shard": "a kernel with schedshard's series",
}
TITLES = {STOCK: "as it is", **REMEDIES}
# Time of a cycle besides sleep and work: two switches, a timer, an idle CPU's wake-up.
_OVERHEAD_US = 3.0


@dataclass(frozen=True)
class Shape:
    """Groups of as many CPUs each; ``rate`` is wake-ups a second of all together."""

    groups: int
    cpus_per_group: int
    level: int
    levels: int
    rate: float

    @property
    def cpus(self) -> int:
        """Return the CPUs of all groups."""
        return self.groups * self.cpus_per_group

    @property
    def words(self) -> str:
        """Return the shape in words."""
        each = self.rate / self.cpus
        return (
            f"{self.groups} group{'s' if self.groups > 1 else ''} of {self.cpus_per_group} CPUs, "
            f"{each:,.0f} wake-ups a second and CPU"
        )

    def params(self, counted: float) -> tuple[tuple[str, float], ...]:
        """Return the experiment's inputs for this number of wake-ups."""
        period = self.cpus / self.rate * 1e6
        work = min(5.0, period / 5)
        measured = min(max(counted / self.rate * 1e6, 2 * period, 500.0), 2e6)
        return (
            ("cpus_per_group", self.cpus_per_group),
            ("level", self.level),
            ("levels", self.levels),
            ("work_us", work),
            ("sleep_us", max(period - work - _OVERHEAD_US, 1.0)),
            ("warm_up_us", max(1.5 * period, 500.0)),
            ("measured_us", measured),
        )


@dataclass(frozen=True)
class Predicted:
    """One variant: the figures by name, each with ``value`` and, from samples, ``low``, ``high``.

    ``of_stock`` is cycles a wake-up against stock's, in the same samples.
    """

    variant: str
    title: str
    figures: dict[str, dict[str, float]]
    of_stock: dict[str, float]


@dataclass(frozen=True)
class Prediction:
    """A prediction's figures, its machine file, its shape, and its uncertainty."""

    machine: str
    kind: str
    why: str
    shape: Shape
    source: str
    samples: int
    rows: tuple[Predicted, ...]


@dataclass(frozen=True)
class Unpredicted:
    """Why nothing was predicted."""

    why: str


def shape_of(load: DomainLoad) -> Shape | None:
    """Return the shape of a root domain's load, None when nothing in it wakes up."""
    groups = [group for group in load.apart if group.wakeups > 0]
    groups = groups or [group for group in load.groups if group.wakeups > 0]
    if not groups:
        return None
    threads = [
        each for group in groups for each in group.threads
        if each.policy != DEADLINE and each.voluntary
    ]  # fmt: skip
    levels = Counter(max(1, min(each.priority, 99)) for each in threads)
    # A CPU per thread at most: threads that sleep leave the others of their group idle.
    sizes = [max(1, min(len(group.cpus), len(group.threads))) for group in groups]
    level = max(levels, default=50)
    return Shape(
        len(groups), max(1, round(median(sizes))), level, min(len(levels) or 1, level),
        sum(group.wakeups for group in groups),
    )  # fmt: skip
