# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Predicts a machine's figures from the simulator's stored curves for the nearest machine file.

On a machine of the same model as a machine file the interval is that file's. Otherwise the interval
covers those of all machine files of the same maker that are near enough, because no file describes
the machine.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import exp, log
from typing import Any

from doctor.predict.nearest import FARTHEST, Fit, distance, nearest, same_model
from trial.form import Figure, Host, Predicted

FILE = files("trial.predict") / "curves.json"
LOCK = "spinlock"
# Operations that all threads do at once, with their titles, and those that two CPUs do in turn.
OPS = {
    "atomic-inc": "contended add",
    "cas-loop": "contended compare-and-swap",
    "plain-inc": "contended store",
    LOCK: "one lock",
    "sharded-counter": "the library's counter",
    "claim-slots": "the library's pool",
}
PING_PONG = {"cas": "turns by compare-and-swap", "read-store": "turns by load and store"}
TITLES = {**OPS, **PING_PONG}
_MAKERS = {"AMD": "amd", "Hygon": "amd", "Intel": "intel", "Neoverse": "arm", "Ampere": "arm"}
Row = Mapping[str, Any]
Ends = Sequence[float]


@cache
def stored() -> tuple[Row, ...]:
    """Return the entries of all machine files."""
    return tuple(json.loads(FILE.read_text(encoding="utf-8"))["machines"])


def fit_of(host: Host) -> Fit:
    """Return the properties by which near machine files are found for a host."""
    cpus = len(host.cpus)
    caches = len({cpu.llc for cpu in host.cpus})
    maker = next((of for word, of in _MAKERS.items() if word in host.processor), None)
    if host.arch == "aarch64":
        maker = "arm"
    packages = len({cpu.package for cpu in host.cpus})
    return Fit(cpus, cpus / caches, packages, cpus, maker, host.processor)


def _between(low: Ends, high: Ends, part: float) -> list[float]:
    """Interpolate on a logarithmic scale."""
    return [exp(log(a) * (1 - part) + log(b) * part) for a, b in zip(low, high)]


def _at(row: Row, figure: Figure) -> Ends | None:
    """Return a machine file's prediction and the ends of its interval; None if it has none."""
    if figure.between:
        ends: Ends | None = row["pairs"].get(figure.name, {}).get(figure.between)
        return ends
    points = row["curves"].get(figure.name, ())
    threads = [point[0] for point in points]
    if figure.threads not in range(1, max(threads, default=0) + 1):
        return None
    at = bisect_left(threads, figure.threads)
    if threads[at] == figure.threads:
        exact: Ends = points[at][1:]
        return exact
    low, high = points[at - 1], points[at]
    part = log(figure.threads / low[0]) / log(high[0] / low[0])
    return _between(low[1:], high[1:], part)


class Predictor:
    """Predicts the figures of one host. ``why`` says which machine file it uses, and why."""

    def __init__(self, host: Host) -> None:
        fit, rows = fit_of(host), stored()
        match = nearest(fit, rows)
        self._row = next((row for row in rows if row["name"] == match.name), None)
        self.why = match.why if self._row is None else f"machine file {match.name}, {match.why}"
        self._like: tuple[Row, ...] = ()
        if self._row is not None and same_model(fit, self._row):
            self._like = (self._row,)
        elif self._row is not None:
            self._like = tuple(row for row in rows if distance(fit, row) <= FARTHEST)
            self.why += f"; the interval covers {len(self._like)} machine files like it"

    def of(self, figure: Figure) -> Predicted | None:
        """Return the prediction for a figure of an operation, or None."""
        mine = None if self._row is None else _at(self._row, figure)
        if self._row is None or mine is None:
            return None
        all_ = [mine, *filter(None, (_at(row, figure) for row in self._like))]
        return Predicted(
            mine[0], min(ends[1] for ends in all_), max(ends[2] for ends in all_),
            str(self._row["name"]),
        )  # fmt: skip
