# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Intervals as tables: cells for the terminal and for the page, and the sentences under them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Group as Together
from rich.console import RenderableType
from rich.text import Text

from schedshard.common.result import has_points, is_curve
from schedshard.experiments.figures import is_figures
from schedshard.experiments.uncertain.intervals import (
    Predicted,
    found_interval,
    found_verdict,
    headlines,
    predicted,
)
from schedshard.show.format import percent, significant
from schedshard.show.sheet import Sheet
from schedshard.tables.figures import FigureCell, figure_text, head

_TABLE_WIDTH = 3  # figures; a published one counts as one and a half
_FIGURES = 4  # of which the inputs are named
_TELLING = 3  # inputs that are named for a figure


@dataclass(frozen=True)
class IntervalTable:
    """A table whose first column names the row."""

    columns: list[str]
    rows: list[list[FigureCell]]


@dataclass(frozen=True)
class _Column:
    """A figure, of one variant only or of all of them."""

    head: str
    write: Callable[[float], str]
    figure: str
    variant: str | None = None

    def mine(self, figure: Predicted) -> bool:
        """Whether a figure belongs into it."""
        return figure.name == self.figure and self.variant in (None, figure.variant)


def _percent(value: float) -> str:
    return percent(value) if value > 0 else f"{value:.0%}"


def figure_words(result: Mapping[str, Any], name: str) -> tuple[str, Callable[[float], str]]:
    """The head of a figure and how its values are written."""
    metric = next((metric for metric in result.get("metrics", ()) if metric["name"] == name), None)
    if metric is not None:
        return head(metric), lambda value: figure_text(metric, value)
    if name == "relative":
        return "relative", _percent
    words = {"cycles_per_op": "cycles/op", "ns_per_op": "ns/op", "cycles_per_read": "cycles/walk"}
    return words.get(name, name), significant


def _columns(result: Mapping[str, Any]) -> list[_Column]:
    if has_points(result):
        return [
            _Column(f"{variant['name']} ns/op", significant, "ns_per_op", variant["name"])
            for variant in result["variants"]
        ]
    names = dict.fromkeys(f.name for f in predicted(result) if _known(result, f) is not None)
    if not is_figures(result):
        shown = ("cycles_per_op", "relative", "cycles_per_read")
        names = {name: None for name in shown if name in names}
    return [_Column(*figure_words(result, name), name) for name in names]


def _known(result: Mapping[str, Any], figure: Predicted) -> Mapping[str, Any] | None:
    return found_interval(figure, is_figures(result))


def words(found: Mapping[str, Any], write: Callable[[float], str]) -> str:
    """An interval: ``32.8% (19.7% to 40.4%)``."""
    return f"{write(found['median'])} ({write(found['low'])} to {write(found['high'])})"


def interval_tables(result: Mapping[str, Any]) -> list[IntervalTable]:
    """The intervals of a result: published figures first, as many tables as fit a terminal."""
    everything = list(predicted(result))
    labels = list(dict.fromkeys(_label(figure) for figure in everything))
    columns = _columns(result)
    judged = {
        column.head
        for column in columns
        if any(f.published is not None and not f.given for f in everything if column.mine(f))
    }
    columns.sort(key=lambda column: column.head not in judged)
    groups: list[list[_Column]] = [[]]
    width = 0.0
    for column in columns:
        own = 1.5 if column.head in judged else 1.0
        if groups[-1] and width + own > _TABLE_WIDTH:
            groups.append([])
            width = 0.0
        groups[-1].append(column)
        width += own
    return [_table(result, group, labels, everything, judged) for group in groups if group]


def _label(figure: Predicted) -> str:
    return figure.variant if figure.place is None else str(figure.place)


def _table(
    result: Mapping[str, Any],
    columns: list[_Column],
    labels: list[str],
    everything: list[Predicted],
    judged: set[str],
) -> IntervalTable:
    heads = ["variant"]
    if has_points(result):
        heads = ["threads" if is_curve(dict(result)) else "class, CPUs"]
    for column in columns:
        heads += [column.head, *(("published", "") if column.head in judged else ())]
    rows = []
    for label in labels:
        row = [FigureCell(label)]
        for column in columns:
            mine = [f for f in everything if _label(f) == label and column.mine(f)]
            row += _cells(result, column, mine[0] if mine else None, column.head in judged)
        rows.append(row)
    return IntervalTable(heads, rows)


def _cells(
    result: Mapping[str, Any], column: _Column, figure: Predicted | None, judged: bool
) -> list[FigureCell]:
    found = _known(result, figure) if figure is not None else None
    if figure is None or found is None:
        return [FigureCell("")] * (3 if judged else 1)
    alone = found["low"] == found["high"]
    cells = [FigureCell(column.write(found["median"]) if alone else words(found, column.write))]
    if judged:
        verdict = found_verdict(figure, is_figures(result))
        cells.append(FigureCell("" if figure.published is None else column.write(figure.published)))
        said = {True: "inside", False: "outside", None: ""}[verdict]
        cells.append(FigureCell(said, verdict))
    return cells


def interval_view(result: Mapping[str, Any]) -> RenderableType:
    """The intervals for a terminal."""
    about = result["uncertainty"]
    parts: list[RenderableType] = [
        Text(f"Median (90% interval) of {about['samples']} samples", style="bold")
    ]
    for table in interval_tables(result):
        made = Sheet(None, *table.columns, right=table.columns[1:])
        for row in table.rows:
            made.add_row(
                *(
                    Text(
                        cell.text, style={True: "green", False: "bold red", None: ""}[cell.verdict]
                    )
                    for cell in row
                )
            )
        parts.append(made)
    return Together(*parts)


def interval_notes(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The sentences under intervals: what they cover, where they come from, what they omit."""
    about = result["uncertainty"]
    inputs, samples = len(about["inputs"]), about["samples"]
    if inputs:
        said = (
            f"holds 90% of further samples, from {samples} samples of {inputs} "
            f"input{'' if inputs == 1 else 's'} with a range, all drawn together, each sample "
            "with a seed of its own"
        )
    else:
        said = (
            f"holds 90% of further seeds, from {samples} seeds: neither the machine file nor the "
            "experiment has an input with a range"
        )
    notes = [("interval", f"{said}; {_model_part(result)}")]
    notes += [("chosen again", text) for text in _chosen(result)]
    notes += [("lines", text) for text in _lines(result)]
    sensitivity = about["sensitivity"]
    if sensitivity is not None and not sensitivity["enough"]:
        notes.append(
            (
                "depends on",
                f"too few samples: {samples}, sensitivities need {sensitivity['needed']}",
            )
        )
    elif sensitivity is not None:
        notes += [("depends on", text) for text in _telling(result)]
    return notes


def _model_part(result: Mapping[str, Any]) -> str:
    """Whether the intervals have the model's own error."""
    rows = [row for v in result["variants"] for row in (v, *v.get("points", ()))]
    each = [found for row in rows for found in row.get("intervals", {}).values()]
    if any("model" in found for found in each):
        return "the cost of an operation has the error of the model itself in it, ratios have not"
    return "errors of the model itself are not in it"


def _chosen(result: Mapping[str, Any]) -> list[str]:
    made = result["uncertainty"]["calibrated"]
    if made is None:
        return []
    title, write = figure_words(result, made["figure"])
    said = (
        f"{made['name']}: {words(made['interval'], significant)}, such that {title} of "
        f"'{made['variant']}' is {write(made['target'])} in every sample"
    )
    if made["missed"]:
        said += f"; {made['missed']} samples did not come within 2% of that between its limits"
    return [said]


def _lines(result: Mapping[str, Any]) -> list[str]:
    return [
        f"'{line['variant']}', {line['object']} line {line['line']}: "
        f"{words(line['interval'], significant)} cycles a load, published "
        f"{line['low']:,.0f} to {line['high']:,.0f}: "
        f"{'they overlap' if line['overlaps'] else 'they do not overlap'}"
        for line in result.get("published", {}).get("lines", ())
        if "interval" in line
    ]


def indices_of(result: Mapping[str, Any], figure: Predicted) -> Mapping[str, float]:
    """The first-order indices of a figure; none when it was not analysed."""
    for entry in (result["uncertainty"]["sensitivity"] or {}).get("first_order", ()):
        if (entry["variant"], entry["place"], entry["figure"]) == figure.key:
            indices: Mapping[str, float] = entry["indices"]
            return indices
    return {}


def figure_label(result: Mapping[str, Any], figure: Predicted) -> str:
    """A figure of a variant in words."""
    title, _ = figure_words(result, figure.name)
    where = f" at {figure.place} threads" if isinstance(figure.place, int) else ""
    if isinstance(figure.place, str):
        where = f", {figure.place}"
    return f"{figure.variant}{where}, {title}"


def telling(result: Mapping[str, Any], most: int) -> list[Predicted]:
    """The headline figures that can be compared with published ones, or the first of all."""
    shown = headlines(result)
    judged = [f for f in shown if f.published is not None and not f.given]
    return (judged or shown)[:most]


def _telling(result: Mapping[str, Any]) -> list[str]:
    noise = result["uncertainty"]["sensitivity"]["noise"]
    said = []
    for figure in telling(result, _FIGURES):
        ordered = sorted(indices_of(result, figure).items(), key=lambda one: -one[1])
        most = [f"{name} {share:.0%}" for name, share in ordered[:_TELLING] if share > 2 * noise]
        if most:
            said.append(f"{figure_label(result, figure)}: {', '.join(most)} of the variance")
    return said
