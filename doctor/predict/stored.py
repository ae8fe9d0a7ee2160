# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Predictions from the stored curves, for the observed shape.

If no machine file of the table is near a host, the prediction is the range of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log

from doctor.facts.facts import Facts
from doctor.facts.load import DomainLoad
from doctor.predict.nearest import Fit, Nearest, nearest
from doctor.predict.prediction import (
    Predicted,
    Prediction,
    Range,
    Unpredicted,
    predicted_row,
)
from doctor.predict.shape import Shape, shape_of
from doctor.predict.surface import Cost, Surface, load_surfaces

_SOURCE = "stored curves; --predict simulates the observed load"
ANY = "any"


def _range(values: list[float], lows: Iterable[float], highs: Iterable[float]) -> Range:
    middle = exp(sum(log(max(each, 1.0)) for each in values) / len(values))
    value = middle if len(values) > 1 else values[0]
    return Range(value, min(*lows, value), max(*highs, value))


def _row(shape: Shape, variant: str, surfaces: Iterable[Surface]) -> Predicted:
    """Return a variant's figures over these machines, and over both values of an unknown push."""
    found: list[tuple[Cost, Cost, Cost]] = []
    for push in (True, False) if shape.push is None else (shape.push,):
        asked = shape.asked(push)[variant]
        found += [(surface.at(asked), *surface.bounds(asked)) for surface in surfaces]
    kernel, late = (
        _range(*([getattr(each, name) for each in column] for column in zip(*found)))
        for name in ("kernel_ns", "late_ns")
    )
    return predicted_row(shape, variant, kernel, late)


def stored(facts: Facts, load: DomainLoad) -> Prediction | Unpredicted:
    """Return what the load of a root domain costs, from the stored curves."""
    shape = shape_of(load, facts)
    if shape is None:
        return Unpredicted("no real-time thread wakes up")
    surfaces = {surface.name: surface for surface in load_surfaces()}
    found = nearest(Fit.of(facts, load, shape), [surface.row for surface in surfaces.values()])
    return on_surface(shape, found)


def on_surface(shape: Shape, found: Nearest) -> Prediction:
    """Return the prediction on a machine of the table, or on all of them."""
    surfaces = {surface.name: surface for surface in load_surfaces()}
    used = list(surfaces.values()) if found.name is None else [surfaces[found.name]]
    stored_kernels = used[0].row["stretch"]
    rows = tuple(
        _row(shape, variant, used)
        for variant, asked in shape.asked(True).items()
        if asked.kernel in stored_kernels
    )
    kind = "estimate" if found.name is None else str(used[0].row["kind"])
    return Prediction(found.name or ANY, kind, found.why, shape, _SOURCE, None, rows)
