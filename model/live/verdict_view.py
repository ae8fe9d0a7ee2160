# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows measured and predicted figures on a terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from common.show.format import signed_percent, significant
from common.show.sheet import Notes, Sheet
from model.live.agreement import AGREE, CHANGED, DISAGREE, Row, Verdict
from model.live.view import counted, host_words
from model.results.run import Host


def verdict_tables(verdict: Verdict, host: Host, source: str) -> RenderableType:
    """Return tables of measured and predicted figures, with the worst disagreement."""
    heading = Text("Predicted beside measured", style="bold")
    heading.append(f"\n{source}: {host_words(host)}", style="not bold")
    rows = {
        name: [row for row in verdict.rows if row.experiment == name]
        for name in dict.fromkeys(row.experiment for row in verdict.rows)
    }
    tables = [_table(name, some, verdict) for name, some in rows.items()]
    return Group(heading, *tables, Notes(_verdict_notes(verdict)))


def _table(name: str, rows: list[Row], verdict: Verdict) -> Sheet:
    numbers = ("measured ns", "10%-90%", "predicted ns", "error", "off by")
    columns = ("operation", "CPUs", *numbers, "")
    made = Sheet(name, *columns, right=numbers, rigid=("CPUs",), optional=("10%-90%",))
    last = ""
    for row in rows:
        point = row.measured
        is_control = row.file_ns is not None
        bad = row.factor > verdict.bounds.worst and not is_control
        remark = "control" if is_control else "disturbed" if point.disturbed else ""
        made.add_row(
            "" if point.op == last else point.op, row.where, significant(point.ns),
            f"{significant(point.low)}-{significant(point.high)}", significant(row.predicted),
            signed_percent(row.error), Text(f"{row.factor:.2f}x", style="bold red" if bad else ""),
            "worst" if row is verdict.worst else remark,
        )  # fmt: skip
        last = point.op
    return made


def _verdict_notes(verdict: Verdict) -> list[tuple[str, str]]:
    bounds, worst = verdict.bounds, verdict.worst
    notes = [("off by", "the factor between the prediction and the nearer end of 10%-90%")]
    disturbed = sum(1 for row in verdict.rows if row.measured.disturbed)
    if disturbed:
        notes.append(("disturbed", f"{counted(disturbed)}: other programs ran almost all the time"))
    notes.append(("worst", _figure(worst)))
    shared = _worst_shared(verdict)
    if shared is not None and shared is not worst:
        notes.append(("worst shared", _figure(shared)))
    notes += _control_notes(verdict)
    ratios = f"median {verdict.median:.2f}x (at most {bounds.median:g}x), worst {worst.factor:.2f}x"
    ratios += f" (at most {bounds.worst:g}x)"
    outcome = {
        AGREE: f"predicted and measured agree: {ratios}",
        DISAGREE: f"predicted and measured DISAGREE: {ratios}",
        CHANGED: f"none, because the host has changed; the factors were: {ratios}",
    }
    notes.append(("verdict", outcome[verdict.outcome]))
    return notes


def _figure(row: Row) -> str:
    return (
        f"{row.measured.op}, {row.where}: measured {significant(row.measured.ns)} ns, predicted "
        f"{significant(row.predicted)} ns, off by {row.factor:.2f}x"
    )


def _worst_shared(verdict: Verdict) -> Row | None:
    """Return the worst row that concerns shared cache lines: one thread alone shares none."""
    rows = [row for row in verdict.rows if len(row.measured.cpus) > 1 and row.file_ns is None]
    return max(rows, key=lambda row: (row.factor, abs(row.error)), default=None)


def _control_notes(verdict: Verdict) -> list[tuple[str, str]]:
    row = verdict.control
    if row is None or row.file_ns is None:
        return []
    note = (
        f"the operation 'cas' also measured the machine file's latencies. On {row.where} it took "
        f"{significant(row.measured.ns)} ns now, and {significant(row.file_ns)} ns when the "
        "machine file was made"
    )
    if verdict.outcome == CHANGED:
        note += (
            ": THIS HOST HAS CHANGED, or was busy, or is virtual and its CPUs moved. This says "
            "nothing about the model: measure the machine file again, or validate an idle host"
        )
    return [("control", note)]
