# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tables of results with several figures: cells for the terminal and the page."""

from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace
from rich.console import Group as Together
from rich.console import RenderableType
from rich.text import Text

from common.show.format import signed_percent, significant
from common.show.sheet import Sheet
from model.results.rows import FigureVariant, Metric
from model.results.run import Figures
from model.run.experiment import PERCENT
from model.run.figures import hot_lines, misses

FIELDS_SHOWN = 3
OTHERS_WIDTH = 70  # characters; a terminal of 80 has room for the names of variants beside them
GAP = 2


class Labelled(Protocol):
    """A figure with a title and a unit: of a result or of an experiment."""

    @property
    def title(self) -> str:
        """The figure's title, a few words."""

    @property
    def unit(self) -> str:
        """The figure's unit. The value of a figure in percent is a fraction."""


def figure_text(metric: Labelled, value: float | None) -> str:
    """Return a figure as text. Only percent has its unit here; head() names other units."""
    if value is None:
        return "-"
    if metric.unit == PERCENT:
        return f"{value * 100:,.1f}%" if value < 10 else f"{value * 100:,.0f}%"
    if metric.unit == "bytes":
        return f"{value:,.0f}"
    return significant(value)


def error_text(metric: Labelled, error: float) -> str:
    """Return an error as text: percentage points, or percent of the published figure."""
    return f"{error * 100:+.1f}" if metric.unit == PERCENT else signed_percent(error)


def head(metric: Labelled) -> str:
    """Return the head of a figure's column: title and unit."""
    unit = metric.unit
    return metric.title if unit == PERCENT or unit in metric.title else (
        f"{metric.title}, {unit}"
    )  # fmt: skip


@dataclass(frozen=True)
class FigureCell:
    """One cell; ``verdict`` is whether an error is inside its band, None without one."""

    text: str
    verdict: bool | None = None


def split(result: Figures) -> list[Figures]:
    """Return a result per table: first the figures that were published, then the others.

    A table of others contains as many as fit on a terminal.
    """
    tables: list[list[Metric]] = [[]]
    known = [metric for metric in result.metrics if _is_published(result, metric)]
    for metric in result.metrics:
        if metric in known:
            continue
        if sum(len(head(other)) + GAP for other in (*tables[-1], metric)) > OTHERS_WIDTH:
            tables.append([])
        tables[-1].append(metric)
    return [replace(result, metrics=metrics) for metrics in (known, *tables) if metrics]


def figure_columns(result: Figures) -> list[str]:
    """Return the heads of the columns after variant and title."""
    columns: list[str] = []
    for metric in result.metrics:
        columns.append(head(metric))
        if _is_published(result, metric):
            columns += ["published", "error"]
    return columns


def _is_published(result: Figures, metric: Metric) -> bool:
    return any(metric.name in variant.published for variant in result.variants)


def figure_cells(result: Figures, variant: FigureVariant) -> list[FigureCell]:
    """Return a variant's cells, one per column of figure_columns()."""
    outside = {metric.name for metric in misses(result, variant)}
    cells = []
    for metric in result.metrics:
        name = metric.name
        cells.append(FigureCell(figure_text(metric, variant.values[name])))
        if not _is_published(result, metric):
            continue
        figure, error = variant.published.get(name), variant.error.get(name)
        cells.append(FigureCell("" if figure is None else figure_text(metric, figure)))
        if error is None or (metric.relative_to_baseline and _is_base(result, variant)):
            cells.append(FigureCell(""))
        elif name in (variant.calibrated or ()) and name not in outside:
            cells.append(FigureCell("calibrated"))
        else:
            judged = name in (variant.accept or {})
            verdict = name not in outside if judged else None
            cells.append(FigureCell(error_text(metric, error), verdict))
    return cells


def _is_base(result: Figures, variant: FigureVariant) -> bool:
    return variant.name == result.baseline


_LINE_COLUMNS = ("variant", "line", "loads", "cycles/load", "most", "published", "fields")


def line_columns(result: Figures) -> tuple[str, ...]:
    """Return the heads of the table of lines, "published" only if lines were published."""
    has = bool(result.published_lines)
    return tuple(name for name in _LINE_COLUMNS if has or name != "published")


def line_rows(result: Figures, most: int = 3) -> list[list[str]]:
    """Return per variant the ``most`` lines on which loads wait longest, with their fields."""
    kept = line_columns(result)
    ranges = {(line.variant, line.object, line.line): line for line in result.published_lines}
    rows = []
    for variant in result.variants:
        for index, line in enumerate(hot_lines(result, variant, most)):
            known = ranges.get((variant.name, line.object, line.line))
            cells = [
                variant.name if index == 0 else "",
                f"{line.object} line {line.line}",
                f"{line.loads:,}",
                significant(line.avg_load_cycles),
                significant(line.max_load_cycles),
                f"{known.low:,.0f}-{known.high:,.0f}" if known else "",
                ", ".join(
                    f"{field.field} {significant(field.avg_load_cycles)}"
                    for field in line.fields[:FIELDS_SHOWN]
                ),
            ]
            named = zip(_LINE_COLUMNS, cells, strict=True)
            rows.append([cell for name, cell in named if name in kept])
    return rows


def _sheet(result: Figures, titled: bool) -> Sheet:
    columns = figure_columns(result)
    titles = ["what it is"] if titled else []
    made = Sheet(None, "variant", *titles, *columns, right=columns, optional=titles)
    for variant in result.variants:
        cells: list[str | Text] = [variant.name, *([variant.title] if titled else [])]
        for cell in figure_cells(result, variant):
            style = {True: "green", False: "bold red", None: ""}[cell.verdict]
            cells.append(Text(cell.text, style=style))
        made.add_row(*cells)
    return made


def figure_tables(result: Figures) -> RenderableType:
    """Return the tables of published figures, of others, and of the lines that cost most."""
    sheets = split(result)
    made = [_sheet(part, part is sheets[0]) for part in sheets]
    heads = line_columns(result)
    lines = Sheet(
        "Cycles per load, by cache line and field (lines on which loads wait longest)",
        *heads,
        right=heads[2:-1],
        rigid=("line",),
        optional=("loads", "most", "fields"),
    )
    for row in line_rows(result):
        lines.add_row(*row)
    return Together(*made, lines)


def figure_misses(result: Figures) -> list[str]:
    """Return one sentence per figure outside its band."""
    said = []
    for variant in result.variants:
        for metric in misses(result, variant):
            name = metric.name
            why = variant.lacks or "docs/model.md says what the model lacks."
            said.append(
                f"'{variant.name}': {metric.title} is predicted at "
                f"{figure_text(metric, variant.values[name])}, published "
                f"{figure_text(metric, variant.published[name])}, more than "
                f"{_band(metric, (variant.accept or {})[name])} apart. {why}"
            )
    return said


def _band(metric: Labelled, limit: float) -> str:
    if metric.unit == PERCENT:
        return f"{significant(limit * 100, 2)} points"
    return f"{significant(limit)} {metric.unit}"
