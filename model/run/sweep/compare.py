# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compares two groups of runs over several seeds, in the format of the kernel's test robot.

A                 B
%stddev  %change  %stddev
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from common.errors import UserError, check_names
from common.formats import LIVE, RUN
from model.results.read import is_parquet, load_run
from model.results.run import Result
from model.run.sweep.file import read_rows
from model.run.sweep.sweep import FACTS, KEY, current

FORMAT = "schedshard/compare/1"
_PLACE = ("experiment", "machine", "cap", "cpus", "placement")
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Side:
    """One side of a comparison: its origin, its variant (None: all), and its rows.

    ``again`` names columns that repeat a metric in another form, such as relative to a baseline.
    """

    source: str
    variant: str | None
    rows: tuple[Mapping[str, Any], ...]
    again: frozenset[str] = frozenset()

    @property
    def label(self) -> str:
        """Return the name to print over the side's columns."""
        return self.variant or self.source


@dataclass(frozen=True)
class CompareRequest:
    """Two sides and the metrics to show. Without names, all metrics that both have are shown."""

    a: Side
    b: Side
    metrics: tuple[str, ...] = ()


def load_side(spec: str) -> Side:
    """Return the side that FILE or FILE:VARIANT names.

    FILE is a result of run or of a measurement, or a sweep.
    """
    path, variant = Path(spec), None
    if not path.exists() and ":" in spec:
        name, _, chosen = spec.rpartition(":")
        if Path(name).exists():
            path, variant = Path(name), chosen
    again: frozenset[str] = frozenset()
    if is_parquet(path):
        rows: Sequence[Mapping[str, Any]] = current(read_rows(path))
    else:
        result = load_run(path, RUN, LIVE)
        rows = result_rows(result)
        again = frozenset(
            metric.name
            for metric in result.metrics or ()
            for variant in result.variants
            for row in variant.rows()
            if metric.name not in row.metrics
        )
    known = sorted({str(row["variant"]) for row in rows})
    if variant is not None:
        check_names(f"variant in {path}", [variant], known)
        rows = [row for row in rows if row["variant"] == variant]
    return Side(path.name, variant, tuple(rows), again)


def result_rows(result: Result) -> list[Mapping[str, Any]]:
    """Return a result of run as rows of one seed, in the form of a sweep's rows."""
    place = {
        "experiment": result.experiment,
        "machine": result.machine.name,
        "cap": result.cap or 64,
        "placement": result.placement,
        "seed": result.provenance.seed or 0,  # measurements have no seed
    }
    rows: list[Mapping[str, Any]] = []
    for variant in result.variants:
        for row in variant.rows():
            name, cpus = row.among(variant.name, result.cpus)
            numbers = {key: value for key, value in row.values.items() if value is not None}
            rows.append({**place, "variant": name, "cpus": cpus, **row.metrics, **numbers})
    return rows


def _metrics(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for row in rows for name in row)
    return [name for name in names if name not in KEY and name not in FACTS]


def _groups(side: Side, by_variant: bool) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in side.rows:
        key = tuple(row[name] for name in _PLACE) + ((row["variant"],) if by_variant else ())
        groups.setdefault(key, []).append(row)
    return groups


def compare(request: CompareRequest) -> dict[str, Any]:
    """Return the comparison as data: an entry per common place, with a row per metric."""
    a, b = request.a, request.b
    by_variant = a.variant is None or b.variant is None
    left, right = _groups(a, by_variant), _groups(b, by_variant)
    common = [key for key in left if key in right]
    if not common:
        raise UserError(
            f"no result of {a.label} and {b.label} has the same {'variant, ' if by_variant else ''}"
            "experiment, machine, shard size and number of CPUs: nothing to compare"
        )
    metrics = [m for m in _metrics(a.rows) if m in set(_metrics(b.rows))]
    check_names("metric of both", request.metrics, metrics)
    first = [name for name in metrics if name not in a.again | b.again]
    names = list(dict.fromkeys(request.metrics)) or first
    places = []
    for key in common:
        rows = [row for name in names if (row := _row(name, left[key], right[key])) is not None]
        entry = dict(zip((*_PLACE, "variant"), key, strict=False))
        places.append({**entry, "metrics": rows})
    if not any(place["metrics"] for place in places):
        raise UserError(f"{a.label} and {b.label} have no metric in common: nothing to compare")
    return {
        "format": FORMAT,
        "a": {"source": a.source, "variant": a.variant, "label": a.label},
        "b": {"source": b.source, "variant": b.variant, "label": b.label},
        "places": places,
    }


def _row(
    name: str, left: Sequence[Mapping[str, Any]], right: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    a = np.array([float(row[name]) for row in left if name in row])
    b = np.array([float(row[name]) for row in right if name in row])
    if not a.size or not b.size:
        return None
    change = float(b.mean() / a.mean() - 1.0) if a.mean() else None
    p = probability(a, b)
    return {"metric": name, "a": summary(a), "b": summary(b), "change": change, "p": p}


def summary(values: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, Any]:
    """Return mean, relative sample standard deviation (None for one value), and number of runs."""
    mean = float(values.mean())
    spread = None
    if values.size > 1 and mean:
        spread = float(values.std(ddof=1)) / abs(mean)
    return {"mean": mean, "stddev": spread, "runs": int(values.size)}


def probability(
    a: np.ndarray[Any, np.dtype[np.float64]], b: np.ndarray[Any, np.dtype[np.float64]]
) -> float | None:
    """Return the p-value of the difference (Welch's t test), or None if unknown.

    Two groups without any spread need no test.
    """
    if a.size < 2 or b.size < 2:
        return None
    if math.isclose(float(np.ptp(a)), 0.0) and math.isclose(float(np.ptp(b)), 0.0):
        return None
    return float(stats.ttest_ind(a, b, equal_var=False).pvalue)
