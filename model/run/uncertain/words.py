# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Puts figures and their intervals into words, for tables and plots."""

from collections.abc import Callable, Mapping

from common.show.format import metric_words, percent, significant
from model.results.run import Result
from model.results.saved import Interval
from model.run.uncertain.intervals import Predicted, headlines


def _percent(value: float) -> str:
    return percent(value) if value > 0 else f"{value:.0%}"


def figure_words(result: Result, name: str) -> tuple[str, Callable[[float], str]]:
    """Return the head of a figure, and a function that writes its values."""
    metric = next((metric for metric in result.metrics or () if metric.name == name), None)
    if metric is not None:
        return metric_words(metric)
    if name == "relative":
        return "relative", _percent
    words = {"cycles_per_op": "cycles/op", "ns_per_op": "ns/op", "cycles_per_read": "cycles/walk"}
    return words.get(name, name), significant


def words(interval: Interval, write: Callable[[float], str]) -> str:
    """Return an interval as text: ``32.8% (19.7% to 40.4%)``."""
    return f"{write(interval.median)} ({write(interval.low)} to {write(interval.high)})"


def shares_of(result: Result, figure: Predicted) -> Mapping[str, float]:
    """Return the share of a figure's variance that each input explains alone, if above chance.

    A share is the squared correlation of the ranks. With N samples that of an input without
    influence is above 4/N once in 20 times.
    """
    import numpy as np  # late, as in intervals.py

    about = result.samples
    place = (figure.variant, figure.place, figure.name)
    series = [e.values for e in about.figures if (e.variant, e.place, e.figure) == place]
    values = [value for value in (series[0] if series else ()) if value is not None]
    if len(values) < about.samples or len(set(values)) < 2:
        return {}
    ranks = np.argsort(np.argsort(values))
    shares = {
        input_.name: float(np.corrcoef(ranks, np.argsort(np.argsort(input_.drawn)))[0, 1]) ** 2
        for input_ in about.inputs
        if len(set(input_.drawn)) > 1
    }
    return {name: share for name, share in shares.items() if share > 4 / about.samples}


def figure_label(result: Result, figure: Predicted) -> str:
    """Return a figure of a variant in words."""
    title, _ = figure_words(result, figure.name)
    return f"{figure.variant}{figure.row.where}, {title}"


def telling(result: Result, most: int) -> list[Predicted]:
    """Return at most ``most`` headline figures: those judged by published ones, or else all."""
    shown = headlines(result)
    judged = [f for f in shown if f.judged]
    return (judged or shown)[:most]
