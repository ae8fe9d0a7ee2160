# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Figures of a result with what samples say of them: median and 90% interval.

Works on the JSON of a result. A row is a variant, or one point of a curve. A row may have one
figure that can be compared with a published one. Then ``interval`` and ``published_inside`` are of
that figure, and ``intervals`` has all figures. Where a row has several, both are by name, as
``published`` is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedshard.common.result import has_points, is_curve
from schedshard.experiments.figures import is_figures
from schedshard.experiments.model_error import together

LOW, HIGH = 5.0, 95.0
WORKLOAD = "workload"
_COSTS = ("ns_per_op", "cycles_per_op")
_BARS = ("relative", "cycles_per_op", "ns_per_op", "cycles_per_read")
_POINT = ("ns_per_op", "cycles_per_op")

# Variant, place and name; the place of a point is its number of threads or its pair.
Key = tuple[str, int | str | None, str]


@dataclass(frozen=True)
class Predicted:
    """One predicted figure: its place in the result, and its published value.

    ``given``: it has its value by definition. It is the baseline relative to itself, or a parameter
    was chosen on it. So a published value says nothing about the prediction.
    """

    row: dict[str, Any]
    variant: str
    place: int | str | None
    name: str
    value: float | None
    published: float | None
    given: bool

    @property
    def key(self) -> Key:
        """What identifies it among the figures of one result."""
        return self.variant, self.place, self.name


def predicted(result: Mapping[str, Any]) -> Iterator[Predicted]:
    """Every predicted figure of a result, in the order of its tables."""
    several, points = is_figures(result), has_points(result)
    for variant in result["variants"]:
        name, base = variant["name"], variant["name"] == result["baseline"]
        for row in variant["points"] if points else (variant,):
            if several:
                for metric in result["metrics"]:
                    figure = metric["name"]
                    given = base and metric["relative_to_baseline"]
                    given = given or figure in variant.get("calibrated", ())
                    published = variant["published"].get(figure)
                    yield Predicted(row, name, None, figure, row[figure], published, given)
                continue
            for figure in _POINT if points else _BARS:
                if figure in row:
                    main = figure == _main(points)
                    published = row.get("published") if main else None
                    given = base and figure == "relative"
                    place = place_of(row) if points else None
                    yield Predicted(row, name, place, figure, row[figure], published, given)


def place_of(point: Mapping[str, Any]) -> int | str:
    """What distinguishes a point from the others of its variant."""
    if "threads" in point:
        return int(point["threads"])
    return f"{point['class']} {point['from']}-{point['to']}"


def _main(points: bool) -> str:
    return (_POINT if points else _BARS)[0]


def interval(values: Sequence[float]) -> dict[str, Any]:
    """Median, 5th and 95th percentile of samples, interpolated between neighbours.

    A further sample lies below the nth lowest of N with a probability of n / (N + 1). So the ends
    of 20 samples are nearly the lowest and the highest. Percentiles *of the samples* would hold 84%
    of further ones instead of 90%, and 88% if there are 40.
    """
    ends = [LOW, 50.0, HIGH]
    low, median, high = np.percentile(np.array(values, dtype=float), ends, method="weibull")
    return {"median": float(median), "low": float(low), "high": float(high), "samples": len(values)}


def inside(found: Mapping[str, Any], published: float) -> bool:
    """Whether a published figure lies in an interval."""
    return bool(found["low"] <= published <= found["high"])


def attach(result: dict[str, Any], samples: Sequence[Mapping[Key, float | None]]) -> None:
    """Put intervals beside the figures of a result; ``samples``: the figures of each sample."""
    several = is_figures(result)
    main = _main(has_points(result))
    for figure in list(predicted(result)):
        values = [sample.get(figure.key) for sample in samples]
        known = [value for value in values if value is not None]
        if figure.value is None or len(known) < len(values):
            continue
        found = interval(known)
        figure.row.setdefault("interval" if several else "intervals", {})[figure.name] = found
        judged = figure.published is not None and not figure.given
        verdict = inside(found, figure.published) if figure.published is not None else False
        if several and judged:
            figure.row.setdefault("published_inside", {})[figure.name] = verdict
        elif not several and figure.name == main:
            figure.row["interval"] = found
            if judged:
                figure.row["published_inside"] = verdict


def widen(result: dict[str, Any], variants: Sequence[str], kind: str, factor: float) -> None:
    """Give the intervals of these variants both parts: what inputs do, and the model's own error.

    ``inputs`` keeps the first part alone, ``model`` the factor. Whole workloads are not widened:
    the model's error was never measured on one, and the ratio of two of them errs by less.
    """
    if kind == WORKLOAD or is_figures(result):
        return
    points = has_points(result)
    for figure in list(predicted(result)):
        found = figure.row.get("intervals", {}).get(figure.name)
        if figure.variant not in variants or found is None or figure.name not in _COSTS:
            continue
        found["inputs"] = {"low": found["low"], "high": found["high"]}
        found["model"] = {"factor": factor}
        found["low"], found["high"] = together(found["low"], found["median"], found["high"], factor)
        if "published_inside" in figure.row and figure.name == _main(points):
            figure.row["published_inside"] = inside(found, figure.published or 0.0)


def found_interval(figure: Predicted, several: bool) -> Mapping[str, Any] | None:
    """The interval of a figure, None: there is none."""
    found = figure.row.get("interval" if several else "intervals", {}).get(figure.name)
    return found if isinstance(found, Mapping) else None


def found_verdict(figure: Predicted, several: bool) -> bool | None:
    """Is the published figure inside? None: it says nothing, or there is none."""
    if figure.published is None or figure.given:
        return None
    verdict = figure.row.get("published_inside")
    if several:
        verdict = verdict.get(figure.name) if isinstance(verdict, Mapping) else None
    return verdict if isinstance(verdict, bool) else None


def headlines(result: Mapping[str, Any]) -> list[Predicted]:
    """The figures that a result is about.

    Those that were published for any variant, of all variants; otherwise the first one. Of the
    baseline, which others are relative to, its cost. Of a curve, the point with most threads; of
    pairs, the first of each latency class.
    """
    everything = list(predicted(result))
    if is_figures(result):
        known = {f.name for f in everything if f.published is not None}
        names = known or {result["metrics"][0]["name"]}
        return [f for f in everything if f.name in names and f.value is not None and not f.given]
    if has_points(result):
        main = [f for f in everything if f.name == _POINT[0]]
        if not is_curve(dict(result)):
            first = {f.row["class"]: f.place for f in reversed(main)}
            return [f for f in main if f.place == first[f.row["class"]]]
        most = {f.variant: f.place for f in main}
        return [f for f in main if f.place == most[f.variant]]
    return [
        f for f in everything if f.name == ("cycles_per_op" if _alone(f, result) else "relative")
    ]


def _alone(figure: Predicted, result: Mapping[str, Any]) -> bool:
    """Whether a variant is not compared with another: it is the baseline, or that was not run."""
    return bool(figure.variant == result["baseline"] or figure.row["relative"] is None)
