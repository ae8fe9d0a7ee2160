# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The page's boxes of measurements on real CPUs, alone and beside predictions."""

from __future__ import annotations

from common.show.format import signed_percent, significant
from common.show.page import Cell, Section, code, grid, num
from model.live.view import host_words, live_notes
from model.results.bench import Judged, JudgedRow, Validate
from model.results.run import Curve, Pairs
from report.forms import box
from report.leads import validate_lead


def live_section(result: Curve | Pairs) -> Section:
    """Return the box of a measurement: that of the simulated experiment, marked as measured."""
    where = f"{result.machine.title} (measured)"
    notes = [f"{word}: {said}" for word, said in live_notes(result)]
    section = box(result, where, notes)
    section.anchor += "-measured"
    section.heading += ", measured"
    return section


def validate_section(data: Validate) -> Section:
    """Return the box of a file of `validate`: predictions beside measurements."""
    verdict = data.verdict
    worst = verdict.worst
    rows = [
        [
            code(row.op),
            Cell(row.where),
            num(significant(row.measured)),
            num(f"{significant(row.low)}-{significant(row.high)}"),
            num(significant(row.predicted)),
            num(signed_percent(row.error)),
            Cell(f"{row.factor:.2f}x", _kind(row, verdict)),
        ]
        for row in verdict.rows
    ]
    columns = ["operation", "CPUs", "measured ns", "10%-90%", "predicted ns", "error", "off by"]
    said = (
        f"{worst.op}, {worst.where}: measured {significant(worst.measured)} ns, predicted "
        f"{significant(worst.predicted)} ns"
    )
    return Section(
        anchor="validate",
        heading="Predicted beside measured",
        where=host_words(data.host),
        lead=validate_lead(data, host_words(data.host)),
        tables=[grid(columns, rows)],
        notes=[
            f"outcome: {verdict.outcome}; median {verdict.median_factor:.2f}x, worst "
            f"{verdict.worst_factor:.2f}x",
            f"worst: {said}",
        ],
    )


def _kind(row: JudgedRow, verdict: Judged) -> str:
    if row.machine_file_ns is not None:
        return "num"
    return "good" if row.factor <= verdict.bounds.worst else "bad"
