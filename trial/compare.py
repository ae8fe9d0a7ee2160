# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compares the kernels of one trial, or of several, as text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median, variance

from common.errors import UserError
from trial.form import Figure, Trial
from trial.page import number, table, what

# 97.5% quantiles of Student's distribution, for 1, 2, ... degrees of freedom.
_T = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_T_MORE = 2.2
Named = Sequence[tuple[str, Trial]]
Predictions = Mapping[tuple[str, str], float]  # ratios by a figure's name and part


@dataclass(frozen=True)
class Ratio:
    """A figure of two kernels. ``ratio`` is the second by the first, with its 95% interval.

    The interval has no ends if a kernel had one run, and there is no ratio if a run gave 0.
    """

    first: Figure
    second: Figure
    ratio: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def differs(self) -> bool:
        """Whether the interval does not contain 1."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


def ratio_of(first: Figure, second: Figure, paired: bool) -> Ratio:
    """Compare a figure's runs on a logarithmic scale.

    Runs of one trial are ``paired``: what changes in the machine changes both of a pair.
    """
    runs = [first.runs, second.runs]
    if paired:
        count = min(map(len, runs))
        runs = [values[:count] for values in runs]
    if min(map(min, runs)) <= 0:
        return Ratio(first, second)
    a, b = ([math.log(run) for run in values] for values in runs)
    logs, least = mean(b) - mean(a), min(len(a), len(b))
    if least < 2:
        return Ratio(first, second, math.exp(logs))
    squares = variance(a) / len(a) + variance(b) / len(b)
    if paired:
        squares = variance([y - x for x, y in zip(a, b)]) / least
    half = (_T[least - 2] if least - 2 < len(_T) else _T_MORE) * math.sqrt(squares)
    return Ratio(first, second, *map(math.exp, (logs, logs - half, logs + half)))


def ratios(trial: Trial, kernel: str, later: Trial, other: str) -> Iterator[Ratio]:
    """Yield the comparison of each figure that both kernels have."""
    by_key = {figure.key: figure for figure in later.figures if figure.kernel == other}
    for figure in trial.figures:
        if figure.kernel == kernel and figure.key in by_key:
            yield ratio_of(figure, by_key[figure.key], trial is later)


def _row(ratio: Ratio, predicted: float | None) -> list[str]:
    ends = verdict = ""
    if ratio.low is not None and ratio.high is not None:
        ends = f"{ratio.low:.3f} to {ratio.high:.3f}"
        if predicted:
            verdict = " inside" if ratio.low <= predicted <= ratio.high else " OUTSIDE"
    return [
        what(ratio.first), ratio.first.unit, number(ratio.first.value), number(ratio.second.value),
        f"{ratio.ratio:.3f}" if ratio.ratio else "-", ends, "differs" if ratio.differs else "",
        f"{predicted:.3f}{verdict}" if predicted else "",
    ]  # fmt: skip


def _head(name: str, trial: Trial) -> Iterator[str]:
    """Yield what a reader must know of a trial; reasons to distrust it come first."""
    if trial.host.emulated or trial.host.virtual:
        runner = "an emulator" if trial.host.emulated else "a hypervisor"
        yield f"NOT A MEASUREMENT: {runner} ran this machine."
    yield from (f"Not used to judge the model: {mark}." for mark in trial.marks)
    if trial.ended:
        yield f"Not finished: {trial.ended}."
    cpus = len(trial.host.cpus)
    kernels = ", ".join(f"{kernel.name} is Linux {kernel.release}" for kernel in trial.kernels)
    yield f"{name}: {trial.host.processor}, {cpus} CPU{'s' * (cpus > 1)}; {kernels}"


def comparison(trials: Named, predicted: Predictions | None = None) -> str:
    """Return what changes from the first kernel of named trials to each other one."""
    alone = len(trials) == 1
    sides = [
        (kernel.name if alone else f"{name}: {kernel.name}", trial, kernel.name)
        for name, trial in trials for kernel in trial.kernels
    ]  # fmt: skip
    if len(sides) < 2:
        raise UserError("only one kernel was measured: give two trials, or a trial of two kernels")
    lines = [line for name, trial in trials for line in _head(name, trial)]
    base, first, kernel = sides[0]
    for name, trial, other in sides[1:]:
        compared = list(ratios(first, kernel, trial, other))
        middle = median([ratio.ratio for ratio in compared if ratio.ratio] or [1.0])
        heads = ["figure", "unit", base, name, "ratio", "95% interval", ""]
        heads.append("predicted" if predicted else "")
        keys = [(ratio.first.name, ratio.first.part) for ratio in compared]
        rows = [_row(ratio, (predicted or {}).get(key)) for ratio, key in zip(compared, keys)]
        judged = [ratio for ratio in compared if ratio.low is not None]
        lines += [
            f"{sum(ratio.differs for ratio in judged)} of {len(judged)} figures with two runs or "
            "more differ (the 95% interval of the ratio does not contain 1); median ratio "
            f"{middle:.2f}.",
            *table([heads, *rows]),
        ]  # fmt: skip
    return "\n".join([*lines, ""])
