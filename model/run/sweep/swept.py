# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A sweep's rows by experiment, with its figures, for tables and plots."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from common.errors import UserError
from model.run.experiment import Experiment, Metric, experiment_names, load_experiment
from model.run.sweep.sweep import Row

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


def _declared(name: str) -> Experiment | None:
    """Return the experiment of a name; None when this checkout no longer contains it."""
    return load_experiment(name) if name in experiment_names() else None


def swept(rows: Sequence[Row]) -> list[Swept]:
    """Return a sweep's experiments, sorted by name. One without any figure raises UserError."""
    frame = pd.DataFrame(list(rows))
    suffix = frame["placement"].map(lambda placement: "" if placement == "os" else f", {placement}")
    frame["place"] = frame["machine"] + suffix
    experiments = []
    for name in sorted({str(row["experiment"]) for row in rows}):
        part = frame[frame["experiment"] == name].copy()
        declared = _declared(name)
        metrics = declared.metrics if declared is not None and declared.metrics else DEFAULT_METRICS
        baseline = declared.baseline if declared is not None else None
        known = tuple(metric for metric in metrics if metric.reported in part.columns)
        if not known:
            raise UserError(f"the rows of {name} contain none of the experiment's figures")
        for metric in known:
            part[f"figure {metric.name}"] = _figure(part, metric, baseline)
        present = list(dict.fromkeys(part["variant"]))
        order = [v.name for v in declared.variants] if declared is not None else present
        variants = [v for v in order if v in present] + [v for v in present if v not in order]
        title = declared.title if declared is not None else name
        experiments.append(Swept(name, title, known, tuple(variants), part))
    return experiments


def _figure(part: pd.DataFrame, metric: Metric, baseline: str | None) -> pd.Series:
    """Return a metric's values. A relative one is divided by the baseline of its point and seed."""
    values = part[metric.reported].astype(float)
    if not metric.relative:
        return values
    base = part[part["variant"] == baseline].drop_duplicates(_SAME)
    joined = part[_SAME].merge(base[[*_SAME, metric.reported]], on=_SAME, how="left")
    return pd.Series(values.to_numpy() / joined[metric.reported].to_numpy(), index=part.index)
