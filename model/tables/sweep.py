# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes tables of a sweep's rows, grouped by point over seeds, with their experiment's figures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd
from rich.console import Group as Together
from rich.console import RenderableType
from rich.text import Text

from common.errors import UserError
from common.show.format import figure_text, head
from common.show.sheet import Sheet
from model.run.experiment import Metric, load_experiment
from model.run.sweep.sweep import Row

ROWS_SHOWN = 60
FIGURES_SHOWN = 4
POINT = ["place", "cap", "cpus", "variant"]
_SAME = [
    "experiment", "machine", "placement", "cap", "cpus", "seed", "simulator_sha256",
    "machine_sha256",
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


def swept(rows: Sequence[Row]) -> list[Swept]:
    """Return a sweep's experiments, by name. An experiment without any figure raises UserError."""
    frame = pd.DataFrame(list(rows))
    suffix = frame["placement"].map(lambda placement: "" if placement == "os" else f", {placement}")
    frame["place"] = frame["machine"] + suffix
    experiments = []
    for name in sorted(set(frame["experiment"])):
        part = frame[frame["experiment"] == name].copy()
        declared = load_experiment(name)
        metrics = declared.metrics or DEFAULT_METRICS
        known = tuple(metric for metric in metrics if metric.reported in part.columns)
        if not known:
            raise UserError(f"the rows of {name} contain none of the experiment's figures")
        for metric in known:
            part[f"figure {metric.name}"] = _figure(part, metric, declared.baseline)
        present = set(part["variant"])
        variants = tuple(v.name for v in declared.variants if v.name in present)
        experiments.append(Swept(name, declared.title, known, variants, part))
    return experiments


def _figure(part: pd.DataFrame, metric: Metric, baseline: str | None) -> pd.Series:
    """Return a metric's values. A relative one is divided by the baseline of its point and seed."""
    values = part[metric.reported].astype(float)
    if not metric.relative:
        return values
    base = part[part["variant"] == baseline].drop_duplicates(_SAME)
    joined = part[_SAME].merge(base[[*_SAME, metric.reported]], on=_SAME, how="left")
    return pd.Series(values.to_numpy() / joined[metric.reported].to_numpy(), index=part.index)


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
