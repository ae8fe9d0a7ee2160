# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compares two kernels of a trial by pairs of runs, and prints the page."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import mean, median, stdev

from trial.form import Figure, Trial

# 97.5% quantiles of Student's distribution, for 1, 2, ... degrees of freedom.
_T = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_T_MORE = 2.2
Key = tuple[str, str]  # workload and part


@dataclass(frozen=True)
class Ratio:
    """A figure of both kernels. ``ratio`` is the second one's, with its 95% interval.

    The interval has no ends if there was one pair, or a run gave 0.
    """

    figure: Figure
    first: float
    second: float
    pairs: int
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


def _ratio(first: Figure, second: Figure) -> Ratio:
    pairs = list(zip(first.runs, second.runs, strict=False))
    ends: list[float] = []
    if all(a > 0 and b > 0 for a, b in pairs):
        logs = [math.log(b / a) for a, b in pairs]
        ends = [mean(logs)]
        if len(logs) > 1:
            t = _T[len(logs) - 2] if len(logs) - 2 < len(_T) else _T_MORE
            half = t * stdev(logs) / math.sqrt(len(logs))
            ends += [ends[0] - half, ends[0] + half]
    values = median(first.runs), median(second.runs)
    return Ratio(first, *values, len(pairs), *map(math.exp, ends))


def ratios(trial: Trial) -> Iterator[Ratio]:
    """Yield the comparison of each figure that both of the trial's two kernels have."""
    if len(trial.kernels) != 2:
        return
    one, other = (kernel.name for kernel in trial.kernels)
    of_other = {each.key: each for each in trial.figures if each.kernel == other}
    for figure in trial.figures:
        if figure.kernel == one and figure.key in of_other:
            yield _ratio(figure, of_other[figure.key])


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}%" if value < 10 else f"{value:.1f}x"


def _predicted(ratio: Ratio, value: float | None) -> str:
    if value is None:
        return ""
    if ratio.low is None or ratio.high is None:
        return _percent(value)
    inside = ratio.low <= value <= ratio.high
    return f"{_percent(value)} {'inside' if inside else 'OUTSIDE'}"


def page(trial: Trial, predicted: Mapping[Key, float] | None = None) -> list[str]:
    """Return the lines of the comparison; ``predicted`` are ratios by workload and part."""
    lines = []
    if trial.host.emulated or trial.host.virtual:
        what = "an emulator" if trial.host.emulated else "a hypervisor"
        lines.append(f"NOT A MEASUREMENT: {what} ran this machine.")
    for mark in trial.marks:
        lines.append(f"Not used to judge the model: {mark}.")
    if trial.ended:
        lines.append(f"Not finished: {trial.ended}.")
    lines.append(f"{trial.host.processor}, {len(trial.host.cpus)} CPUs")
    for kernel in trial.kernels:
        lines.append(f"{kernel.name}: Linux {kernel.release}")
    rows = list(ratios(trial))
    if not rows:
        return [*lines, "Nothing to compare: one kernel has no figures."]
    one, other = (kernel.name for kernel in trial.kernels)
    head = f"{'workload':38}{'unit':>18}{one:>12}{other:>12}{'ratio':>9}{'95% interval':>20}"
    lines.append(head + ("  predicted" if predicted else ""))
    for row in rows:
        figure = row.figure
        name = f"{figure.name} {figure.part}".strip()
        unit = "per second" if figure.unit == "events per second" else figure.unit
        wide = "" if row.low is None else f"{_percent(row.low)} to {_percent(row.high)}"
        line = f"{name:38}{unit:>18}{row.first:12.5g}{row.second:12.5g}{_percent(row.ratio):>9}"
        line += f"{wide:>20}"
        if predicted:
            line += f"  {_predicted(row, predicted.get((figure.name, figure.part)))}"
        lines.append(line.rstrip())
    if max(row.pairs for row in rows) == 1:
        lines.append("One pair of runs: no interval.")
    return lines
