# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Writes the page of a trial as text. Readers may quote its first line alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trial.form import MIN_RUNS, MOST_SPREAD, Figure, Trial
from trial.predict.stored import TITLES

_SIGNS = 3


def number(value: float) -> str:
    """Return a number with three significant digits."""
    if value >= 100:
        digits = len(str(int(value)))
        return f"{round(value, _SIGNS - digits):,.0f}"
    return f"{value:.3g}"


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows in columns; the first column is flush left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = [
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths))
        ]
        yield "  ".join(cells).rstrip()


def what(figure: Figure) -> str:
    """Return what a figure is, in words."""
    words = [TITLES.get(figure.name, figure.name)]
    words += [figure.part] if figure.part else []
    words += [f"between CPUs of class {figure.between}"] if figure.between else []
    if figure.threads and not figure.between:
        words.append(f"on {figure.threads} CPU{'s' * (figure.threads > 1)}")
    return " ".join(words)


def factor(figure: Figure) -> float:
    """Return the larger of measured and predicted, divided by the smaller; 1 if one is missing."""
    of = figure.predicted
    if of is None or not of.value or not figure.value:
        return 1.0
    return max(of.value / figure.value, figure.value / of.value)


def inside(figure: Figure) -> bool:
    """Whether a figure lies inside the interval of its prediction."""
    of = figure.predicted
    return of is not None and of.low <= figure.value <= of.high


def headline(trial: Trial) -> str:
    """Return the first line."""
    judged = [figure for figure in trial.usable if figure.predicted]
    measured = f"{len(trial.figures)} figure{'s' * (len(trial.figures) != 1)} measured"
    early = f", and the trial ended early ({trial.ended})" if trial.ended else ""
    if trial.marks:
        why = ", ".join(trial.marks)
        return f"Nothing here judges the model ({why}): {measured}{early}."
    if not judged:
        return f"No figure has both a prediction and steady runs: {measured}{early}."
    worst = max(judged, key=lambda figure: (not inside(figure), factor(figure)))
    of = worst.predicted
    assert of is not None
    return (
        f"{sum(map(inside, judged))} of {len(judged)} figures lie inside their predicted 90% "
        f"intervals{early}; the worst is {what(worst)}: measured {number(worst.value)} "
        f"{worst.unit}, predicted {number(of.value)} ({number(of.low)} to {number(of.high)}, "
        f"machine file {of.machine})."
    )


def _row(figure: Figure) -> list[str]:
    of = figure.predicted
    few = len(figure.runs) < MIN_RUNS
    spread = "-" if few else f"{figure.spread:.0%}"
    row = [what(figure), figure.unit, number(figure.value), spread]
    if of is None:
        return [*row, "-", "-", "-", ("few runs" if few else "not steady") if figure.wide else ""]
    position = "inside" if inside(figure) else "OUTSIDE"
    ends = f"{number(of.low)} to {number(of.high)}"
    verdict = f"{position}, not judged" if figure.wide else position
    return [*row, number(of.value), ends, f"{factor(figure):.2f}", verdict]


def page(trial: Trial, notes: Sequence[str] = ()) -> str:
    """Return a trial's page: the sentence, all figures, worst first, and notes."""
    host = trial.host
    rows = sorted(trial.figures, key=lambda f: (f.predicted is None, inside(f), -factor(f), f.key))
    heads = ["figure", "unit", "measured", "spread", "predicted", "90% interval", "factor", ""]
    kernels = ", ".join(f"{kernel.name} {kernel.release}" for kernel in trial.kernels)
    virtual = ", a virtual machine" if host.virtual else ""
    lines = [
        headline(trial), "",
        f"{host.processor}, {len(host.cpus)} CPUs, {host.arch}{virtual}; kernel {kernels}", "",
    ]  # fmt: skip
    for kernel in trial.kernels:
        mine = [row for row in rows if row.kernel == kernel.name]
        if len(trial.kernels) > 1:
            lines.append(f"kernel {kernel.name} {kernel.release}")
        lines += [*table([heads, *map(_row, mine)]), ""]
    lines.append(
        "measured: median of the runs; spread: their range without the lowest and the highest. "
        "predicted: by simulation, before anybody measured this machine. A figure with a spread "
        f"above {MOST_SPREAD:.0%} or fewer than {MIN_RUNS} runs is not judged. A figure that other "
        "programs disturbed is left out."
    )
    return "\n".join([*lines, *notes, ""])
