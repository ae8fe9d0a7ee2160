# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tables of single operations: by latency class, or by number of threads."""

from rich.text import Text

from common.show.format import signed_percent, significant, times
from common.show.sheet import Sheet
from model.results.rows import ThreadPoint
from model.results.run import Curve, Pairs
from model.run.pairs import ClassRow, class_rows


def class_columns(rows: list[ClassRow]) -> list[str]:
    """Return the columns of a table of pairs, without columns that would be empty."""
    columns = ["class", "CPUs", "operation", "ns/op"]
    if any(row.low < row.ns or row.high > row.ns for row in rows):
        columns.append("lowest-highest")
    if any(row.published is not None for row in rows):
        columns += ["published", "error"]
    return columns


def class_cells(row: ClassRow, columns: list[str]) -> list[str]:
    """Return one row of the table of pairs, with the cells of ``columns``."""
    cells = {
        "class": row.latency_class,
        "CPUs": row.where,
        "operation": row.operation,
        "ns/op": significant(row.ns),
        "lowest-highest": f"{significant(row.low)}-{significant(row.high)}",
        "published": significant(row.published) if row.published is not None else "",
        "error": signed_percent(row.error) if row.error is not None else "",
    }
    return [cells[name] for name in columns]


def pairs_table(result: Pairs) -> Sheet:
    """Return the table of pairs: a row per operation and class, which only its first row names."""
    rows = class_rows(result)
    columns = class_columns(rows)
    made = Sheet(None, *columns, right=columns[3:], rigid=("CPUs", "operation"))
    last = ""
    for row in rows:
        cells: list[str | Text] = list(class_cells(row, columns))
        if row.latency_class == last:
            cells[0] = cells[1] = ""
        last = row.latency_class
        if row.accepted is False:
            cells[-1] = Text(str(cells[-1]), style="bold red")
        made.add_row(*cells)
    return made


def thread_counts(result: Curve) -> list[int]:
    """Return the numbers of threads of a curve, in ascending order."""
    return sorted({point.threads for v in result.variants for point in v.points})


def scaling_rows(result: Curve) -> list[list[str]]:
    """Return a row per operation: ns at each number of threads, and the growth to the last.

    If its figures were published, two more rows contain these and the errors.
    """
    counts = thread_counts(result)
    rows = []
    for variant in result.variants:
        by_count = {point.threads: point for point in variant.points}
        ends = [by_count[n].ns_per_op for n in (counts[0], counts[-1]) if n in by_count]
        growth = times(ends[1] / ends[0]) if len(ends) == 2 and len(counts) > 1 else ""
        rows.append([variant.name, *_cells(by_count, counts, "ns_per_op"), growth])
        if variant.compared:
            rows.append(["  published", *_cells(by_count, counts, "published"), ""])
            rows.append(["  error", *_cells(by_count, counts, "error"), ""])
    return rows


def _cells(by_count: dict[int, ThreadPoint], counts: list[int], key: str) -> list[str]:
    shown = signed_percent if key == "error" else significant
    found = [getattr(by_count[count], key) if count in by_count else None for count in counts]
    return ["" if value is None else shown(value) for value in found]


def scaling_columns(result: Curve) -> list[str]:
    """Return the heads of the columns of scaling_rows()."""
    return ["ns/op, threads:", *map(str, thread_counts(result)), "growth"]


def scaling_table(result: Curve) -> Sheet:
    """Return the table of scaling_rows(). A narrow terminal omits some numbers of threads."""
    columns = scaling_columns(result)
    between = columns[2:-2]
    kept = {*columns[:2], *between[2::3], *columns[-2:]}
    made = Sheet(
        None, *columns, right=columns[1:], optional=[name for name in columns if name not in kept]
    )
    for row in scaling_rows(result):
        made.add_row(*row)
    return made
