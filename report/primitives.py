# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The page's boxes of single operations: by number of threads, and by latency class."""

from __future__ import annotations

from common.show.page import Cell, Section, code, grid, num
from common.show.plots import shown
from model.plots.primitives import pair_dots, scaling
from model.results.run import Curve, Pairs
from model.run.pairs import class_rows
from model.tables.primitives import class_cells, class_columns, scaling_columns, scaling_rows


def _held(section: Section, result: Curve | Pairs) -> None:
    if result.hold_ns:
        section.where += f", held for {result.hold_ns:g} ns"


def fill_scaling(section: Section, result: Curve) -> None:
    """Fill the box of many operations over the number of threads."""
    _held(section, result)
    section.figures.append(
        shown(scaling(result), f"{result.title}: time of each operation over threads")
    )
    rows = [[code(row[0]), *map(num, row[1:])] for row in scaling_rows(result)]
    section.tables.append(grid(scaling_columns(result), rows))
    titles = [[code(v.name), Cell(v.title)] for v in result.variants]
    section.folded.append(grid(["operation", ""], titles))
    section.folded_title = f"what the {len(titles)} operations are"


def fill_pairs(section: Section, result: Pairs) -> None:
    """Fill the box of two CPUs that take turns, by latency class."""
    _held(section, result)
    section.figures.append(
        shown(pair_dots(result), f"{result.title}: time of a turn by latency class")
    )
    rows = class_rows(result)
    columns = class_columns(rows)
    kinds = {True: "good", False: "bad", None: "num"}
    section.tables.append(
        grid(
            columns,
            [
                [
                    *(code(text) for text in cells[:3]),
                    *map(num, cells[3:-1]),
                    Cell(cells[-1], kinds[row.accepted]),
                ]
                for row, cells in ((row, class_cells(row, columns)) for row in rows)
            ],
        )
    )
