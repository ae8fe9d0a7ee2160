# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes tables of cache lines and their accesses, as perf c2c shows them."""

from rich.console import Group, RenderableType
from rich.text import Text

from common.show.format import significant
from common.show.sheet import Sheet
from model.results.c2c import Line, Report, Variant

ACCESSES_SHOWN = 12


def c2c_tables(report: Report) -> RenderableType:
    """Return the tables of a report of stage c2c: lines, then the accesses of each."""
    parts: list[RenderableType] = []
    for variant in report.variants:
        parts.append(_c2c_lines(report, variant))
        for number, line in enumerate(variant.lines):
            parts.append(_c2c_accesses(number, line))
    if not report.names_resolved:
        parts.append(
            Text("no symbols: another simulator made this result, run the experiment again")
        )
    return Group(*parts)


def _c2c_lines(report: Report, variant: Variant) -> Sheet:
    numbers = (
        "#", "home", "HITM", "rmt HITM", "lcl HITM", "records", "loads", "stores", "load cycles",
        "max",
    )  # fmt: skip
    title = (
        f"Shared cache lines of '{variant.name}', {variant.cpus} CPUs of {report.machine.name} "
        f"({len(variant.lines)} of {variant.lines_total} lines, {variant.hitm_total:,} HITM)"
    )
    columns = (numbers[0], "object", *numbers[1:])
    made = Sheet(title, *columns, right=numbers, rigid=columns, optional=("loads", "stores"))
    for index, line in enumerate(variant.lines):
        counts = (line.hitm_remote, line.hitm_local, line.records, line.loads, line.stores)
        made.add_row(
            str(index),
            line.place,
            str(line.home),
            f"{line.hitm_share:.2%}",
            *(f"{count:,}" for count in counts),
            significant(line.avg_load_cycles),
            significant(line.max_load_cycles),
        )
    return made


def _c2c_accesses(number: int, line: Line) -> Sheet:
    numbers = ("rmt HITM", "lcl HITM", "store", "offset", "load cycles", "records", "CPUs")
    made = Sheet(
        f"line {number}: {line.place}, {line.type or 'no type'}",
        *numbers[:4], "field", "kind", *numbers[4:], "symbol", "source", right=numbers,
        rigid=("kind", "source"), optional=("kind", "source", "records", "CPUs"),
    )  # fmt: skip
    for access in line.accesses[:ACCESSES_SHOWN]:
        made.add_row(
            f"{access.hitm_remote_share:.2%}",
            f"{access.hitm_local_share:.2%}",
            f"{access.store_share:.2%}",
            f"{access.offset:#x}",
            access.field or "-",
            f"{access.kind} {access.size}",
            significant(access.avg_load_cycles),
            f"{access.records:,}",
            str(access.cpus),
            access.symbol,
            access.source,
        )
    hidden = len(line.accesses) - ACCESSES_SHOWN
    if hidden > 0:
        made.caption = f"and {hidden} more accesses: --json has them all"
    return made
