# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Predicts the cost of the observed shape from the stored table.

If no machine file of the table is near a host, the prediction is the range of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import exp, log

from doctor.facts.facts import Facts
from doctor.facts.load import DomainLoad
from doctor.predict.nearest import Fit, Nearest, nearest
from doctor.predict.prediction import (
    Prediction,
    Range,
    Unpredicted,
    predicted_rows,
)
from doctor.predict.rates import Rates, load_rates
from doctor.predict.shape import Shape, shape_of

_SOURCE = "a table of simulated rates; --predict simulates the observed load"
ANY = "any"
# Shares below this count as this in a mean of logarithms.
_LEAST = 1e-7


def _kernel_ns(shape: Shape, variant: str, machines: Iterable[Rates]) -> Range:
    """Return a variant's time per wake-up, over these machines and both values of unknown push."""
    values, ends = [], []
    for push in (True, False) if shape.push is None else (shape.push,):
        for machine in machines:
            asked = shape.asked(push, machine.package)[variant]
            values.append(machine.at(asked))
            ends += [values[-1], *machine.bounds(asked)]
    value = values[0]
    if len(values) > 1:
        value = exp(sum(log(max(rate, _LEAST)) for rate in values) / len(values))
    share = Range(value, min(ends), max(max(ends), value))
    return share.times(asked.cpus / asked.rate * 1e9)


def stored(facts: Facts, load: DomainLoad) -> Prediction | Unpredicted:
    """Return what the load of a root domain costs, from the stored table."""
    shape = shape_of(load, facts)
    if shape is None:
        return Unpredicted("no real-time thread wakes up")
    near = nearest(Fit.of(facts, load, shape), [machine.row for machine in load_rates()])
    return by_table(shape, near)


def faster(prediction: Prediction, times: float) -> Range | None:
    """Return the share at ``times`` the wake-ups, or None if the table lacks the machine."""
    names = {machine.name for machine in load_rates()}
    if prediction.machine not in (*names, ANY):
        return None
    near = Nearest(prediction.machine if prediction.machine in names else None, prediction.why)
    return by_table(replace(prediction.shape, rate=prediction.shape.rate * times), near).now.share


def by_table(shape: Shape, near: Nearest) -> Prediction:
    """Return the prediction on a machine of the table, or on all of them."""
    used = [machine for machine in load_rates() if near.name in (None, machine.name)]
    figures = {name: (_kernel_ns(shape, name, used), None) for name in shape.asked(True, 1)}
    kind = "estimate" if near.name is None else str(used[0].row["kind"])
    return Prediction(near.name or ANY, kind, near.why, shape, _SOURCE, None,
                      predicted_rows(shape, figures))  # fmt: skip
