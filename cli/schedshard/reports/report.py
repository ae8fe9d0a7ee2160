# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stage report: make one HTML page of results, which needs no other file and no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedshard.common.errors import UserError
from schedshard.experiments.sweep.sweep import Row
from schedshard.machines.topo import plan_rows, plan_sentence, tree
from schedshard.machines.topo_picture import picture
from schedshard.plots.results import curve, machine_dots, yield_bars
from schedshard.reports.c2c import c2c_section
from schedshard.reports.figures import figures_section
from schedshard.reports.intervals import add_intervals
from schedshard.reports.leads import bench_lead, machines_lead, run_lead, topo_lead
from schedshard.reports.live import live_section, validate_section
from schedshard.reports.primitives import pairs_section, scaling_section
from schedshard.results.bench import Bench, BenchRow, Validate
from schedshard.results.c2c import Kernel, Recorded, Replayed, Report
from schedshard.results.run import Bars, Curve, Figures, Pairs, Result
from schedshard.show.format import percent
from schedshard.show.layout_picture import legend
from schedshard.show.page import Cell, Grid, Lead, Section, grid, num, rendered
from schedshard.show.plots import shown
from schedshard.tables.primitives import FEW_CURVES
from schedshard.tables.results import (
    BENCH_COLUMNS,
    bar_cells,
    bench_host,
    bench_rows,
    curve_cells,
    machine_label,
    run_notes,
    summary_cells,
)

# The number of leads at the top of a page, which folds the others.
_LEADS = 6


@dataclass(frozen=True)
class ReportRequest:
    """The contents of the page.

    ``lead`` comes before the leads of the boxes. ``topologies`` contains the saved JSON, and
    ``sweeps`` contains each file's name and rows.
    """

    runs: tuple[Result, ...]
    title: str = "schedshard report"
    lead: Lead | None = None
    judged: tuple[Validate, ...] = ()
    topologies: tuple[dict[str, Any], ...] = ()
    benches: tuple[Bench, ...] = ()
    c2c: tuple[Report, ...] = ()
    sweeps: tuple[tuple[str, list[Row]], ...] = ()


def _lacking_bars(result: Bars) -> list[str]:
    """Return one sentence per prediction outside its band."""
    said = []
    for variant in result.variants:
        if variant.accepted is False:
            why = variant.lacks or "docs/model.md says what the model lacks."
            said.append(
                f"Outside the band: '{variant.name}' is predicted at "
                f"{percent(variant.relative or 0.0)}, published "
                f"{percent(variant.published or 0.0)}, and should be {variant.accept}. {why}"
            )
    return said


def _lacking(result: Curve | Pairs) -> list[str]:
    return [
        f"Outside the band: '{variant.name}' has a median error of "
        f"{variant.median_error:.1%} and a worst one of {variant.worst_error:.1%}. "
        "docs/model.md says what the model lacks."
        for variant in result.variants
        if variant.accepted is False
    ]


def _bars_section(result: Bars) -> Section:
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
    section = Section(
        anchor=f"{result.experiment}-{result.machine.name}",
        heading=result.title,
        where=_where(result),
        lead=run_lead(result),
        tables=[grid(columns, rows)],
        lacks=_lacking_bars(result),
        notes=_notes(result),
    )
    if any(variant.relative for variant in result.variants):
        section.figures.append(
            shown(yield_bars(result), f"{result.title}: relative cost per variant")
        )
    return section


def _where(result: Result) -> str:
    label = machine_label(result.machine)
    if result.published is not None and result.published.role == "calibration":
        label = (
            "the calibration curve, not a test of the model"
            if isinstance(result, Curve) and len(result.variants) <= FEW_CURVES
            else "the published figures calibrated the model, and are not a test of it"
        )
    return f"{result.machine.title}, {result.cpus_words} ({label})"


def _notes(result: Result) -> list[str]:
    """Return the terminal's notes without those that the page shows elsewhere."""
    return [
        f"{word}: {said}"
        for word, said in run_notes(result)
        if word not in ("provenance", "outside")
    ]


def _curve_section(result: Curve) -> Section:
    columns, cells = curve_cells(result, "ns/op, predicted")
    return Section(
        anchor=f"{result.experiment}-{result.machine.name}",
        heading=result.title,
        where=_where(result),
        lead=run_lead(result),
        figures=[shown(curve(result), f"{result.title}: time over threads")],
        folded=[grid(columns, [[*map(num, row)] for row in cells])],
        folded_title=f"all {len(cells)} points",
        lacks=_lacking(result),
        notes=_notes(result),
    )


def _points_section(result: Curve | Pairs) -> Section:
    """Return the box of pairs of CPUs, of many curves, or of a few curves."""
    if isinstance(result, Pairs):
        return pairs_section(result, _where(result), _notes(result), _lacking(result))
    if len(result.variants) > FEW_CURVES:
        return scaling_section(result, _where(result), _notes(result), _lacking(result))
    return _curve_section(result)


def _comparison(results: list[Bars]) -> Section:
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


def _bench_grids(rows: Sequence[BenchRow]) -> list[Grid]:
    grids = []
    for group, texts in bench_rows(rows):
        cells = [
            [*(Cell(text) for text in row[:3]), Cell(row[3], "code"), *(num(t) for t in row[4:])]
            for row in texts
        ]
        grids.append(grid(BENCH_COLUMNS, cells, group))
    return grids


def _bench_section(data: Bench) -> Section:
    return Section(
        anchor="bench",
        heading="The structures on this host's CPUs",
        where=bench_host(data),
        lead=bench_lead(data),
        tables=_bench_grids(data.headlines),
        folded=_bench_grids(data.rows),
        folded_title=f"all {len(data.rows)} measurements",
        notes=[
            "ratio: to the first variant of the same operation, in interleaved rounds of one run. "
            "Times of a shared or virtual host vary between runs; instruction counts do not."
        ]
        + (["A short run: its times are less certain."] if data.quick else []),
    )


def _topo_section(data: dict[str, Any]) -> Section:
    rows = [
        [
            *(num(str(row[key])) for key in ("shard", "package", "node", "llc", "cpus")),
            Cell(row["positions"], "code"),
        ]
        for row in plan_rows(data)
    ]
    columns = ["shard", "package", "node", "LLC", "CPUs", "CPU numbers in position order"]
    return Section(
        anchor="topology",
        heading="Topology and shard plan",
        where=tree(data).label,
        lead=topo_lead(data),
        figures=[picture(data).shown("topology, one colour per shard")],
        folded=[grid(columns, rows)],
        folded_title=plan_sentence(data),
    )


def _origin(what: str, machine: str, provenance: Mapping[str, Any]) -> list[Cell]:
    return [
        Cell(what),
        Cell(machine, "code"),
        Cell(str(provenance.get("machine_sha256", ""))[:16], "code"),
        num(str(provenance.get("seed", ""))),
        Cell(str(provenance.get("version", ""))),
        Cell(str(provenance.get("commit", "")), "code"),
    ]


def _provenance(request: ReportRequest) -> Grid:
    host = "this host"
    rows = [
        *(_origin(r.experiment, r.machine.name, r.provenance.to_data()) for r in request.runs),
        *(_origin("validate", host, each.provenance.to_data()) for each in request.judged),
        *(
            _origin("topo", (each.get("machine") or {}).get("name", host), each["provenance"])
            for each in request.topologies
        ),
        *(_origin("bench", host, each.provenance.to_data()) for each in request.benches),
        # A report on an experiment repeats its run's provenance, so only recordings get a row.
        *(
            _origin(report.experiment, report.machine.name, report.provenance)
            for report in request.c2c
            if isinstance(report, Replayed | Kernel | Recorded)
        ),
    ]
    return grid(["what", "machine", "machine file sha256", "seed", "version", "commit"], rows)


def _calibrations(results: Sequence[Result]) -> dict[str, str]:
    """Return the calibration behind the predictions by machine name."""
    return {
        result.machine.name: result.provenance.calibration
        for result in results
        if not result.measured
    }


def _sections(request: ReportRequest) -> list[Section]:
    sections: list[Section] = []
    runs = [result for result in request.runs if not result.measured]
    bars: dict[str, list[Bars]] = {}
    for result in runs:
        if isinstance(result, Figures):
            section = figures_section(result, _where(result), _notes(result))
            sections.append(add_intervals(section, result))
        elif isinstance(result, Bars):
            bars.setdefault(result.experiment, []).append(result)
    for group in bars.values():
        with_figures = [one for one in group if one.published is not None]
        rest = [one for one in group if one.published is None]
        alone = [one for one in rest if one.uncertainty is not None or len(rest) == 1]
        sections += [add_intervals(_bars_section(one), one) for one in with_figures + alone]
        if len(rest) > 1:
            sections.append(_comparison(rest))
    for result in runs:
        if isinstance(result, Curve | Pairs):
            sections.append(add_intervals(_points_section(result), result))
    if request.sweeps:
        from schedshard.reports.sweep import sweep_sections
    for name, rows in request.sweeps:
        sections += sweep_sections(rows, name)
    sections += [c2c_section(report) for report in request.c2c]
    for result in request.runs:
        if result.measured and isinstance(result, Curve | Pairs):
            sections.append(live_section(result))
    sections += [validate_section(each) for each in request.judged]
    sections += [_topo_section(each) for each in request.topologies]
    return sections + [_bench_section(each) for each in request.benches]


def render(request: ReportRequest) -> str:
    """Return the page. A result that lacks a field raises UserError."""
    try:
        sections = _sections(request)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise UserError(
            f"a result is damaged, so no report can be made from it: {error!r}"
        ) from error
    leads = [section.lead for section in sections if section.lead is not None]
    most = _LEADS
    if request.lead is not None:
        leads.insert(0, request.lead)
        most = 1
    return rendered(
        "report.html.j2",
        title=request.title,
        leads=leads[:most],
        more_leads=leads[most:],
        sections=sections,
        provenance=_provenance(request),
        calibrations=_calibrations(request.runs),
        legend=legend(),
    )
