# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Begins a page with a question, and the answer of a result of `run` with its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from common.show.format import nanoseconds, percent, significant
from common.show.page import Lead
from model.results.rows import FigureVariant, Key, Point
from model.results.run import Bars, Curve, Figures, Pairs, Result
from model.results.saved import Machine
from model.run.pairs import class_rows
from model.run.uncertain.intervals import predicted
from model.run.uncertain.words import figure_words, words

ONE_RUN = "none: one run; 'run --uncertainty N' draws the inputs that are not known exactly"


def machine_label(machine: Machine) -> str:
    """Return "predicted", with the machine's kind if its numbers were not measured."""
    return "predicted" if machine.kind == "measured" else f"predicted, {machine.kind} machine"


def _place(result: Result) -> str:
    """Return the machine's title, with the number of its CPUs for a prediction."""
    if result.measured:
        return result.machine.title
    return f"{result.machine.title}, {result.of_cpus}"


def _label(result: Result) -> str:
    return "Measured" if result.measured else machine_label(result.machine).capitalize()


def _interval(result: Result, chosen: Sequence[Key]) -> str:
    """Return the intervals of the figures that an answer names, or why there are none."""
    if result.uncertainty is None:
        return "none: no samples" if result.measured else ONE_RUN
    intervals = {figure.key: figure.interval for figure in predicted(result)}
    parts = []
    for key in chosen:
        known = intervals.get(key)
        if known is not None:
            write = figure_words(result, key[2])[1]
            parts.append(f"'{key[0]}' {words(known, write)}")
    count = result.uncertainty.samples
    if not parts:
        return f"none: the {count} samples give no interval of this figure"
    return f"{'; '.join(parts)}: median and 90% interval of {count} samples"


def bars_lead(result: Bars) -> Lead:
    """Return the variant that costs least beside the baseline."""
    variants, base = result.variants, result.baseline
    asked = f"{result.title}: what does each layout cost on {_place(result)}?"
    others = [(v.relative, v) for v in variants if v.name != base and v.relative is not None]
    if not others:
        least = min(variants, key=lambda v: v.cycles_per_op)
        answer = (
            f"{_label(result)}: '{least.name}' takes {significant(least.cycles_per_op)} cycles "
            f"per operation ({nanoseconds(least.ns_per_op)})"
        )
        return Lead(asked, answer, _interval(result, [(least.name, None, "cycles_per_op")]))
    share, best = min(others, key=lambda entry: entry[0])
    answer = f"{_label(result)}: '{best.name}' costs {percent(share)} of '{base}'"
    if best.published is not None:
        answer += f" (published: {percent(best.published)})"
    answer += f", {nanoseconds(best.ns_per_op)} per operation"
    return Lead(asked, answer, _interval(result, [(best.name, None, "relative")]))


def figures_lead(result: Figures) -> Lead:
    """Return the lowest and highest variant by the first published figure, or by the first."""
    published = {name for v in result.variants for name in v.published}
    metrics = [
        m for m in result.metrics if any(v.values[m.name] is not None for v in result.variants)
    ]
    asked = f"{result.title}: what does each layout change on {_place(result)}?"
    if not metrics:
        return Lead(asked, "Unknown: each figure needs the baseline, which was not run", ONE_RUN)
    metric = next((m for m in metrics if m.name in published), metrics[0])
    name = metric.name
    title, write = figure_words(result, name)
    known = [(value, v) for v in result.variants if (value := v.values[name]) is not None]
    low, high = min(known, key=lambda entry: entry[0]), max(known, key=lambda entry: entry[0])
    ends = [low] if low is high else [low, high]
    texts = [f"{write(value)} with '{v.name}'{_as_published(v, name, write)}" for value, v in ends]
    answer = f"{_label(result)}, {title}: {' to '.join(texts)}"
    return Lead(asked, answer, _interval(result, [(v.name, None, name) for _, v in ends]))


def _as_published(variant: FigureVariant, name: str, write: Callable[[float], str]) -> str:
    figure = variant.published.get(name)
    return f" (published: {write(figure)})" if figure is not None else ""


def curve_lead(result: Curve) -> Lead:
    """Return the ends of the cheapest and of the dearest curve."""
    asked = f"{result.title}: what does it cost as threads are added, on {_place(result)}?"
    ends = [(v.name, v.points[-1]) for v in result.variants]
    low = min(ends, key=lambda end: end[1].ns_per_op)
    high = max(ends, key=lambda end: end[1].ns_per_op)
    chosen = [low] if low is high else [low, high]
    texts = [
        f"{nanoseconds(point.ns_per_op)} with '{name}' and {_threads(point.threads)}"
        for name, point in chosen
    ]
    answer = f"{_label(result)}: {' to '.join(texts)}"
    errors = [v.worst_error for v in result.variants if v.worst_error is not None]
    if errors:
        answer += f"; at most {max(errors):.1%} off the published figures"
    if result.measured:
        return Lead(asked, answer, _lowest_highest([point for _, point in chosen]))
    keys = [(name, point.threads, "ns_per_op") for name, point in chosen]
    return Lead(asked, answer, _interval(result, keys))


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _lowest_highest(points: Sequence[Point]) -> str:
    ranges = [
        f"{significant(p.low)} to {significant(p.high)} ns"
        for p in points
        if p.low is not None and p.high is not None
    ]
    return f"{'; '.join(ranges)}: 10th to 90th percentile" if ranges else "none: no spread"


def pairs_lead(result: Pairs) -> Lead:
    """Return the nearest and the farthest class."""
    asked = f"{result.title}: what does a turn cost, near and far, on {_place(result)}?"
    rows = class_rows(result)
    first = [row for row in rows if row.operation == rows[0].operation]
    ends = [first[0]] if len(first) == 1 else [first[0], first[-1]]
    texts = [f"{nanoseconds(row.ns)} within '{row.latency_class}'" for row in ends]
    answer = f"{_label(result)}, '{rows[0].operation}': {' to '.join(texts)}"
    apart = [f"{significant(r.low)} to {significant(r.high)} ns" for r in ends if r.high > r.low]
    if result.uncertainty is not None:
        mine = [f.key for f in predicted(result) if f.name == "ns_per_op"]
        keys = [
            next(k for k in mine if k[0] == r.operation and str(k[1]).startswith(r.latency_class))
            for r in ends
        ]
        return Lead(asked, answer, _interval(result, keys))
    if result.measured:
        points = result.variants[0].points
        return Lead(asked, answer, _lowest_highest([points[0], points[-1]]))
    return Lead(
        asked, answer, f"{'; '.join(apart)} over the pairs of a class" if apart else ONE_RUN
    )


def machines_lead(results: Sequence[Bars]) -> Lead:
    """Return the lead of one experiment on several machines."""
    first = results[0]
    least = []
    for result in results:
        known = [
            (v.relative, v.name, result.machine.name) for v in result.variants
            if v.relative is not None and v.name != result.baseline
        ]  # fmt: skip
        if known:
            least.append(min(known, key=lambda entry: entry[0]))
    asked = f"{first.title}: is it the same on {len(results)} other machines?"
    if not least:
        return Lead(asked, "Unknown: the baseline was not run", ONE_RUN)
    ends = [min(least), max(least)]
    words_of = [f"{percent(share)} ('{name}' on {machine})" for share, name, machine in ends]
    return Lead(
        asked,
        f"Predicted: the cheapest layout costs {' to '.join(words_of)} of '{first.baseline}'",
        ONE_RUN,
    )
