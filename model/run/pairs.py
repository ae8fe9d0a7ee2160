# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Chooses pairs of CPUs by latency class, and makes results of experiments on such pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from common.errors import UserError
from common.paths import sim_binary
from common.tool import run_json
from model.machines.presets import Machine
from model.results.lines import CacheLine
from model.results.rows import PairPoint, Swept
from model.results.run import Pairs, PairsBand
from model.run.experiment import Published, PublishedPair, Variant


@dataclass(frozen=True)
class Pair:
    """Two CPUs of a machine and the class of the distance between them."""

    latency_class: str
    first: int
    second: int


def load_pairs(machine: Machine, first: int | None = None) -> tuple[Pair, ...]:
    """Return one pair per latency class from near to far, or CPU ``first`` with each other CPU.

    The simulator supplies the pairs, by the topology and the tiers of the machine file.
    """
    argv = [str(sim_binary()), "--pairs", "--machine", str(machine.flat)]
    entries = run_json(argv if first is None else [*argv, "--from", str(first)])
    try:
        pairs = tuple(
            Pair(str(pair["class"]), int(pair["from"]), int(pair["to"])) for pair in entries
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{sim_binary().name} printed no pairs: {error}", status=1) from error
    if not pairs:
        raise UserError(f"machine {machine.name} has one CPU: two are needed")
    return pairs


def pair_variants(
    points: Sequence[tuple[Variant, Pair]],
    metrics: Sequence[Mapping[str, float]],
    lines: Sequence[list[CacheLine]],
    published: Published | None,
) -> list[Swept[PairPoint]]:
    """Return the variants of a result, with a point per pair and published figures beside them.

    A published figure appears only if the first CPU of the pair is that of the measurement.
    """
    rows: dict[str, Swept[PairPoint]] = {}
    for (variant, pair), values, point_lines in zip(points, metrics, lines, strict=True):
        row = rows.setdefault(
            variant.name, Swept(name=variant.name, title=variant.title, points=[])
        )
        point = PairPoint(
            latency_class=pair.latency_class,
            first=pair.first,
            second=pair.second,
            ns_per_op=values["ns_per_op"],
            cycles_per_op=values["cycles_per_op"],
            metrics=dict(values),
            lines=point_lines,
        )
        figure = _figure(published, variant, pair)
        if figure is not None:
            point.compare(figure.median, figure.low, figure.high)
        row.points.append(point)
    band = published.accept_pairs if published is not None else None
    for row in rows.values():
        if not row.compared:
            continue
        row.judge([abs(known.error) for _, known in row.compared])
        if band is not None:
            row.accepted = all(
                band.holds(point.ns_per_op, known.published) for point, known in row.compared
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


def class_rows(result: Pairs) -> list[ClassRow]:
    """Return the rows of tables and plots. Classes are in order of latency, from near to far."""
    band = result.published.accept if result.published is not None else None
    by_key: dict[tuple[str, str], list[PairPoint]] = {}
    nearest: dict[str, float] = {}
    for variant in result.variants:
        for point in variant.points:
            by_key.setdefault((point.latency_class, variant.name), []).append(point)
            nearest.setdefault(point.latency_class, float(point.ns_per_op))
    classes = sorted(nearest, key=lambda name: nearest[name])
    return [
        _class_row(name, variant.name, by_key[name, variant.name], band)
        for name in classes
        for variant in result.variants
        if (name, variant.name) in by_key
    ]


def _class_row(
    name: str, operation: str, points: Sequence[PairPoint], band: PairsBand | None
) -> ClassRow:
    times = [float(point.ns_per_op) for point in points]
    first = points[0]
    published = first.published
    ns = float(median(times))
    error = None if published is None else ns / published - 1.0
    where = f"{first.first} and {first.second}"
    return ClassRow(
        name, where if len(points) == 1 else f"{first.first} with {len(points)}", operation,
        ns, min(times), max(times), published, error,
        None if error is None or band is None else abs(error) <= band.within,
    )  # fmt: skip
