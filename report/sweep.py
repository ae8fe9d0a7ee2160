# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The page's boxes of a sweep: one per experiment, with the table of its points."""

from __future__ import annotations

from collections.abc import Sequence

from common.show.format import metric_words
from common.show.page import Lead, Section
from model.run.sweep.sweep import Row, current
from model.run.sweep.swept import Swept, swept
from model.tables.sweep import point_table


def sweep_lead(experiment: Swept, name: str) -> Lead:
    """Return the lead of a swept experiment: its first figure, with the most CPUs."""
    metric = experiment.metrics[0]
    column = f"figure {metric.name}"
    frame = experiment.frame.dropna(subset=[column])
    machines = ", ".join(sorted(set(experiment.frame["machine"])))
    asked = f"{experiment.title}: how does it scale on {machines} ({name})?"
    if frame.empty:
        return Lead(asked, "Unknown: the baseline was not run", "none: no figure")
    most = frame[frame["cpus"] == frame["cpus"].max()]
    groups = most.groupby("variant")[column]
    middle = groups.mean()
    title, write = metric_words(metric)
    ends = list(dict.fromkeys((str(middle.idxmin()), str(middle.idxmax()))))
    answer = (
        f"Predicted with {int(most['cpus'].iloc[0])} CPUs, {title}: "
        f"{' to '.join(f'{write(float(middle[v]))} with {v!r}' for v in ends)}"
    )
    low, high = groups.min(), groups.max()
    count = int(frame["seed"].nunique())
    if count < 2:
        return Lead(asked, answer, "none: one seed; 'sweep --seeds N' has one")
    costs = [f"'{v}' {write(float(low[v]))} to {write(float(high[v]))}" for v in ends]
    return Lead(asked, answer, f"{'; '.join(costs)}: lowest to highest of {count} seeds")


def sweep_sections(rows: Sequence[Row], name: str) -> list[Section]:
    """Return one box per experiment of a sweep's file, which is named ``name``."""
    chosen = current(rows)
    old = len(rows) - len(chosen)
    sections = []
    for experiment in swept(chosen):
        frame = experiment.frame
        seeds = int(frame["seed"].nunique())
        notes = [
            "predicted: every run is a simulation; figures are means over seeds",
            "provenance: simulator sha256 "
            f"{', '.join(sorted({v[:12] for v in frame['simulator_sha256']}))}, commit "
            f"{', '.join(sorted({v[:18] for v in frame['commit']}))}",
        ]
        if old:
            notes.append(f"{old} rows of older simulators or machine files are left out")
        sections.append(
            Section(
                anchor=f"sweep-{experiment.name}",
                heading=f"{experiment.title}: sweep",
                where=f"{name}: {len(frame)} rows on {frame['machine'].nunique()} machines, "
                f"{seeds} seeds of each point (predicted)",
                lead=sweep_lead(experiment, name),
                parts=[point_table(experiment, None)],
                notes=notes,
            )
        )
    return sections
