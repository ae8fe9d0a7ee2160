# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stage report: make one HTML page of results, which needs no other file and no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common.errors import UserError
from common.show.page import Cell, Grid, Lead, Section, grid, num, rendered
from model.layout_picture import legend
from model.machines.topo import plan_rows, plan_sentence, tree
from model.machines.topo_picture import picture
from model.results.bench import Validate
from model.results.c2c import Report
from model.results.run import Curve, Pairs, Result
from model.results.topo import Topo
from model.run.sweep.sweep import Row
from report.c2c import c2c_section
from report.forms import boxes
from report.leads import topo_lead
from report.live import live_section, validate_section

# The number of leads at the top of a page, which folds the others.
_LEADS = 6


@dataclass(frozen=True)
class ReportRequest:
    """The contents of the page: ``runs`` are predictions, ``live`` are measurements.

    ``lead`` comes before the leads of the boxes. ``sweeps`` contains each file's name and rows.
    """

    runs: tuple[Result, ...]
    title: str = "schedshard report"
    lead: Lead | None = None
    live: tuple[Curve | Pairs, ...] = ()
    judged: tuple[Validate, ...] = ()
    topologies: tuple[Topo, ...] = ()
    c2c: tuple[Report, ...] = ()
    sweeps: tuple[tuple[str, list[Row]], ...] = ()


def _topo_section(data: Topo) -> Section:
    rows = [[*map(num, row[:-1]), Cell(row[-1], "code")] for row in plan_rows(data)]
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
        *(
            _origin(result.experiment, result.machine.name, result.provenance.to_data())
            for result in (*request.runs, *request.live)
        ),
        *(_origin("validate", host, each.provenance.to_data()) for each in request.judged),
        *(
            _origin("topo", (each.machine and each.machine.name) or host, each.provenance)
            for each in request.topologies
        ),
        # A report on an experiment repeats its run's provenance, so only recordings get a row.
        *(
            _origin(report.experiment, report.machine.name, report.provenance)
            for report in request.c2c
            if type(report) is not Report
        ),
    ]
    return grid(["what", "machine", "machine file sha256", "seed", "version", "commit"], rows)


def _calibrations(results: Sequence[Result]) -> dict[str, str]:
    """Return the calibration behind the predictions by machine name."""
    return {result.machine.name: result.provenance.calibration for result in results}


def _sections(request: ReportRequest) -> list[Section]:
    sections = boxes(request.runs)
    if request.sweeps:
        from report.sweep import sweep_sections
    for name, rows in request.sweeps:
        sections += sweep_sections(rows, name)
    sections += map(c2c_section, request.c2c)
    sections += map(live_section, request.live)
    sections += map(validate_section, request.judged)
    return [*sections, *map(_topo_section, request.topologies)]


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
