# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""By how much the model errs, for each kind of operation: from curves that others measured.

A residual is the logarithm of measured over predicted. Those of one machine err together, so that a
machine counts once, by its mean square. What its own unknown inputs explain is subtracted. A kind
with few machines says little about itself. So its mean square is drawn towards that of all other
kinds, which counts as PRIOR machines. The factor is a quantile of Student's t, with as many degrees
of freedom as machines count. That is the usual interval of a normal error whose variance is known
from few observations.

machines/published/residuals.toml has the residuals; scripts/fidelity.py makes it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from schedshard.common.output import read_toml
from schedshard.common.paths import MACHINES

RESIDUALS = MACHINES / "published/residuals.toml"
PRIOR = 2.0
TAIL = 0.95  # the upper end of a 90% interval
WIDE = 1.645  # a normal 90% interval ends so many standard deviations from its middle
LEAST = 0.05  # no kind is better known than that


@dataclass(frozen=True)
class Residual:
    """One published point: the inputs' 90% interval is ``low`` to ``high``."""

    machine: str
    vendor: str
    kind: str
    curve: str
    threads: int
    measured: float
    predicted: float
    low: float
    high: float

    @property
    def square(self) -> float:
        """The squared residual, less what the machine's unknown inputs explain."""
        known = math.log(self.high / self.low) / 2 / WIDE
        return math.log(self.measured / self.predicted) ** 2 - known**2


@dataclass(frozen=True)
class ModelError:
    """What is known about one kind of operation; ``factor``: 90% of figures are within it."""

    kind: str
    curves: int
    machines: int
    vendors: tuple[str, ...]
    threads: int
    factor: float

    def sentence(self, vendor: str | None = None) -> str:
        """On what a prediction was checked, and by how much it errs."""
        about = f"error factor {self.factor:.2f}"
        if not self.machines:
            return f"never validated for {words(self.kind)}; {about} as for all other kinds"
        if vendor is not None and vendor not in self.vendors:
            return f"never validated for {words(self.kind)} on {vendor}; {about} as on others"
        curves = f"{self.curves} curve{'s' * (self.curves != 1)}"
        machines = f"{self.machines} machine{'s' * (self.machines != 1)}"
        return f"validated on {curves} of {machines}, to {self.threads} threads, {about}"


_WORDS = {
    "locked": "locked operations",
    "far": "atomics that the line's home executes",
    "swap": "compare-and-swap",
    "plain": "plain stores",
    "mixed": "loads mixed with locked operations",
    "locks": "locks with spinning waiters",
    "polling": "turns of two CPUs",
    "work": "operations with work between them",
    "workload": "whole workloads",
}


def words(kind: str) -> str:
    """A kind of operation in words."""
    return _WORDS.get(kind, kind)


def estimate(residuals: Iterable[Residual], kind: str) -> ModelError:
    """The model's error for a kind; for a machine that none of the residuals is of."""
    from scipy.stats import t

    by_machine: dict[tuple[str, str], list[Residual]] = {}
    for one in residuals:
        by_machine.setdefault((one.kind, one.machine), []).append(one)
    squares = {
        key: max(LEAST**2, sum(one.square for one in points) / len(points))
        for key, points in by_machine.items()
    }
    own = [square for (of, _), square in squares.items() if of == kind]
    others = [square for (of, _), square in squares.items() if of != kind] or own
    if not others:
        raise ValueError("there are no residuals")
    prior = sum(others) / len(others)
    degrees = PRIOR + len(own)
    variance = (PRIOR * prior + sum(own)) / degrees
    mine = [one for (of, _), points in by_machine.items() if of == kind for one in points]
    return ModelError(
        kind,
        len({one.curve for one in mine}),
        len(own),
        tuple(sorted({one.vendor for one in mine})),
        max((one.threads for one in mine), default=0),
        math.exp(float(t.ppf(TAIL, degrees)) * math.sqrt(variance)),
    )


def together(low: float, median: float, high: float, factor: float) -> tuple[float, float]:
    """Ends of the interval that has both errors, which are independent."""
    if min(low, median) <= 0:
        return low, high
    model = math.log(factor)
    down = math.hypot(math.log(median / low), model)
    up = math.hypot(math.log(high / median), model)
    return median * math.exp(-down), median * math.exp(up)


@cache
def known_residuals() -> tuple[Residual, ...]:
    """The residuals that come with the project."""
    return tuple(read_residuals(read_toml(RESIDUALS, "table of residuals")))


def read_residuals(data: Mapping[str, Any]) -> Sequence[Residual]:
    """The residuals of a table."""
    return [
        Residual(
            str(curve["machine"]), str(curve["vendor"]), str(curve["kind"]), str(curve["name"]),
            int(threads), float(measured), float(predicted), float(low), float(high),
        )
        for curve in data["curve"]
        for threads, measured, predicted, low, high in curve["points"]
    ]  # fmt: skip


@cache
def known_error(kind: str) -> ModelError:
    """The model's error for a kind, from all residuals that come with the project."""
    return estimate(known_residuals(), kind)


def validation(kind: str, machine: str, title: str) -> dict[str, Any]:
    """On what predictions of a kind were checked, for a machine: what results and pages say."""
    error = known_error(kind)
    return {
        "kind": kind,
        "curves": error.curves,
        "machines": error.machines,
        "threads": error.threads,
        "factor": error.factor,
        "said": error.sentence(vendor_of(machine, title)),
    }


def vendor_of(machine: str, title: str) -> str:
    """The maker of a machine's cores, by its name and title."""
    text = f"{machine} {title}".lower()
    for vendor, marks in {
        "Intel": ("xeon", "intel", "sierra", "core i"),
        "AMD": ("epyc", "amd", "zen"),
        "Arm": ("neoverse", "graviton", "altra", "ampere", "grace", "apple", "arm"),
    }.items():
        if any(mark in text for mark in marks):
            return vendor
    return "other cores"
