# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Estimates the model's error for each kind of operation, from curves that others measured.

The interval of the machine's unknown inputs must grow by a factor to contain a published point. The
score of a point is the logarithm of that factor. The model's error is a quantile of scores, as in
conformal prediction, which assumes no distribution of errors.

A curve counts only if no number of the model was chosen on it, because a fit makes residuals small.
Errors of one machine are correlated, so each machine has the same weight within its kind. A kind
with few machines says little about itself, so all other kinds together count as PRIOR machines.

machines/published/residuals.toml contains the residuals, and scripts/fidelity.py makes it. Callers
use validation().
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

from common.output import read_toml
from common.paths import MACHINES
from model.machines.cores import core_of
from model.results import saved
from model.run.whole import WORKLOAD, whole_validation

RESIDUALS = MACHINES / "published/residuals.toml"
PRIOR = 4.0
INSIDE = 0.9  # of all points
LEAST = 0.05  # no kind has a smaller error


@dataclass(frozen=True)
class Residual:
    """One published point. ``low`` to ``high`` is the 90% interval from uncertain inputs."""

    machine: str
    core: str  # the title of its type
    kind: str
    curve: str
    threads: int
    measured: float
    predicted: float
    low: float
    high: float
    calibrated: bool = False  # a number or a rule of the model was chosen on the curve

    @property
    def score(self) -> float:
        """Return what together() must add so that the interval contains the point."""
        error = math.log(self.measured / self.predicted)
        end = self.high if error > 0 else self.low
        inputs = math.log(end / self.predicted) if (end > self.predicted) == (error > 0) else 0.0
        return math.sqrt(max(0.0, error**2 - inputs**2))


@dataclass(frozen=True)
class ModelError:
    """The validation of one kind of operation. 90% of figures are within ``factor``.

    Calibrated curves count nowhere here.
    """

    kind: str
    curves: int
    machines: int
    cores: tuple[str, ...]
    threads: int
    factor: float

    def sentence(self, core: str | None = None) -> str:
        """Return a sentence on the curves that validated such predictions, and on their error.

        ``core`` is the type of core of the machine to be predicted, or None if it is unknown.
        """
        about = f"90% of points are within a factor of {self.factor:.2f}"
        if not self.machines:
            return f"not validated for {words(self.kind)}; for other kinds {about}"
        if core not in self.cores:
            core = core or "this type of core"
            return f"not validated for {words(self.kind)} on {core}; on others {about}"
        curves = f"{self.curves} curve{'s' * (self.curves != 1)}"
        machines = f"{self.machines} machine{'s' * (self.machines != 1)}"
        return f"validated on {curves} of {machines}, up to {self.threads} threads: {about}"


_WORDS = {
    "locked": "locked operations",
    "far": "atomics that the line's home executes",
    "swap": "compare-and-swap",
    "plain": "plain stores",
    "mixed": "loads mixed with locked operations",
    "locks": "locks with spinning waiters",
    "sleep": "locks whose waiters sleep",
    "polling": "turns of two CPUs",
    "work": "operations with work between them",
    WORKLOAD: "whole workloads",
}


def words(kind: str) -> str:
    """Return a kind of operation in words."""
    return _WORDS.get(kind, kind)


def estimate(residuals: Iterable[Residual], kind: str) -> ModelError:
    """Return the model's error for a kind of operation on a machine without residuals."""
    by_machine: dict[tuple[str, str], list[Residual]] = {}
    for residual in residuals:
        if not residual.calibrated:
            by_machine.setdefault((residual.kind, residual.machine), []).append(residual)
    if not by_machine:
        raise ValueError("there are no residuals of curves that are not calibrated")
    own = sum(of == kind for of, _ in by_machine)
    others = len(by_machine) - own
    weighted = sorted(
        (residual.score, (1.0 if of == kind else PRIOR / others) / len(points))
        for (of, _), points in by_machine.items()
        for residual in points
    )
    wanted = INSIDE * sum(weight for _, weight in weighted) - 1e-9
    reached = accumulate(weight for _, weight in weighted)
    widest = next(
        score for (score, _), sum_ in zip(weighted, reached, strict=True) if sum_ >= wanted
    )
    mine = [residual for (of, _), points in by_machine.items() if of == kind for residual in points]
    return ModelError(
        kind,
        len({residual.curve for residual in mine}),
        len({residual.machine for residual in mine}),
        tuple(sorted({residual.core for residual in mine})),
        max((residual.threads for residual in mine), default=0),
        math.exp(max(widest, LEAST)),
    )


def together(low: float, median: float, high: float, factor: float) -> tuple[float, float]:
    """Return ``low`` and ``high``, widened by the model's error, which is independent of theirs."""
    if min(low, median) <= 0:
        return low, high
    model = math.log(factor)
    down = math.hypot(math.log(median / low), model)
    up = math.hypot(math.log(high / median), model)
    return median * math.exp(-down), median * math.exp(up)


@cache
def known_residuals() -> tuple[Residual, ...]:
    """Return the project's residuals."""
    return tuple(read_residuals(read_toml(RESIDUALS, "table of residuals")))


def read_residuals(data: Mapping[str, Any]) -> Sequence[Residual]:
    """Return the residuals in a table."""
    return [
        Residual(
            str(curve["machine"]), str(curve["core"]), str(curve["kind"]), str(curve["name"]),
            int(threads), float(measured), float(predicted), float(low), float(high),
            bool(curve.get("calibrated")),
        )
        for curve in data["curve"]
        for threads, measured, predicted, low, high in curve["points"]
    ]  # fmt: skip


@cache
def known_error(kind: str) -> ModelError:
    """Return the model's error for a kind, from all residuals of the project."""
    return estimate(known_residuals(), kind)


def validation(
    kind: str, machine: str, variants: Sequence[str] = (), recorder: str = "exact"
) -> saved.ModelError:
    """Return the validation of a kind for a machine, as results and pages show it.

    ``recorder``: of a whole workload, whose score does not depend on the machine.
    """
    if kind == WORKLOAD:
        return saved.ModelError(**whole_validation(recorder), variants=list(variants))
    error = known_error(kind)
    core = core_of(machine) or next(
        (residual.core for residual in known_residuals() if residual.machine == machine), None
    )
    return saved.ModelError(
        kind=kind,
        curves=error.curves,
        machines=error.machines,
        threads=error.threads,
        factor=error.factor,
        said=error.sentence(core),
        variants=list(variants),
    )
