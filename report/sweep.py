# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The page's boxes of a sweep: one per experiment, with its scaling plots and its points."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from common.show.format import metric_words
from common.show.page import Lead, Section
from model.plots.sweep import CAP, CPUS, LLCS, scaling, usual_cap
from model.run.experiment import Metric
from model.run.sweep.sweep import Row, current
from model.run.sweep.swept import Swept, is_sampled, swept
from model.tables.sweep import point_table

FIRST = 2


def sweep_lead(one: Swept, name: str) -> Lead:
    """Return the lead of a swept experiment: its first figure, with the most CPUs."""
    metric = one.metrics[0]
    column = f"figure {metric.name}"
    frame = one.frame.dropna(subset=[column])
    machines = ", ".join(sorted(set(one.frame["machine"])))
    asked = f"{one.title}: how does it scale on {machines} ({name})?"
    if frame.empty:
        return Lead(asked, "Unknown: the baseline was not run", "none: no figure")
    most = frame[frame["cpus"] == frame["cpus"].max()]
    groups = most.groupby("variant")[column]
    sampled = is_sampled(frame)
    middle = groups.median() if sampled else groups.mean()
    title, write = metric_words(metric)
    ends = list(dict.fromkeys((str(middle.idxmin()), str(middle.idxmax()))))
    answer = (
        f"Predicted with {int(most['cpus'].iloc[0])} CPUs, {title}: "
        f"{' to '.join(f'{write(float(middle[v]))} with {v!r}' for v in ends)}"
    )
    low, high = (groups.quantile(0.05), groups.quantile(0.95)) if sampled else (
        groups.min(), groups.max(),
    )  # fmt: skip
    count = int(frame["seed"].nunique())
    if count < 2:
        return Lead(asked, answer, "none: one seed; 'sweep --seeds N' or '--uncertainty N' has one")
    said = [f"'{v}' {write(float(low[v]))} to {write(float(high[v]))}" for v in ends]
    over = f"90% of {count} samples" if sampled else f"lowest to highest of {count} seeds"
    return Lead(asked, answer, f"{'; '.join(said)}: {over}")


def _plotted(one: Swept) -> list[Metric]:
    """Return the metrics to plot: the first, which are the experiment's subject, and cycles."""
    return [m for i, m in enumerate(one.metrics) if i < FIRST or m.unit == "cycles"]


_WHICH = {
    "os": "those with the lowest numbers",
    "compact": "neighbours, core after core and cache after cache",
    "scatter": "as far apart as they can be",
}


def _which(frame: pd.DataFrame) -> str:
    placements = sorted(set(frame["placement"]))
    if len(placements) == 1:
        return _WHICH[placements[0]]
    return "; ".join(f"{_WHICH[placement]} ({placement})" for placement in placements)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def sweep_sections(rows: Sequence[Row], name: str) -> list[Section]:
    """Return one box per experiment of a sweep's file, which is named ``name``."""
    chosen = current(rows)
    old = len(rows) - len(chosen)
    sections = []
    for one in swept(chosen):
        frame = one.frame
        seeds = int(frame["seed"].nunique())
        table = point_table(one, None)
        meant = "medians of samples" if is_sampled(frame) else "means over seeds"
        sampled = is_sampled(frame)
        bar = (
            "is the median of its samples of uncertain inputs, and its bar their 90% interval"
            if sampled
            else "is the mean of its seeds, and its bar reaches from the smallest to the largest"
        )
        notes = [
            f"predicted: every run is a simulation; a point {bar}",
            f"plots over CPUs and over last-level caches have at most {usual_cap(frame)} CPUs per "
            "shard; plots over last-level caches and over shard sizes have the most CPUs of each "
            f"machine. If not all CPUs take part, they are {_which(frame)}; a layout is always "
            "that of the whole machine",
            "provenance: simulator sha256 "
            f"{', '.join(sorted({v[:12] for v in frame['simulator_sha256']}))}, commit "
            f"{', '.join(sorted({v[:18] for v in frame['commit']}))}",
        ]
        if old:
            notes.append(f"{old} rows of older simulators, machine files or samples are left out")
        sections.append(
            Section(
                anchor=f"sweep-{one.name}",
                heading=f"{one.title}: sweep",
                where=f"{name}: {len(frame)} points on {frame['machine'].nunique()} machines, "
                f"{_many(seeds, 'sample' if sampled else 'seed')} (predicted)",
                lead=sweep_lead(one, name),
                images=[
                    picture
                    for axis in (CPUS, LLCS, CAP)
                    for metric in _plotted(one)
                    for picture in scaling(one, metric, axis)
                ],
                folded=[table],
                folded_title=f"all {len(table.rows)} points, {meant}",
                notes=notes,
            )
        )
    return sections
