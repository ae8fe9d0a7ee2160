# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A sweep's rows, grouped by point over seeds or samples, for tables and plots."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd
from rich.console import Group as Together
from rich.console import RenderableType
from rich.text import Text

from common.errors import UserError
from common.show.sheet import Sheet
from model.run.experiment import Experiment, Metric, experiment_names, load_experiment
from model.run.sweep.sweep import Row
from model.run.uncertain.intervals import interval
from model.tables.figures import figure_text, head
from model.tables.intervals import words

ROWS_SHOWN = 60
FIGURES_SHOWN = 4
POINT = ["place", "cap", "cpus", "variant"]
_SAME = [
    "experiment", "machine", "placement", "cap", "cpus", "seed", "simulator_sha256",
    "machine_sha256", "sample",
]  # fmt: skip
DEFAULT_METRICS = (
    Metric("cycles_per_op", "cycles/op", "cycles", "cycles_per_op"),
    Metric("ns_per_op", "ns/op", "ns", "ns_per_op"),
)


@dataclass(frozen=True)
class Swept:
    """The rows of one experiment, with two more kinds of columns.

    "figure NAME" contains a figure of the experiment. "place" contains the machine, and the
    placement unless that is "os".
    """

    name: str
    title: str
    metrics: tuple[Metric, ...]
    variants: tuple[str, ...]
    frame: pd.DataFrame


def _declared(name: str) -> Experiment | None:
    """Return the experiment of a name; None when this checkout no longer contains it."""
    return load_experiment(name) if name in experiment_names() else None


def swept(rows: Sequence[Row]) -> list[Swept]:
    """Return a sweep's experiments, sorted by name. One without any figure raises UserError."""
    frame = pd.DataFrame(list(rows))
    told = frame["placement"].map(lambda placement: "" if placement == "os" else f", {placement}")
    frame["place"] = frame["machine"] + told
    found = []
    for name in sorted({str(row["experiment"]) for row in rows}):
        part = frame[frame["experiment"] == name].copy()
        declared = _declared(name)
        metrics = declared.metrics if declared is not None and declared.metrics else DEFAULT_METRICS
        baseline = declared.baseline if declared is not None else None
        known = tuple(metric for metric in metrics if metric.reported in part.columns)
        if not known:
            raise UserError(f"the rows of {name} have none of the figures of that experiment")
        for metric in known:
            part[f"figure {metric.name}"] = _figure(part, metric, baseline)
        present = list(dict.fromkeys(part["variant"]))
        order = [v.name for v in declared.variants] if declared is not None else present
        variants = [v for v in order if v in present] + [v for v in present if v not in order]
        title = declared.title if declared is not None else name
        found.append(Swept(name, title, known, tuple(variants), part))
    return found


def _figure(part: pd.DataFrame, metric: Metric, baseline: str | None) -> pd.Series:
    """Return a metric's values. A relative one is divided by the baseline of its point and seed."""
    values = part[metric.reported].astype(float)
    if not metric.relative:
        return values
    base = part[part["variant"] == baseline].drop_duplicates(_SAME)
    joined = part[_SAME].merge(base[[*_SAME, metric.reported]], on=_SAME, how="left")
    return pd.Series(values.to_numpy() / joined[metric.reported].to_numpy(), index=part.index)


def point_columns(one: Swept) -> list[str]:
    """Return the heads of the columns of point_cells()."""
    figures = [head(m) for m in one.metrics]
    return ["machine", "variant", "cap", "CPUs", "LLCs", "seeds", *figures]


def point_cells(one: Swept) -> list[list[str]]:
    """Return a row per point: the mean over its seeds, with the standard deviation of several.

    A point of samples shows their median and 90% interval.
    """
    order = {name: index for index, name in enumerate(one.variants)}
    groups = list(one.frame.groupby(POINT, sort=True))
    groups.sort(key=lambda entry: (*entry[0][:3], order[str(entry[0][3])]))
    return [
        [str(place), str(variant), str(cap), str(cpus)]
        + [
            str(group["llcs"].iloc[0]),
            f"{len(group)} samples" if is_sampled(group) else str(len(group)),
        ]
        + [
            (_interval if is_sampled(group) else _spread)(metric, group[f"figure {metric.name}"])
            for metric in one.metrics
        ]
        for (place, cap, cpus, variant), group in groups
    ]


def sweep_tables(rows: Sequence[Row]) -> RenderableType:
    """Return a table of points per experiment."""
    parts: list[RenderableType] = []
    for every in swept(rows):
        one = replace(every, metrics=every.metrics[:FIGURES_SHOWN])
        columns = point_columns(one)
        made = Sheet(one.title, *columns, right=columns[2:], rigid=["variant"], optional=("LLCs",))
        cells = point_cells(one)
        for row in cells[:ROWS_SHOWN]:
            made.add_row(*row)
        parts.append(made)
        if len(cells) > ROWS_SHOWN:
            parts.append(Text(f"... and {len(cells) - ROWS_SHOWN} more points: report shows all"))
        hidden = every.metrics[FIGURES_SHOWN:]
        if hidden:
            parts.append(Text(f"the file also has: {', '.join(metric.title for metric in hidden)}"))
    return Together(*parts)


def is_sampled(frame: pd.DataFrame) -> bool:
    """Whether all rows are samples of uncertain inputs, not runs with other seeds."""
    return bool((frame["sample"] != "").all())


def _interval(metric: Metric, values: pd.Series) -> str:
    if values.isna().any():
        return "-"
    return words(interval(values.tolist()), lambda value: figure_text(metric, value))


def _spread(metric: Metric, values: pd.Series) -> str:
    mean = float(values.mean())
    if mean != mean:
        return "-"
    text = figure_text(metric, mean)
    if len(values) > 1 and mean:
        text += f" ±{float(values.std(ddof=1)) / abs(mean):.1%}"
    return text
