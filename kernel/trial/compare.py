# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compares two kernels of a trial by pairs of runs, and prints the page."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import mean, median, stdev

from trial.form import Figure, Trial
from trial.page import number, table, what

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


def _row(ratio: Ratio, predicted: float | None) -> list[str]:
    ends = said = ""
    if ratio.low is not None and ratio.high is not None:
        ends = f"{ratio.low:.3f} to {ratio.high:.3f}"
        inside = predicted is not None and ratio.low <= predicted <= ratio.high
        said = "inside" if inside else "OUTSIDE" if predicted else ""
    return [
        what(ratio.figure), ratio.figure.unit, number(ratio.first), number(ratio.second),
        f"{ratio.ratio:.3f}" if ratio.ratio else "-", ends,
        f"{predicted:.3f} {said}".strip() if predicted else "",
    ]  # fmt: skip


def page(trial: Trial, predicted: Mapping[Key, float] | None = None) -> list[str]:
    """Return the lines of the comparison; ``predicted`` are ratios by workload and part."""
    host, lines = trial.host, []
    if host.emulated or host.virtual:
        runner = "an emulator" if host.emulated else "a hypervisor"
        lines.append(f"NOT A MEASUREMENT: {runner} ran this machine.")
    lines += [f"Not used to judge the model: {mark}." for mark in trial.marks]
    lines += [f"Not finished: {trial.ended}."] if trial.ended else []
    count = len(host.cpus)
    lines.append(f"{host.processor}, {count} CPU{'s' * (count > 1)}")
    lines += [f"{kernel.name}: Linux {kernel.release}" for kernel in trial.kernels]
    rows = list(ratios(trial))
    if not rows:
        return [*lines, "Nothing to compare: one kernel has no figures."]
    names = [kernel.name for kernel in trial.kernels]
    heads = ["workload", "unit", *names, "ratio", "95% interval", "predicted" if predicted else ""]
    cells = [_row(r, (predicted or {}).get((r.figure.name, r.figure.part))) for r in rows]
    lines += table([heads, *cells])
    return [*lines, *["One pair of turns: no interval."] * (max(r.pairs for r in rows) == 1)]
