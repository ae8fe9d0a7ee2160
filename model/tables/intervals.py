# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes tables of intervals for the terminal and the page, and the sentences below them."""

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from common.show.format import significant
from common.show.sheet import Cell, Sheet, judged
from model.results.run import Result
from model.run.uncertain.intervals import Predicted, predicted
from model.run.uncertain.words import (
    figure_label,
    figure_words,
    shares_of,
    telling,
    words,
)

_TABLE_WIDTH = 3  # figures per table; a published one counts as one and a half
_FIGURES = 4  # figures for which the notes name the most influential inputs
_TELLING = 3  # inputs named per figure


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


def interval_tables(result: Result) -> list[Sheet]:
    """Return the tables of a result's intervals, published figures first.

    Each table is narrow enough for a terminal.
    """
    everything = list(predicted(result))
    columns = _columns(result)
    tested = {
        column.head for column in columns if any(f.judged for f in everything if column.mine(f))
    }
    columns.sort(key=lambda column: column.head not in tested)
    groups: list[list[_Column]] = [[]]
    width = 0.0
    for column in columns:
        own = 1.5 if column.head in tested else 1.0
        if groups[-1] and width + own > _TABLE_WIDTH:
            groups.append([])
            width = 0.0
        groups[-1].append(column)
        width += own
    return [_table(result, group, everything, tested) for group in groups if group]


def _label(figure: Predicted) -> str:
    return figure.variant if figure.place is None else str(figure.place)


def _table(
    result: Result, columns: list[_Column], everything: list[Predicted], tested: set[str]
) -> Sheet:
    heads: list[str] = []
    for column in columns:
        heads += [column.head, *(("published", "") if column.head in tested else ())]
    made = Sheet(None, result.ROWS, *heads, right=heads, code=[result.ROWS])
    for label in dict.fromkeys(map(_label, everything)):
        row: list[Cell] = [label]
        for column in columns:
            mine = [f for f in everything if _label(f) == label and column.mine(f)]
            row += _cells(column, mine[0] if mine else None, column.head in tested)
        made.add_row(*row)
    return made


def _cells(column: _Column, figure: Predicted | None, tested: bool) -> list[Cell]:
    interval = figure.interval if figure is not None else None
    if figure is None or interval is None:
        return [""] * (3 if tested else 1)
    alone = interval.low == interval.high
    cells: list[Cell] = [column.write(interval.median) if alone else words(interval, column.write)]
    if tested:
        cells.append("" if figure.published is None else column.write(figure.published))
        verdict = {True: "inside", False: "outside", None: ""}[figure.verdict]
        cells.append(judged(verdict, figure.verdict))
    return cells


def interval_parts(result: Result) -> list[RenderableType]:
    """Return the tables of a result's intervals below their heading; nothing without samples."""
    if result.uncertainty is None:
        return []
    heading = f"Median (90% interval) of {result.uncertainty.samples} samples"
    return [Text(heading, style="bold"), *interval_tables(result)]


def input_table(result: Result) -> Sheet:
    """Return the table of the inputs with a range, which only a page shows."""
    numbers = ("value", "low", "high")
    made = Sheet(None, "input", *numbers, "source", right=numbers, code=["input"])
    for input_ in result.samples.inputs:
        ends = (input_.value, input_.low, input_.high)
        made.add_row(input_.name, *(significant(value, 4) for value in ends), input_.why)
    return made


def interval_notes(result: Result) -> list[tuple[str, str]]:
    """Return the notes below intervals: what they cover, their origin, and what they omit."""
    about = result.samples
    inputs, samples = len(about.inputs), about.samples
    if inputs:
        coverage = (
            f"contains 90% of further samples, from {samples} samples of {inputs} "
            f"input{'' if inputs == 1 else 's'} with a range; all are drawn together, and each "
            "sample has its own seed"
        )
    else:
        coverage = (
            f"contains 90% of further seeds, from {samples} seeds: neither the machine file nor "
            "the experiment has an input with a range"
        )
    notes = [("interval", f"{coverage}; {_model_part(result)}")]
    notes += [("chosen again", text) for text in _chosen(result)]
    notes += [("lines", text) for text in _lines(result)]
    notes += [("depends on", text) for text in _telling(result)]
    return notes


def _model_part(result: Result) -> str:
    """Return a sentence on whether the intervals include the error of the model itself."""
    intervals = [figure.interval for figure in predicted(result)]
    if any(interval is not None and interval.model is not None for interval in intervals):
        return "costs of operations include the model's own error, ratios do not"
    return "errors of the model itself are excluded"


def _chosen(result: Result) -> list[str]:
    made = result.samples.calibrated
    if made is None:
        return []
    title, write = figure_words(result, made.figure)
    sentence = (
        f"{made.name}: {words(made.interval, significant)}, so that {title} of "
        f"'{made.variant}' is {write(made.target)} in every sample"
    )
    if made.missed:
        sentence += (
            f"; {made.missed} samples did not come within 2% of it, because {made.name} has limits"
        )
    return [sentence]


def _lines(result: Result) -> list[str]:
    return [
        f"'{line.variant}', {line.object} line {line.line}: "
        f"{words(line.interval, significant)} cycles per load, published "
        f"{line.low:,.0f} to {line.high:,.0f}: "
        f"{'they overlap' if line.overlaps else 'they do not overlap'}"
        for line in result.published_lines
        if line.interval is not None
    ]


def _telling(result: Result) -> list[str]:
    sentences = []
    for figure in telling(result, _FIGURES):
        ordered = sorted(shares_of(result, figure).items(), key=lambda entry: -entry[1])
        most = [f"{name} {share:.0%}" for name, share in ordered[:_TELLING]]
        if most:
            sentences.append(f"{figure_label(result, figure)}: {', '.join(most)} of the variance")
    return sentences
