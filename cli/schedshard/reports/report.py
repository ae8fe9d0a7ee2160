# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stage report: results as one HTML page that needs nothing else, not even a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from schedshard.common.errors import UserError
from schedshard.common.result import (
    BENCH,
    LIVE,
    RUN,
    TOPO,
    VALIDATE,
    is_curve,
    is_pairs,
)
from schedshard.experiments.figures import is_figures
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
from schedshard.show.format import nanoseconds, percent, signed_percent, significant
from schedshard.show.layout_picture import legend
from schedshard.show.page import Cell, Grid, Lead, Section, grid, num, rendered
from schedshard.show.plots import shown
from schedshard.tables.primitives import FEW_CURVES
from schedshard.tables.results import (
    BENCH_COLUMNS,
    bench_headlines,
    bench_host,
    bench_rows,
    machine_label,
    run_notes,
)

# The number of answers on top of a page (it folds the others), and of named lines of a variant.
_LEADS = 6


@dataclass(frozen=True)
class ReportRequest:
    """The contents of the page, in this order; ``lead`` stands above those of the boxes.

    ``sweeps``: names of files and their rows.
    """

    results: tuple[dict[str, Any], ...]
    title: str = "schedshard report"
    lead: Lead | None = None
    c2c: tuple[dict[str, Any], ...] = ()
    sweeps: tuple[tuple[str, list[Row]], ...] = ()


def lacking(result: dict[str, Any]) -> list[str]:
    """One sentence for every prediction outside its band."""
    said = []
    for variant in result["variants"]:
        if variant.get("accepted") is not False:
            continue
        if "accept" in variant:
            why = variant.get("lacks", "docs/model.md tells what the model lacks.")
            said.append(
                f"Outside the band: '{variant['name']}' is predicted at "
                f"{percent(variant['relative'])}, published {percent(variant['published'])}, "
                f"and should be {variant['accept']}. {why}"
            )
        else:
            said.append(
                f"Outside the band: '{variant['name']}' has a median error of "
                f"{variant['median_error']:.1%} and a worst one of {variant['worst_error']:.1%}. "
                "docs/model.md tells what the model lacks."
            )
    return said


def _bars_section(result: dict[str, Any]) -> Section:
    rows = []
    published = any(v.get("published") is not None for v in result["variants"])
    reads = any("cycles_per_read" in v for v in result["variants"])
    for variant in result["variants"]:
        relative = variant["relative"]
        row = [
            Cell(variant["name"], "code"),
            Cell(variant["title"]),
            num(significant(variant["cycles_per_op"])),
            num(significant(variant["ns_per_op"])),
            num(percent(relative) if relative is not None else "-"),
        ]
        if reads:
            walk = variant.get("cycles_per_read")
            row.append(num(significant(walk) if walk is not None else ""))
        if published:
            figure, error = variant.get("published"), variant.get("error")
            base = variant["name"] == result["baseline"]
            row.append(num(percent(figure) if figure is not None else ""))
            row.append(num(signed_percent(error) if error is not None and not base else ""))
            if "accepted" in variant:
                words = variant["accept"]
                good = variant["accepted"]
                row.append(Cell(words if good else f"not {words}", "good" if good else "bad"))
            else:
                row.append(num(""))
        rows.append(row)
    columns = ["variant", "", "cycles/op", "ns/op", "predicted"]
    columns += ["cycles/walk"] if reads else []
    columns += ["published", "error", "band"] if published else []
    section = Section(
        anchor=f"{result['experiment']}-{result['machine']['name']}",
        heading=result["title"],
        where=_where(result),
        lead=run_lead(result),
        tables=[grid(columns, rows)],
        lacks=lacking(result),
        notes=_notes(result),
    )
    if any(variant["relative"] for variant in result["variants"]):
        section.figures.append(
            shown(yield_bars(result), f"{result['title']}: relative cost a variant")
        )
    return section


def _where(result: dict[str, Any]) -> str:
    machine = result["machine"]
    label = machine_label(machine)
    if result.get("published", {}).get("role") == "calibration":
        label = (
            "the calibration curve, no test of the model"
            if is_curve(result) and len(result["variants"]) <= FEW_CURVES
            else "the published figures calibrated the model, and are not a test of it"
        )
    if is_pairs(result):
        return f"{machine['title']}, two CPUs at a time ({label})"
    return f"{machine['title']}, {result['cpus']} of {machine['cpus']} CPUs ({label})"


def _notes(result: dict[str, Any]) -> list[str]:
    """The notes of the terminal, without those that the page shows in separate boxes."""
    return [
        f"{word}: {said}"
        for word, said in run_notes(result)
        if word not in ("provenance", "outside")
    ]


def _curve_section(result: dict[str, Any]) -> Section:
    columns = ["threads"]
    for variant in result["variants"]:
        columns.append(f"{variant['name']} ns/op, predicted")
        if any("published" in point for point in variant["points"]):
            columns += ["published", "error"]
    rows = []
    for count in sorted({p["threads"] for v in result["variants"] for p in v["points"]}):
        row = [num(str(count))]
        for variant in result["variants"]:
            point = next((p for p in variant["points"] if p["threads"] == count), None)
            row.append(num(significant(point["ns_per_op"]) if point else ""))
            if any("published" in p for p in variant["points"]):
                known = point is not None and "published" in point
                row.append(num(significant(point["published"]) if point and known else ""))
                row.append(num(signed_percent(point["error"]) if point and known else ""))
        rows.append(row)
    return Section(
        anchor=f"{result['experiment']}-{result['machine']['name']}",
        heading=result["title"],
        where=_where(result),
        lead=run_lead(result),
        figures=[shown(curve(result), f"{result['title']}: time over threads")],
        folded=[grid(columns, rows)],
        folded_title=f"all {len(rows)} points",
        lacks=lacking(result),
        notes=_notes(result),
    )


def _points_section(result: dict[str, Any]) -> Section:
    """Of a sweep of pairs, of many curves, or of few."""
    if is_pairs(result):
        return pairs_section(result, _where(result), _notes(result), lacking(result))
    if len(result["variants"]) > FEW_CURVES:
        return scaling_section(result, _where(result), _notes(result), lacking(result))
    return _curve_section(result)


def _comparison(results: list[dict[str, Any]]) -> Section:
    names = list(dict.fromkeys(v["name"] for r in results for v in r["variants"]))
    rows = []
    for result in results:
        row = [
            Cell(result["machine"]["name"], "code"),
            num(str(result["cpus"])),
            Cell(machine_label(result["machine"])),
        ]
        by_name = {variant["name"]: variant for variant in result["variants"]}
        for name in names:
            variant = by_name.get(name)
            if variant is None:
                row.append(num(""))
            elif name == result["baseline"] or variant["relative"] is None:
                row.append(num(nanoseconds(variant["ns_per_op"])))
            else:
                row.append(num(percent(variant["relative"])))
        rows.append(row)
    first = results[0]
    return Section(
        anchor=f"{first['experiment']}-machines",
        heading=f"{first['title']}: other machines",
        where=f"all CPUs at once; '{first['baseline']}' in time, the others relative to it",
        lead=machines_lead(results),
        figures=[shown(machine_dots(results), "time per operation on every machine")],
        tables=[grid(["machine", "CPUs", "label", *names], rows)],
        notes=["All of it is predicted; no figures are published for these machines."],
    )


def _bench_grids(data: dict[str, Any]) -> list[Grid]:
    grids = []
    for group, rows in bench_rows(data):
        cells = [
            [*(Cell(text) for text in row[:3]), Cell(row[3], "code"), *(num(t) for t in row[4:])]
            for row in rows
        ]
        grids.append(grid(BENCH_COLUMNS, cells, str(group)))
    return grids


def _bench_section(data: dict[str, Any]) -> Section:
    chosen = {**data, "rows": bench_headlines(data["rows"])}
    return Section(
        anchor="bench",
        heading="The structures on this host's CPUs",
        where=bench_host(data),
        lead=bench_lead(data),
        tables=_bench_grids(chosen),
        folded=_bench_grids(data),
        folded_title=f"all {len(data['rows'])} measurements",
        notes=[
            "ratio: to the first variant of the same operation, of interleaved rounds of one run. "
            "Times of a shared or virtual host vary between runs; instruction counts do not."
        ]
        + (["A short run: its times are less certain."] if data.get("quick") else []),
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


def _provenance(results: Sequence[dict[str, Any]]) -> Grid:
    rows = []
    for result in results:
        provenance = result.get("provenance", {})
        names = {
            BENCH: "bench",
            TOPO: "topo",
            VALIDATE: "validate",
        }
        what = names.get(result["format"]) or result["experiment"]
        rows.append(
            [
                Cell(what),
                Cell((result.get("machine") or {}).get("name", "this host"), "code"),
                Cell(str(provenance.get("machine_sha256", ""))[:16], "code"),
                num(str(provenance.get("seed", ""))),
                Cell(str(provenance.get("version", ""))),
                Cell(str(provenance.get("commit", "")), "code"),
            ]
        )
    return grid(["what", "machine", "machine file sha256", "seed", "version", "commit"], rows)


def _calibrations(results: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The calibration behind each machine's predictions, once per machine."""
    return {
        result["machine"]["name"]: result["provenance"]["calibration"]
        for result in results
        if result["format"] == RUN
    }


def _sections(request: ReportRequest) -> list[Section]:
    sections: list[Section] = []
    runs = [result for result in request.results if result["format"] == RUN]
    bars: dict[str, list[dict[str, Any]]] = {}
    sections += [
        add_intervals(figures_section(result, _where(result), _notes(result)), result)
        for result in runs
        if is_figures(result)
    ]
    for result in runs:
        if not is_curve(result) and not is_pairs(result) and not is_figures(result):
            bars.setdefault(result["experiment"], []).append(result)
    for group in bars.values():
        with_figures = [result for result in group if "published" in result]
        rest = [result for result in group if "published" not in result]
        sections += [add_intervals(_bars_section(result), result) for result in with_figures]
        alone = [result for result in rest if "uncertainty" in result or len(rest) == 1]
        sections += [add_intervals(_bars_section(result), result) for result in alone]
        if len(rest) > 1:
            sections.append(_comparison(rest))
    for result in runs:
        if is_pairs(result) or is_curve(result):
            sections.append(add_intervals(_points_section(result), result))
    if request.sweeps:
        from schedshard.reports.sweep import sweep_sections
    for name, rows in request.sweeps:
        sections += sweep_sections(rows, name)
    sections += [c2c_section(report) for report in request.c2c]
    makers = {
        LIVE: live_section,
        VALIDATE: validate_section,
        TOPO: _topo_section,
        BENCH: _bench_section,
    }
    for kind, make in makers.items():
        sections += [make(result) for result in request.results if result["format"] == kind]
    return sections


def render(request: ReportRequest) -> str:
    """The page. A result that lacks a field is a user's error, never a half-drawn page."""
    try:
        sections = _sections(request)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise UserError(f"a result is damaged, a report cannot be made of it: {error!r}") from error
    leads = [section.lead for section in sections if section.lead is not None]
    most = _LEADS
    if request.lead is not None:
        leads.insert(0, request.lead)
        most = 1
    # What c2c makes of a run has that run's provenance; a guest's has its own.
    guests = [report for report in request.c2c if "guest" in report]
    return rendered(
        "report.html.j2",
        title=request.title,
        leads=leads[:most],
        more_leads=leads[most:],
        sections=sections,
        provenance=_provenance([*request.results, *guests]),
        calibrations=_calibrations(request.results),
        legend=legend(),
    )
