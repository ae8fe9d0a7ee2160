# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The part that intervals add to a result's box on the page."""

from __future__ import annotations

from common.show.format import significant
from common.show.page import Cell, Grid, Section, code, grid, num
from common.show.plots import shown
from model.plots.intervals import following, influence, whiskers
from model.results.run import Result
from model.tables.intervals import interval_tables


def _tables(result: Result) -> list[Grid]:
    kinds = {True: "good", False: "bad", None: "num"}
    made = []
    for index, table in enumerate(interval_tables(result)):
        rows = [
            [code(row[0].text), *(Cell(cell.text, kinds[cell.verdict]) for cell in row[1:])]
            for row in table.rows
        ]
        samples = result.samples.samples
        caption = f"Median (90% interval) of {samples} samples" if index == 0 else ""
        made.append(grid(table.columns, rows, caption))
    return made


def _inputs(result: Result) -> list[Grid]:
    rows = [
        [
            code(one.name),
            *(num(significant(value, 4)) for value in (one.value, one.low, one.high)),
            Cell(one.why),
        ]
        for one in result.samples.inputs
    ]
    return [grid(["input", "value", "low", "high", "source"], rows)] if rows else []


def add_intervals(section: Section, result: Result) -> Section:
    """Add plots and tables of intervals to a section; return it unchanged if there are none."""
    if result.uncertainty is None:
        return section
    drawn = (
        (whiskers(result), "predicted intervals beside published figures"),
        (
            influence(result),
            "which inputs to measure for narrower intervals: share of the variance",
        ),
        (following(result), "each figure over the input that it depends on most"),
    )
    section.figures += [
        shown(figure, f"{result.title}: {title}") for figure, title in drawn if figure is not None
    ]
    section.tables += _tables(result)
    inputs = _inputs(result)
    section.folded += inputs
    if inputs:
        said = f"{len(result.samples.inputs)} inputs with a range"
        section.folded_title = f"{section.folded_title}, {said}".removeprefix(", ")
    return section
