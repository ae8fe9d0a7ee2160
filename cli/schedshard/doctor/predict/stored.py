# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stored predictions, which a finding quotes when the user does not wait for a new one.

scripts/doctor_predictions.py writes predictions.toml: rt-groups on some machine files, all of their
CPUs in groups of 8, at several rates, 20 samples each.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from math import log
from typing import Any

from schedshard.common.output import toml_of
from schedshard.doctor.facts.facts import Facts
from schedshard.doctor.predict.nearest import nearest
from schedshard.doctor.predict.prediction import TITLES, Predicted, Prediction, Shape, Unpredicted

FILE = files("schedshard.doctor.predict") / "predictions.toml"
# Farther apart than this factor, a stored rate says nothing about the observed one.
_RATE_FACTOR = 5.0


def _spread(values: list[float]) -> dict[str, float]:
    return dict(zip(("value", "low", "high"), values))


def _prediction(row: dict[str, Any], why: str) -> Prediction:
    shape = Shape(
        row["groups"], row["cpus_per_group"], 50, 1,
        row["per_cpu"] * row["groups"] * row["cpus_per_group"],
    )  # fmt: skip
    rows = tuple(
        Predicted(
            name, TITLES[name], {"cycles_per_wakeup": _spread(cycles)},
            _spread(row["of_stock"][name]),
        )
        for name, cycles in row["cycles"].items()
    )  # fmt: skip
    source = "stored table predictions.toml; --predict runs it for the observed shape"
    return Prediction(
        row["machine"], row["kind"], why, shape, source, row["samples"], rows
    )  # fmt: skip


@cache
def load_stored() -> tuple[tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]]:
    """Return the machines of the file, and all of its predictions."""
    data = toml_of(FILE.read_text(encoding="utf-8"))
    return tuple(data["machine"]), tuple(data["prediction"])


def stored(facts: Facts, shape: Shape | None) -> Prediction | Unpredicted:
    """Return the stored prediction that is nearest to a shape on a machine."""
    if shape is None:
        return Unpredicted("no real-time thread wakes up")
    machines, rows = load_stored()
    found = nearest(facts, live=False, known=machines)
    if found.name is None:
        return Unpredicted(found.why)
    wanted = shape.rate / shape.cpus
    own = [row for row in rows if row["machine"] == found.name]
    best = min(own, key=lambda row: abs(log(row["per_cpu"] / wanted)))
    factor = max(best["per_cpu"] / wanted, wanted / best["per_cpu"])
    if factor > _RATE_FACTOR:
        return Unpredicted(
            f"no stored rate is near {wanted:,.0f} wake-ups a second and CPU: --predict runs it"
        )
    return _prediction(best, found.why)
