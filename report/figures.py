# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The page's box of an experiment with several figures: table, plot, lines, layouts."""

from __future__ import annotations

from common.show.page import Cell, Grid, LayoutGroup, Section, code, grid, num
from common.show.plots import shown
from model.layout_picture import pictures
from model.plots.figures import figure_bars
from model.results.run import Figures
from model.tables.figures import (
    figure_cells,
    figure_columns,
    line_columns,
    line_rows,
    split,
)


def _figures(result: Figures) -> Grid:
    rows = []
    for variant in result.variants:
        kinds = {True: "good", False: "bad", None: "num"}
        cells = [Cell(c.text, kinds[c.verdict]) for c in figure_cells(result, variant)]
        rows.append([code(variant.name), Cell(variant.title), *cells])
    return grid(["variant", "", *figure_columns(result)], rows)


def _lines(result: Figures, most: int, caption: str) -> Grid:
    rows = [
        [code(row[0]), code(row[1]), *(num(text) for text in row[2:-1]), code(row[-1])]
        for row in line_rows(result, most)
    ]
    return grid(line_columns(result), rows, caption)


def layout_groups(result: Figures) -> list[LayoutGroup]:
    """Return a group of pictures per variant; none when the result lacks the objects' types."""
    groups = []
    for variant in result.variants:
        drawn = pictures(variant.lines, result.layouts)
        if drawn:
            groups.append(LayoutGroup(f"layout of '{variant.name}': {variant.title}", drawn))
    return groups


def fill_figures(section: Section, result: Figures) -> None:
    """Fill the box of one result with several figures."""
    section.figures = [shown(figure_bars(result), f"{result.title}: predicted and published")]
    section.tables = [_figures(part) for part in split(result)]
    section.folded = [_lines(result, 12, "")]
    section.folded_title = "cycles per load, by cache line and field"
    section.layouts = layout_groups(result)
