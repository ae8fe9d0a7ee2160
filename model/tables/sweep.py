# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A sweep's rows, grouped by point over seeds, as tables."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
from rich.console import Group as Together
from rich.console import RenderableType
from rich.text import Text

from common.show.format import figure_text, head
from common.show.sheet import Sheet
from model.run.experiment import Metric
from model.run.sweep.sweep import Row
from model.run.sweep.swept import Swept, swept

ROWS_SHOWN = 60
FIGURES_SHOWN = 4
POINT = ["place", "cap", "cpus", "variant"]


def point_table(experiment: Swept, title: str | None) -> Sheet:
    """Return a row per point: the mean over its seeds, and the standard deviation if several."""
    numbers = ["cap", "CPUs", "LLCs", "seeds", *(head(metric) for metric in experiment.metrics)]
    made = Sheet(
        title, "machine", "variant", *numbers, right=numbers, rigid=["variant"],
        optional=("LLCs",), code=("machine", "variant"),
    )  # fmt: skip
    order = {name: index for index, name in enumerate(experiment.variants)}
    groups = list(experiment.frame.groupby(POINT, sort=True))
    groups.sort(key=lambda entry: (*entry[0][:3], order[str(entry[0][3])]))
    for (place, cap, cpus, variant), group in groups:
        made.add_row(
            str(place), str(variant), str(cap), str(cpus), str(group["llcs"].iloc[0]),
            str(len(group)),
            *(
                _spread(metric, group[f"figure {metric.name}"]) for metric in experiment.metrics
            ),
        )  # fmt: skip
    return made


def sweep_tables(rows: Sequence[Row]) -> RenderableType:
    """Return a table of points per experiment."""
    parts: list[RenderableType] = []
    for every in swept(rows):
        made = point_table(replace(every, metrics=every.metrics[:FIGURES_SHOWN]), every.title)
        hidden = len(made.rows) - ROWS_SHOWN
        del made.rows[ROWS_SHOWN:]
        parts.append(made)
        if hidden > 0:
            parts.append(Text(f"... and {hidden} more points: read the file with pandas"))
        titles = [metric.title for metric in every.metrics[FIGURES_SHOWN:]]
        if titles:
            parts.append(Text(f"the file also has: {', '.join(titles)}"))
    return Together(*parts)


def _spread(metric: Metric, values: pd.Series) -> str:
    mean = float(values.mean())
    if mean != mean:
        return "-"
    text = figure_text(metric, mean)
    if len(values) > 1 and mean:
        text += f" ±{float(values.std(ddof=1)) / abs(mean):.1%}"
    return text
