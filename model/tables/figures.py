# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tables of results with several figures."""

from msgspec.structs import replace

from common.show.format import (
    PERCENT,
    Labelled,
    figure_text,
    head,
    signed_percent,
    significant,
)
from common.show.sheet import Cell, Sheet, judged
from model.results.rows import FigureVariant, Metric
from model.results.run import Figures
from model.run.figures import hot_lines, misses

FIELDS_SHOWN = 3
LINES_SHOWN = 3
OTHERS_WIDTH = 70  # characters; a terminal of 80 has room for the names of variants beside them
GAP = 2


def _split(result: Figures) -> list[Figures]:
    """Return a result per table: first the figures that were published, then the others.

    A table of other figures contains as many as fit on a terminal.
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


def _is_published(result: Figures, metric: Metric) -> bool:
    return any(metric.name in variant.published for variant in result.variants)


def _cells(result: Figures, variant: FigureVariant) -> list[Cell]:
    """Return a variant's cells: each figure, and if published, the published one and the error."""
    outside = {metric.name for metric in misses(result, variant)}
    cells: list[Cell] = []
    for metric in result.metrics:
        name = metric.name
        cells.append(figure_text(metric, variant.values[name]))
        if not _is_published(result, metric):
            continue
        figure, error = variant.published.get(name), variant.error.get(name)
        cells.append("" if figure is None else figure_text(metric, figure))
        is_base = variant.name == result.baseline
        if error is None or (metric.relative_to_baseline and is_base):
            cells.append("")
        elif name in (variant.calibrated or ()) and name not in outside:
            cells.append("calibrated")
        else:
            text = f"{error * 100:+.1f}" if metric.unit == PERCENT else signed_percent(error)
            good = name not in outside if name in (variant.accept or {}) else None
            cells.append(judged(text, good))
    return cells


def _sheet(result: Figures, titled: bool) -> Sheet:
    columns: list[str] = []
    for metric in result.metrics:
        columns.append(head(metric))
        columns += ["published", "error"] if _is_published(result, metric) else []
    titles = ["what it is"] if titled else []
    made = Sheet(
        None, "variant", *titles, *columns, right=columns, optional=titles, code=["variant"]
    )
    for variant in result.variants:
        titles = [variant.title] if titled else []
        made.add_row(variant.name, *titles, *_cells(result, variant))
    return made


def _lines(result: Figures) -> Sheet:
    """Return a table of the lines of each variant on which loads wait longest."""
    has = ["published"] if result.published_lines else []
    numbers = ("loads", "cycles/load", "most", *has)
    made = Sheet(
        "Cycles per load, by cache line and field (lines on which loads wait longest)",
        "variant", "line", *numbers, "fields",
        right=numbers, rigid=("line",), optional=("loads", "most", "fields"), code=["variant"],
    )  # fmt: skip
    ranges = {(line.variant, line.object, line.line): line for line in result.published_lines}
    for variant in result.variants:
        for index, line in enumerate(hot_lines(result, variant, LINES_SHOWN)):
            known = ranges.get((variant.name, line.object, line.line))
            published = f"{known.low:,.0f}-{known.high:,.0f}" if known else ""
            made.add_row(
                variant.name if index == 0 else "",
                f"{line.object} line {line.line}",
                f"{line.loads:,}",
                significant(line.avg_load_cycles),
                significant(line.max_load_cycles),
                *([published] if has else []),
                ", ".join(
                    f"{field.field} {significant(field.avg_load_cycles)}"
                    for field in line.fields[:FIELDS_SHOWN]
                ),
            )
    return made


def figure_tables(result: Figures) -> list[Sheet]:
    """Return the tables of published figures, of others, and of the lines that cost most."""
    parts = _split(result)
    return [*(_sheet(part, part is parts[0]) for part in parts), _lines(result)]


def figure_misses(result: Figures) -> list[str]:
    """Return one sentence per figure outside its band."""
    sentences = []
    for variant in result.variants:
        for metric in misses(result, variant):
            name = metric.name
            why = variant.lacks or "docs/model.md says what the model lacks."
            sentences.append(
                f"'{variant.name}': {metric.title} is predicted at "
                f"{figure_text(metric, variant.values[name])}, published "
                f"{figure_text(metric, variant.published[name])}, more than "
                f"{_band(metric, (variant.accept or {})[name])} apart. {why}"
            )
    return sentences


def _band(metric: Labelled, limit: float) -> str:
    if metric.unit == PERCENT:
        return f"{significant(limit * 100, 2)} points"
    return f"{significant(limit)} {metric.unit}"
