# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes tables of single operations, by latency class or by number of threads."""

from common.show.format import signed_percent, significant, times
from common.show.sheet import Cell, Sheet, judged
from model.results.rows import ThreadPoint
from model.results.run import Curve, Pairs
from model.run.pairs import class_rows


def pairs_table(result: Pairs) -> Sheet:
    """Return the table of pairs: a row per class and operation; a class is named once.

    The table has no columns that would be empty.
    """
    rows = class_rows(result)
    numbers = ["ns/op"]
    if any(row.low < row.ns or row.high > row.ns for row in rows):
        numbers.append("lowest-highest")
    if any(row.published is not None for row in rows):
        numbers += ["published", "error"]
    names = ("class", "CPUs", "operation")
    made = Sheet(None, *names, *numbers, right=numbers, rigid=names[1:], code=names)
    last = ""
    for row in rows:
        error = "" if row.error is None else signed_percent(row.error)
        cells: dict[str, Cell] = {
            "ns/op": significant(row.ns),
            "lowest-highest": f"{significant(row.low)}-{significant(row.high)}",
            "published": significant(row.published) if row.published is not None else "",
            "error": judged(error, None if row.accepted else row.accepted),
        }
        where = ("", "") if row.latency_class == last else (row.latency_class, row.where)
        last = row.latency_class
        made.add_row(*where, row.operation, *(cells[name] for name in numbers))
    return made


def thread_counts(result: Curve) -> list[int]:
    """Return the numbers of threads of a curve, in ascending order."""
    return sorted({point.threads for v in result.variants for point in v.points})


def scaling_table(result: Curve) -> Sheet:
    """Return a row per operation: ns at each number of threads, and the growth to the last one.

    If an operation's figures were published, two more rows contain them and the errors. A narrow
    terminal omits some numbers of threads.
    """
    counts = thread_counts(result)
    columns = ["ns/op, threads:", *map(str, counts), "growth"]
    between = columns[2:-2]
    kept = {*columns[:2], *between[2::3], *columns[-2:]}
    made = Sheet(
        None, *columns, right=columns[1:], code=columns[:1],
        optional=[name for name in columns if name not in kept],
    )  # fmt: skip
    for variant in result.variants:
        by_count = {point.threads: point for point in variant.points}
        ends = [by_count[n].ns_per_op for n in (counts[0], counts[-1]) if n in by_count]
        growth = times(ends[1] / ends[0]) if len(ends) == 2 and len(counts) > 1 else ""
        made.add_row(variant.name, *_cells(by_count, counts, "ns_per_op"), growth)
        if variant.compared:
            made.add_row("  published", *_cells(by_count, counts, "published"), "")
            made.add_row("  error", *_cells(by_count, counts, "error"), "")
    return made


def _cells(by_count: dict[int, ThreadPoint], counts: list[int], key: str) -> list[str]:
    shown = signed_percent if key == "error" else significant
    values = [getattr(by_count[count], key) if count in by_count else None for count in counts]
    return ["" if value is None else shown(value) for value in values]
