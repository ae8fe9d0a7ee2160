# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tables of intervals for the terminal and the page, and the sentences below them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rich.console import Group as Together
from rich.console import RenderableType
from rich.text import Text

from common.show.format import percent, significant
from common.show.sheet import Sheet
from model.results.run import Result
from model.results.saved import Interval
from model.run.uncertain.intervals import (
    Predicted,
    headlines,
    predicted,
)
from model.tables.figures import FigureCell, Labelled, figure_text, head

_TABLE_WIDTH = 3  # figures per table; a published one counts as one and a half
_FIGURES = 4  # figures for which the notes name the most influential inputs
_TELLING = 3  # inputs named per figure


@dataclass(frozen=True)
class IntervalTable:
    """A table whose first column names the row."""

    columns: list[str]
    rows: list[list[FigureCell]]


@dataclass(frozen=True)
class _Column:
    """A column of one figure, for one variant or, if ``variant`` is None, for all."""

    head: str
    write: Callable[[float], str]
    figure: str
    variant: str | None = None

    def mine(self, figure: Predicted) -> bool:
        """Whether a figure belongs in the column."""
        return figure.name == self.figure and self.variant in (None, figure.variant)


def _percent(value: float) -> str:
    return percent(value) if value > 0 else f"{value:.0%}"


def metric_words(metric: Labelled) -> tuple[str, Callable[[float], str]]:
    """Return figure_words() of a metric that a result or an experiment declares."""
    return head(metric), lambda value: figure_text(metric, value)


def figure_words(result: Result, name: str) -> tuple[str, Callable[[float], str]]:
    """Return the head of a figure, and a function that writes its values."""
    metric = next((metric for metric in result.metrics or () if metric.name == name), None)
    if metric is not None:
        return metric_words(metric)
    if name == "relative":
        return "relative", _percent
    words = {"cycles_per_op": "cycles/op", "ns_per_op": "ns/op", "cycles_per_read": "cycles/walk"}
    return words.get(name, name), significant


def _columns(result: Result) -> list[_Column]:
    known = {f.name for f in predicted(result) if f.interval is not None}
    made = []
    for variant, name in result.columns:
        title, write = figure_words(result, name)
        if variant is not None:
            made.append(_Column(f"{variant} {title}", write, name, variant))
        elif name in known:
            made.append(_Column(title, write, name))
    return made


def words(found: Interval, write: Callable[[float], str]) -> str:
    """Return an interval as text: ``32.8% (19.7% to 40.4%)``."""
    return f"{write(found.median)} ({write(found.low)} to {write(found.high)})"


def interval_tables(result: Result) -> list[IntervalTable]:
    """Return the tables of a result's intervals, published figures first.

    Each table is narrow enough for a terminal.
    """
    everything = list(predicted(result))
    labels = list(dict.fromkeys(_label(figure) for figure in everything))
    columns = _columns(result)
    judged = {
        column.head for column in columns if any(f.judged for f in everything if column.mine(f))
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
    result: Result,
    columns: list[_Column],
    labels: list[str],
    everything: list[Predicted],
    judged: set[str],
) -> IntervalTable:
    heads = [result.ROWS]
    for column in columns:
        heads += [column.head, *(("published", "") if column.head in judged else ())]
    rows = []
    for label in labels:
        row = [FigureCell(label)]
        for column in columns:
            mine = [f for f in everything if _label(f) == label and column.mine(f)]
            row += _cells(column, mine[0] if mine else None, column.head in judged)
        rows.append(row)
    return IntervalTable(heads, rows)


def _cells(column: _Column, figure: Predicted | None, judged: bool) -> list[FigureCell]:
    found = figure.interval if figure is not None else None
    if figure is None or found is None:
        return [FigureCell("")] * (3 if judged else 1)
    alone = found.low == found.high
    cells = [FigureCell(column.write(found.median) if alone else words(found, column.write))]
    if judged:
        verdict = figure.verdict
        cells.append(FigureCell("" if figure.published is None else column.write(figure.published)))
        said = {True: "inside", False: "outside", None: ""}[verdict]
        cells.append(FigureCell(said, verdict))
    return cells


def interval_view(result: Result) -> RenderableType:
    """Return the tables of a result's intervals for the terminal."""
    about = result.samples
    parts: list[RenderableType] = [
        Text(f"Median (90% interval) of {about.samples} samples", style="bold")
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


def interval_notes(result: Result) -> list[tuple[str, str]]:
    """Return the notes below intervals: what they cover, their origin, and what they omit."""
    about = result.samples
    inputs, samples = len(about.inputs), about.samples
    if inputs:
        said = (
            f"contains 90% of further samples, from {samples} samples of {inputs} "
            f"input{'' if inputs == 1 else 's'} with a range; all are drawn together, and each "
            "sample has its own seed"
        )
    else:
        said = (
            f"contains 90% of further seeds, from {samples} seeds: neither the machine file nor "
            "the experiment has an input with a range"
        )
    notes = [("interval", f"{said}; {_model_part(result)}")]
    notes += [("chosen again", text) for text in _chosen(result)]
    notes += [("lines", text) for text in _lines(result)]
    sensitivity = about.sensitivity
    if sensitivity is not None and not sensitivity.enough:
        notes.append(
            (
                "depends on",
                f"too few samples: {samples}, sensitivities need {sensitivity.needed}",
            )
        )
    elif sensitivity is not None:
        notes += [("depends on", text) for text in _telling(result)]
    return notes


def _model_part(result: Result) -> str:
    """Return a sentence on whether the intervals include the error of the model itself."""
    each = [figure.interval for figure in predicted(result)]
    if any(found is not None and found.model is not None for found in each):
        return "the cost of an operation includes the model's own error, and ratios do not"
    return "errors of the model itself are excluded"


def _chosen(result: Result) -> list[str]:
    made = result.samples.calibrated
    if made is None:
        return []
    title, write = figure_words(result, made.figure)
    said = (
        f"{made.name}: {words(made.interval, significant)}, so that {title} of "
        f"'{made.variant}' is {write(made.target)} in every sample"
    )
    if made.missed:
        said += (
            f"; {made.missed} samples did not come within 2% of it, because {made.name} has limits"
        )
    return [said]


def _lines(result: Result) -> list[str]:
    return [
        f"'{line.variant}', {line.object} line {line.line}: "
        f"{words(line.interval, significant)} cycles per load, published "
        f"{line.low:,.0f} to {line.high:,.0f}: "
        f"{'they overlap' if line.overlaps else 'they do not overlap'}"
        for line in result.published_lines
        if line.interval is not None
    ]


def indices_of(result: Result, figure: Predicted) -> Mapping[str, float]:
    """Return the first-order indices of a figure; empty when it was not analysed."""
    made = result.samples.sensitivity
    first = made.first_order if made is not None else ()
    return next((entry.indices for entry in first if entry.key == figure.key), {})


def figure_label(result: Result, figure: Predicted) -> str:
    """Return a figure of a variant in words."""
    title, _ = figure_words(result, figure.name)
    return f"{figure.variant}{figure.row.where}, {title}"


def telling(result: Result, most: int) -> list[Predicted]:
    """Return at most ``most`` headline figures: those judged by published ones, or else all."""
    shown = headlines(result)
    judged = [f for f in shown if f.judged]
    return (judged or shown)[:most]


def _telling(result: Result) -> list[str]:
    made = result.samples.sensitivity
    noise = (made and made.noise) or 0.0
    said = []
    for figure in telling(result, _FIGURES):
        ordered = sorted(indices_of(result, figure).items(), key=lambda one: -one[1])
        most = [f"{name} {share:.0%}" for name, share in ordered[:_TELLING] if share > 2 * noise]
        if most:
            said.append(f"{figure_label(result, figure)}: {', '.join(most)} of the variance")
    return said
