# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The page's section on cache lines of an experiment, a kernel or a recorded program."""

from common.show.format import percent, significant
from common.show.page import Cell, Grid, Section, grid, num
from common.show.plots import shown
from kernel.profile.c2c_view import side_by_side, whole
from model.plots.programs import program_scaling
from model.results.c2c import Kernel, Recorded, RecordedLine, RecordedVariant, Report, Variant
from record.report.callers import dearest_ways
from record.report.taken import taken_table
from record.report.view import FOLDED, is_folded
from report.leads import c2c_lead

_LINES = 5


def _hottest(line: RecordedLine) -> list[Cell]:
    """Return cells for a program's line: its hottest access, its sharing, its share of cycles."""
    access = line.accesses[0] if line.accesses else None
    return [
        Cell((access and access.field) or "-", "code"),
        Cell((access and access.source) or "?", "code"),
        Cell(line.sharing),
        num(percent(line.cycle_share)),
    ]


def c2c_lines(variant: Variant) -> Grid:
    """Return the hottest lines. For a program, add fields, source lines and kinds of sharing."""
    lines = variant.lines
    more = ["field", "source", "sharing", "of all cycles"]
    columns = ["line", *(more if isinstance(variant, RecordedVariant) else ())]
    columns += ["rmt HITM", "lcl HITM", "cycles"]
    kept = [line for line in lines if not (isinstance(line, RecordedLine) and is_folded(line))]
    rows = [
        [
            Cell(line.place, "code"),
            *(_hottest(line) if isinstance(line, RecordedLine) else ()),
            num(f"{line.hitm_remote:,}"),
            num(f"{line.hitm_local:,}"),
            num(significant(line.cycles_each)),
        ]
        for line in kept[:_LINES]
    ]
    shown = f"{len(rows)} of {variant.lines_total:,} lines"
    if len(kept) < len(lines):
        shown += f"; others take less than {FOLDED:.1%} of all cycles each, or have one thread"
    return grid(columns, rows, f"'{variant.name}' on {variant.cpus} CPUs: {shown}")


def _c2c_accesses(variant: Variant) -> Grid:
    rows = [
        [
            Cell(f"{line.object}{line.offset + access.offset:+#x}", "code"),
            Cell(access.field or "-", "code"),
            num(f"{access.hitm_remote_share:.1%}"),
            num(f"{access.hitm_local_share:.1%}"),
            num(f"{access.store_share:.1%}"),
            num(significant(access.cycles_each)),
            num(f"{access.records:,}"),
            num(str(access.cpus)),
            Cell("{} ({})".format(*access.place), "code"),
        ]
        for line in variant.lines
        for access in line.accesses
    ]
    columns = [
        "address", "field", "rmt HITM", "lcl HITM", "store", "cycles", "records", "CPUs",
        "symbol",
    ]  # fmt: skip
    return grid(columns, rows, f"'{variant.name}' on {variant.cpus} CPUs")


def _c2c_helps(report: Recorded) -> list[Grid]:
    """Return a table of what would help a program on each machine; empty if nothing would."""
    rows = []
    for advice in report.advice:
        for name, gain in advice.machines.items():
            found = gain.interval
            sure = f"{found.low:.1%} to {found.high:.1%}" if found is not None else ""
            rows.append(
                [Cell(advice.words), Cell(name, "code"), num(f"{gain.shown:.1%}"), num(sure)]
            )
    columns = ["what helps", "machine", "fewer cycles", "90%"]
    return [grid(columns, rows)] if rows else []


def _c2c_taken(variant: RecordedVariant) -> list[Grid]:
    """Return a table per line of which last-level cache took it from which."""
    grids = []
    for line in variant.lines[:_LINES]:
        found = taken_table(line.taken, variant.caches)
        if found is not None:
            columns, rows = found
            cells = [[Cell(row[0]), *map(num, row[1:])] for row in rows]
            grids.append(grid(columns, cells, f"{line.place}: who took it from whom"))
    return grids


def _c2c_called(variant: RecordedVariant) -> list[Grid]:
    """Return a table of the calls that led to each line; empty without call stacks."""
    rows = [
        [Cell(line.place, "code"), num(percent(share)), Cell(way, "code")]
        for line in variant.lines[:_LINES]
        for share, way in dearest_ways(line)
    ]
    columns = ["line", "of its cycles", "accessed by, called by"]
    caption = f"'{variant.name}': the most expensive calls to each line"
    return [grid(columns, rows, caption)] if rows else []


_COUNTED = "time of the program over its threads, and the objects for whose lines the threads wait"


def c2c_section(report: Report) -> Section:
    """Return the section of a report: the hottest lines and what helps, the accesses folded."""
    variants = report.variants
    lines = [c2c_lines(variant) for variant in variants]
    folded = [*(lines if len(lines) > 1 else ()), *map(_c2c_accesses, variants)]
    tables: list[Grid] = []
    figures = []
    match report:
        case Kernel():
            for rows_of in (side_by_side(report), whole(report)):
                cells = [[Cell(row[0]), *map(num, row[1:])] for row in rows_of.rows]
                tables.append(grid(rows_of.columns, cells, rows_of.title))
        case Recorded():
            tables += _c2c_helps(report)
            folded += [each for variant in report.variants for each in _c2c_called(variant)]
            folded += [each for variant in report.variants for each in _c2c_taken(variant)]
            if report.by_threads and len(variants) > 1:
                figures = [shown(program_scaling(report), _COUNTED)]
    said = f"{len(variants)} variants" if len(variants) > 1 else f"'{variants[0].name}'"
    return Section(
        anchor="-".join(["c2c", *report.experiment.split()]),
        heading="The contended cache lines",
        where=f"{report.experiment} on {report.machine.name}, as perf c2c would show it",
        lead=c2c_lead(report),
        figures=figures,
        tables=[*tables, *(lines if len(lines) == 1 else ())],
        folded=folded,
        folded_title=f"who accesses the lines of {said}",
        notes=[
            "predicted: HITM is a load or locked operation that found the line modified in another "
            "core's cache; remote, when that core is in another package.",
            *(f"validation: {said}" for said in report.validation),
        ],
    )
