# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage report: makes one HTML page of results, which needs no other file and no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.formats import C2C, LIVE, RUN, VALIDATE
from common.show.format import signed_percent, significant
from common.show.page import Lead, Section, rendered
from common.show.sheet import Sheet, judged
from model.live.view import host_words, live_notes
from model.results.bench import Validate
from model.results.c2c import Report, report_of
from model.results.read import checked, load_data
from model.results.run import Bars, Curve, Figures, Pairs, Result, measured_of, run_of
from model.tables.results import run_section, run_sections
from record.lines.report import c2c, find_names, of_all_variants
from report.c2c import c2c_section

# The number of leads at the top of a page, which folds the others.
_LEADS = 6


Saved = Result | Report | Validate

_READERS: dict[str, Callable[[dict[str, Any]], Saved]] = {
    RUN: run_of,
    LIVE: measured_of,
    VALIDATE: Validate.of,
    C2C: report_of,
}


def read(path: Path) -> Saved:
    """Return the result in a file; UserError for a damaged file, or one that is not a result."""
    data = load_data(path, *_READERS)
    return checked(data, str(path), _READERS[data["format"]])


def lines_of(results: Sequence[Saved]) -> list[Report]:
    """Return the reports on the cache lines of results with several figures."""
    requests = [of_all_variants(result) for result in results if isinstance(result, Figures)]
    return [c2c(request, find_names(request)) for request in requests]


def _live_section(result: Curve | Pairs) -> Section:
    section = run_section(result)
    section.anchor += "-measured"
    section.heading += ", measured"
    section.notes = [f"{word}: {text}" for word, text in live_notes(result)]
    return section


def _validate_section(data: Validate) -> Section:
    verdict, worst = data.verdict, data.verdict.worst
    numbers = ("measured ns", "10%-90%", "predicted ns", "error", "off by")
    made = Sheet(None, "operation", "CPUs", *numbers, right=numbers, code=["operation"])
    for row in verdict.rows:
        good = None if row.machine_file_ns is not None else row.factor <= verdict.bounds.worst
        made.add_row(
            row.op, row.where, significant(row.measured),
            f"{significant(row.low)}-{significant(row.high)}", significant(row.predicted),
            signed_percent(row.error), judged(f"{row.factor:.2f}x", good),
        )  # fmt: skip
    lead = Lead(
        f"Is the model right about this host? {host_words(data.host)}",
        f"{verdict.outcome.capitalize()}: predictions are off by {verdict.median_factor:.2f}x in "
        f"the median and by {verdict.worst_factor:.2f}x at worst ({worst.op}, {worst.where})",
        f"{significant(worst.low)} to {significant(worst.high)} ns measured there: 10th to 90th "
        "percentile of the measurements",
    )
    return Section(
        "validate", "Predicted beside measured", host_words(data.host), lead=lead, parts=[made]
    )


def _sections(results: Sequence[Saved]) -> list[Section]:
    """Return all sections: predictions, cache lines, then what was measured here."""
    runs = [result for result in results if isinstance(result, Bars | Curve | Pairs | Figures)]
    sections = run_sections([result for result in runs if not result.measured])
    sections += [c2c_section(result) for result in results if isinstance(result, Report)]
    sections += [
        _live_section(run) for run in runs if run.measured and isinstance(run, Curve | Pairs)
    ]
    sections += [_validate_section(result) for result in results if isinstance(result, Validate)]
    return sections


def _origin(result: Saved) -> tuple[str, str, Mapping[str, Any]]:
    """Return the name of a result, its machine, and its provenance."""
    here = "this host"
    match result:
        case Validate():
            return "validate", here, result.provenance.to_data()
        case Report():
            return result.experiment, result.machine.name, result.provenance
    return result.experiment, result.machine.name, result.provenance.to_data()


def _provenance(results: Sequence[Saved]) -> Sheet:
    made = Sheet(
        None, "what", "machine", "machine file sha256", "seed", "version", "commit",
        right=["seed"], code=("machine", "machine file sha256", "commit"),
    )  # fmt: skip
    for result in results:
        # A report on an experiment repeats its run's provenance.
        if type(result) is not Report:
            what, machine, known = _origin(result)
            made.add_row(
                what, machine, str(known.get("machine_sha256", ""))[:16],
                *(str(known.get(name, "")) for name in ("seed", "version", "commit")),
            )  # fmt: skip
    return made


def render(
    results: Sequence[Saved], title: str = "schedshard report", lead: Lead | None = None
) -> str:
    """Return the page; ``lead`` comes before the leads of the sections, which are then folded.

    A result that lacks a field raises UserError.
    """
    try:
        sections = _sections(results)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise UserError(
            f"a result is damaged, so no report can be made from it: {error!r}"
        ) from error
    leads = [section.lead for section in sections if section.lead is not None]
    return rendered(
        title,
        leads if lead is None else [lead, *leads],
        sections,
        _LEADS if lead is None else 1,
        provenance=_provenance(results),
        calibrations={
            result.machine.name: result.provenance.calibration
            for result in results
            if isinstance(result, Bars | Curve | Pairs | Figures) and not result.measured
        },
    )
