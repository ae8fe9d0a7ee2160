# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Pairs of CPUs by latency class, and results of experiments that run on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from schedshard.common.errors import UserError
from schedshard.common.paths import sim_binary
from schedshard.common.tool import run_json
from schedshard.experiments.experiment import Published, PublishedPair, Variant
from schedshard.machines.presets import Machine


@dataclass(frozen=True)
class Pair:
    """Two CPUs of a machine and the class of the distance between them."""

    latency_class: str
    first: int
    second: int


def load_pairs(machine: Machine, first: int | None = None) -> tuple[Pair, ...]:
    """One pair of every latency class from near to far; with ``first`` that CPU with every other.

    The simulator supplies them: classes follow from topology and tiers of the machine file.
    """
    argv = [str(sim_binary()), "--pairs", "--machine", str(machine.path)]
    found = run_json(argv if first is None else [*argv, "--from", str(first)])
    try:
        pairs = tuple(
            Pair(str(pair["class"]), int(pair["from"]), int(pair["to"])) for pair in found
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{sim_binary().name} printed no pairs: {error}", status=1) from error
    if not pairs:
        raise UserError(f"machine {machine.name} has one CPU: two are needed")
    return pairs


def pair_variants(
    points: Sequence[tuple[Variant, Pair]],
    metrics: Sequence[Mapping[str, float]],
    lines: Sequence[list[dict[str, Any]]],
    published: Published | None,
) -> list[dict[str, Any]]:
    """The variants of a result, each with a point a pair; published figures of pairs beside them.

    A published figure appears only if the first CPU of the pair is that of the measurement.
    """
    rows: dict[str, dict[str, Any]] = {}
    for (variant, pair), values, seen in zip(points, metrics, lines, strict=True):
        row = rows.setdefault(
            variant.name, {"name": variant.name, "title": variant.title, "points": []}
        )
        point: dict[str, Any] = {
            "class": pair.latency_class,
            "from": pair.first,
            "to": pair.second,
            "ns_per_op": values["ns_per_op"],
            "cycles_per_op": values["cycles_per_op"],
        }
        figure = _figure(published, variant, pair)
        if figure is not None:
            point["published"] = figure.median
            point["published_low"] = figure.low
            point["published_high"] = figure.high
            point["error"] = values["ns_per_op"] / figure.median - 1.0
        row["points"].append({**point, "metrics": dict(values), "lines": seen})
    band = published.accept_pairs if published is not None else None
    for row in rows.values():
        judged = [point for point in row["points"] if "published" in point]
        if not judged:
            continue
        errors = [abs(point["error"]) for point in judged]
        row["median_error"], row["worst_error"] = median(errors), max(errors)
        if band is not None:
            row["accepted"] = all(
                band.holds(point["ns_per_op"], point["published"]) for point in judged
            )
    return list(rows.values())


def _figure(published: Published | None, variant: Variant, pair: Pair) -> PublishedPair | None:
    if published is None or not variant.published_pairs or pair.first != published.from_cpu:
        return None
    return next(
        (
            known
            for known in published.pairs
            if known.variant == variant.name and known.latency_class == pair.latency_class
        ),
        None,
    )


@dataclass(frozen=True)
class ClassRow:
    """One operation on all pairs of one latency class of a result."""

    latency_class: str
    where: str
    operation: str
    ns: float
    low: float
    high: float
    published: float | None
    error: float | None
    accepted: bool | None


def class_rows(result: Mapping[str, Any]) -> list[ClassRow]:
    """What tables and plots show: classes in the order of the pairs, from near to far."""
    band = result.get("published", {}).get("accept", {}).get("within")
    by_key: dict[tuple[str, str], list[dict[str, Any]]] = {}
    nearest: dict[str, float] = {}
    for variant in result["variants"]:
        for point in variant["points"]:
            key = (point["class"], variant["name"])
            by_key.setdefault(key, []).append(point)
            nearest.setdefault(point["class"], float(point["ns_per_op"]))
    classes = sorted(nearest, key=lambda name: nearest[name])
    names = [variant["name"] for variant in result["variants"]]
    return [
        _class_row(name, operation, by_key[name, operation], band)
        for name in classes
        for operation in names
        if (name, operation) in by_key
    ]


def _class_row(
    name: str, operation: str, points: Sequence[Mapping[str, Any]], band: float | None
) -> ClassRow:
    times = [float(point["ns_per_op"]) for point in points]
    published = points[0].get("published")
    ns = float(median(times))
    error = None if published is None else ns / published - 1.0
    where = f"{points[0]['from']} and {points[0]['to']}"
    return ClassRow(
        name, where if len(points) == 1 else f"{points[0]['from']} with {len(points)}", operation,
        ns, min(times), max(times), published, error,
        None if error is None or band is None else abs(error) <= band,
    )  # fmt: skip
