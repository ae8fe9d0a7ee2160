# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The page's boxes of results of `run`, by their form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from common.show.format import percent
from common.show.page import Cell, Lead, Section, grid, num
from common.show.plots import shown
from model.plots.results import curve, machine_dots, yield_bars
from model.results.run import Bars, Curve, Pairs, Result
from model.tables.figures import figure_misses
from model.tables.results import (
    bar_cells,
    curve_cells,
    machine_label,
    run_notes,
    summary_cells,
)
from report.figures import fill_figures
from report.intervals import add_intervals
from report.leads import (
    bars_lead,
    curve_lead,
    figures_lead,
    machines_lead,
    pairs_lead,
)
from report.primitives import fill_pairs, fill_scaling


def _fill_bars(section: Section, result: Bars) -> None:
    columns, cells = bar_cells(result)
    rows = []
    for variant, texts in zip(result.variants, cells, strict=True):
        row = [Cell(texts[0], "code"), Cell(texts[1]), *map(num, texts[2:])]
        if "band" in columns and variant.accept is None:
            row.append(num(""))
        elif "band" in columns:
            words = f"{'' if variant.accepted else 'not '}{variant.accept}"
            row.append(Cell(words, "good" if variant.accepted else "bad"))
        rows.append(row)
    section.tables = [grid(columns, rows)]
    if any(variant.relative for variant in result.variants):
        section.figures = [shown(yield_bars(result), f"{result.title}: relative cost per variant")]


def _fill_curve(section: Section, result: Curve) -> None:
    columns, cells = curve_cells(result, "ns/op, predicted")
    section.figures = [shown(curve(result), f"{result.title}: time over threads")]
    section.folded = [grid(columns, [[*map(num, row)] for row in cells])]
    section.folded_title = f"all {len(cells)} points"


def _bars_outside(result: Bars) -> list[str]:
    return [
        f"'{variant.name}' is predicted at {percent(variant.relative or 0.0)}, published "
        f"{percent(variant.published or 0.0)}, and should be {variant.accept}. "
        f"{variant.lacks or _LACKS}"
        for variant in result.variants
        if variant.accepted is False
    ]


def _swept_outside(result: Curve | Pairs) -> list[str]:
    return [
        f"'{variant.name}' has a median error of {variant.median_error:.1%} and a worst one of "
        f"{variant.worst_error:.1%}. {_LACKS}"
        for variant in result.variants
        if variant.accepted is False
    ]


def _alone(results: Sequence[Result]) -> list[Section]:
    return [_box(result) for result in results]


def _by_experiment(results: Sequence[Bars]) -> list[Section]:
    """Return the boxes of bars. Several machines without published figures share one."""
    sections = []
    for name in dict.fromkeys(result.experiment for result in results):
        mine = [result for result in results if result.experiment == name]
        rest = [result for result in mine if result.published is None]
        alone = [one for one in rest if one.uncertainty is not None or len(rest) == 1]
        sections += _alone([one for one in mine if one.published is not None] + alone)
        if len(rest) > 1:
            sections.append(_machines(rest))
    return sections


_LACKS = "docs/model.md says what the model lacks."
_CALIBRATED = "the published figures calibrated the model, and are not a test of it"


class _Form(NamedTuple):
    """What the page shows of one kind of result; the boxes of the lowest ``order`` come first."""

    order: int
    lead: Callable[[Any], Lead]
    fill: Callable[[Section, Any], None]
    outside: Callable[[Any], list[str]]
    calibrated: str = _CALIBRATED
    boxes: Callable[[Sequence[Any]], list[Section]] = _alone


FORMS = {
    "figures": _Form(0, figures_lead, fill_figures, figure_misses),
    "bars": _Form(1, bars_lead, _fill_bars, _bars_outside, boxes=_by_experiment),
    "curve": _Form(
        2, curve_lead, _fill_curve, _swept_outside, "the calibration curve, not a test of the model"
    ),
    "curves": _Form(2, curve_lead, fill_scaling, _swept_outside),
    "pairs": _Form(2, pairs_lead, fill_pairs, _swept_outside),
}


def run_lead(result: Result) -> Lead:
    """Return the lead of a result of `run`, or of a measurement of the same form."""
    return FORMS[result.form].lead(result)


def box(result: Result, where: str, notes: list[str]) -> Section:
    """Return the box of a result of `run`, or of a measurement of the same form."""
    section = Section(
        anchor=f"{result.experiment}-{result.machine.name}",
        heading=result.title,
        where=where,
        lead=run_lead(result),
        notes=notes,
    )
    FORMS[result.form].fill(section, result)
    return section


def boxes(results: Sequence[Result]) -> list[Section]:
    """Return the boxes of predictions: kinds in their order, and results in that of ``results``."""
    sections = []
    in_order = sorted(results, key=_order)
    for _, group in groupby(in_order, key=_order):
        same = list(group)
        sections += FORMS[same[0].form].boxes(same)
    return sections


def _order(result: Result) -> int:
    return FORMS[result.form].order


def _box(result: Result) -> Section:
    form = FORMS[result.form]
    label = machine_label(result.machine)
    if result.published is not None and result.published.role == "calibration":
        label = form.calibrated
    # The page shows the notes on provenance and on errors outside the band elsewhere.
    notes = [f"{word}: {said}" for word, said in run_notes(result)
             if word not in ("provenance", "outside")]  # fmt: skip
    section = box(result, f"{result.machine.title}, {result.cpus_words} ({label})", notes)
    section.lacks = [f"Outside the band: {said}" for said in form.outside(result)]
    return add_intervals(section, result)


def _machines(results: Sequence[Bars]) -> Section:
    """Return the box of one experiment on several machines."""
    names = list(dict.fromkeys(v.name for r in results for v in r.variants))
    rows = [
        [
            Cell(result.machine.name, "code"),
            num(str(result.cpus)),
            Cell(machine_label(result.machine)),
            *map(num, summary_cells(result, names)),
        ]
        for result in results
    ]
    first = results[0]
    return Section(
        anchor=f"{first.experiment}-machines",
        heading=f"{first.title}: other machines",
        where=f"all CPUs at once; '{first.baseline}' in time, the others relative to it",
        lead=machines_lead(results),
        figures=[shown(machine_dots(results), "time per operation on every machine")],
        tables=[grid(["machine", "CPUs", "label", *names], rows)],
        notes=["All figures are predicted; none are published for these machines."],
    )
