# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads core-to-core latency tables: comma-separated, row = writer, column = responder, in ns.

Published tables differ. Some fill the whole square, some only the lower triangle, and some cut rows
at the diagonal. Some have CPU numbers along the edges, or a comma at the end of each line. The
reader accepts all of these. Anything else ends with the line and column of the first wrong cell: a
table that lost its tail would otherwise become a smaller machine.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from common.errors import UserError

Matrix = npt.NDArray[np.float64]

MAX_CPUS = 4096
MAX_NS = 1e6
# Medians of machines: 8 ns for two siblings, below a microsecond for eight packages.
MEDIAN_NS = (1.0, 20_000.0)
RISING = 6
MISSING = frozenset({"", "-", "nan", "na", "n/a", "null", "none"})
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
WHOLE = re.compile(r"[0-9]{1,7}", re.ASCII)
_LEAST_NS = 5  # in less no two CPUs of a machine in machines/ exchange a line, not even siblings
LABEL = re.compile(r"(cpu|core|pu|#)?[ _#-]?([0-9]{1,7})", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class LatencyTable:
    """Latencies between CPUs: ``ns[i, j]`` from ``cpus[i]`` to ``cpus[j]``, NaN where unknown."""

    name: str
    cpus: tuple[int, ...]
    ns: Matrix

    def symmetric(self) -> Matrix:
        """Return one latency per pair: the mean of both directions, or the measured one."""
        both = np.stack([self.ns, self.ns.T])
        known = np.isfinite(both)
        count = known.sum(axis=0)
        total = np.where(known, both, 0.0).sum(axis=0)
        mean = np.full_like(self.ns, np.nan)
        np.divide(total, count, out=mean, where=count > 0)
        np.fill_diagonal(mean, 0.0)
        return mean


@dataclass
class _Row:
    """One line of the file: ``first`` is the column number of its first cell."""

    line: int
    cells: list[str]
    first: int = 1


def _fail(name: str, line: int, column: int, what: str) -> UserError:
    return UserError(f"{name}: line {line}, column {column}: {what}")


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= 24 else cell[:21] + "...")


def _rows(text: str) -> list[_Row]:
    rows = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if line.lstrip().startswith("#") and "," not in line:
            continue
        cells = [cell.strip().strip('"').strip() for cell in line.rstrip("\r").split(",")]
        rows.append(_Row(number, cells))
    while rows and not any(rows[-1].cells) and len(rows[-1].cells) == 1:
        rows.pop()
    return rows


def _labels(cells: list[str]) -> list[int] | None:
    """Return the CPU numbers along an edge, or None if these cells are not CPU numbers.

    Plain numbers count as CPU numbers in two cases: they start with 0, which is not a latency, or
    many of them only rise, which a row of whole nanoseconds would not.
    """
    numbers: list[int] = []
    prefixed = False
    for cell in cells:
        match = LABEL.fullmatch(cell)
        if match is None:
            return None
        prefixed = prefixed or match.group(1) is not None
        numbers.append(int(match.group(2)))
    if not numbers or not (prefixed or numbers[0] == 0 or len(numbers) >= RISING):
        return None
    if any(b <= a for a, b in pairwise(numbers)):
        return None
    return numbers


def _drop_column_of_commas(rows: list[_Row], labelled: bool) -> None:
    """Remove the cells that a comma at the end of every line adds.

    Without labels this looks like a table that lost its last row, because the last column of a
    lower triangle is empty as well. Machines have even numbers of CPUs. So an odd number of rows
    counts as a loss, and _check_shape() refuses it.
    """
    width = len(rows[0].cells)
    if width != len(rows) + 1 or (len(rows) % 2 and not labelled):
        return
    if all(len(row.cells) == width and not row.cells[-1] for row in rows):
        for row in rows:
            row.cells.pop()


def _take_labels(name: str, rows: list[_Row]) -> tuple[list[_Row], list[int] | None]:
    """Separate the CPU numbers along the top and the left edge from the latencies."""
    top = rows[0].cells
    trimmed = top[:-1] if len(top) > 1 and not top[-1] else top
    labels = _labels(trimmed[1:])
    if labels is not None and LABEL.fullmatch(trimmed[0]) and trimmed[0] not in MISSING:
        labels = None  # the first cell is a label too: no corner, so no labels on the left
    if labels is not None:
        body = rows[1:]
        for row, want in zip(body, labels, strict=False):
            match = LABEL.fullmatch(row.cells[0])
            if match is None or int(match.group(2)) != want:
                raise _fail(
                    name, row.line, 1, f"{_shown(row.cells[0])} where the top edge says {want}"
                )
            row.cells = row.cells[1:]
            row.first = 2
        if len(body) != len(labels):
            raise _fail(
                name,
                rows[-1].line,
                1,
                f"{len(body)} rows under {len(labels)} CPU numbers: is the file truncated?",
            )
        return body, labels
    labels = _labels(trimmed)
    if labels is not None and len(rows) == len(labels) + 1:
        return rows[1:], labels
    left = _labels([row.cells[0] for row in rows])
    if left is not None and max(len(row.cells) for row in rows) in (len(left) + 1, len(left) + 2):
        for row in rows:
            row.cells = row.cells[1:]
            row.first = 2
        return rows, left
    return rows, None


def _check_edges(name: str, rows: list[_Row]) -> None:
    """Refuse a small table whose edges may be CPU numbers: equal, whole, and in equal steps.

    Two numbers always have equal steps. They may be those of CPUs if they are neighbours, if the
    first is too small for a latency, or if the rest is not as symmetric as the edges are.
    """
    edge = rows[0].cells[1:]
    if len(edge) < 2 or len(edge) + 1 != len(rows) or not all(map(WHOLE.fullmatch, edge)):
        return
    if (
        len(edge) == 2
        and int(edge[0]) >= _LEAST_NS
        and int(edge[1]) != int(edge[0]) + 1
        and rows[1].cells[2:] == rows[2].cells[1:2]
    ):
        return
    steps = {int(b) - int(a) for a, b in pairwise(edge)}
    if len(steps) == 1 and min(steps) > 0 and edge == [row.cells[0] for row in rows[1:]]:
        raise _fail(
            name, rows[0].line, 2,
            f"{edge[0]} to {edge[-1]} along both edges: write cpu{edge[0]} if these are numbers of "
            f"CPUs, and {edge[0]}.0 if they are latencies",
        )  # fmt: skip


def _check_unit(table: LatencyTable) -> None:
    median = float(np.nanmedian(table.ns))
    low, high = MEDIAN_NS
    if not low <= median <= high:
        unit = "microseconds" if median < low else "picoseconds or cycles"
        raise UserError(
            f"{table.name}: the median is {median:g} ns, and no machine has that: give "
            f"nanoseconds, not {unit}"
        )


def _check_shape(name: str, rows: list[_Row]) -> None:
    """Raise a UserError unless all rows are complete, or all are cut at the diagonal."""
    count = len(rows)
    if count > 1 and all(len(row.cells) in (max(i, 1), i + 1) for i, row in enumerate(rows)):
        return
    width = max(len(row.cells) for row in rows)
    if count < width:
        raise _fail(
            name,
            rows[-1].line,
            len(rows[-1].cells),
            f"the table ends after {count} rows of {width} columns: is the file truncated?",
        )
    for row in rows:
        if row is rows[-1] and len(row.cells) < width:
            raise _fail(
                name,
                row.line,
                len(row.cells) + row.first - 1,
                f"the last line has {len(row.cells)} cells, {width} expected: "
                "is the file truncated?",
            )
        if len(row.cells) != width:
            raise _fail(
                name,
                row.line,
                len(row.cells) + row.first - 1,
                f"{len(row.cells)} cells where other lines have {width}",
            )
    if count > width:
        raise _fail(
            name,
            rows[width].line,
            1,
            f"row {width + 1} of a table with {width} columns: a latency table is square",
        )


def _value(name: str, row: _Row, index: int, diagonal: bool) -> float:
    cell = row.cells[index]
    if cell.lower() in MISSING:
        return float("nan")
    column = index + row.first
    if NUMBER.fullmatch(cell) is None:
        raise _fail(name, row.line, column, f"{_shown(cell)} is not a number of nanoseconds")
    value = float(cell)
    if diagonal:
        return float("nan")
    if not 0.0 < value <= MAX_NS:
        raise _fail(
            name, row.line, column, f"{cell} ns: a latency lies above 0 and is at most {MAX_NS:g}"
        )
    return value


def _check_coverage(table: LatencyTable) -> None:
    known = np.isfinite(table.ns) | np.isfinite(table.ns.T)
    np.fill_diagonal(known, False)
    alone = np.flatnonzero(~known.any(axis=1))
    if alone.size:
        raise UserError(f"{table.name}: CPU {table.cpus[alone[0]]} has no latency to any other CPU")
    count = len(table.cpus)
    pairs = count * (count - 1) // 2
    have = int(known.sum()) // 2
    if have * 2 < pairs:
        raise UserError(
            f"{table.name}: only {have:,} of {pairs:,} pairs have a latency, half are needed"
        )


def parse_latency_csv(text: str, name: str) -> LatencyTable:
    """Return the latency table in a text. Errors call the file ``name``."""
    rows = _rows(text)
    if not rows:
        raise UserError(f"{name}: the file is empty, a latency table of at least 2 CPUs is needed")
    if ";" in "".join(rows[0].cells):
        raise _fail(name, rows[0].line, 1, "give commas between cells, and points in numbers")
    rows, labels = _take_labels(name, rows)
    if rows:
        _drop_column_of_commas(rows, labels is not None)
    count = len(rows)
    if count > MAX_CPUS:
        raise UserError(f"{name}: {count:,} rows, at most {MAX_CPUS:,} CPUs can be read")
    if rows:
        _check_shape(name, rows)
        if labels is None:
            _check_edges(name, rows)
    ns = np.full((count, count), np.nan)
    for i, row in enumerate(rows):
        for j in range(min(len(row.cells), count)):
            ns[i, j] = _value(name, row, j, i == j)
    if count < 2:
        raise UserError(f"{name}: a table of {count} CPU has no pair, at least 2 CPUs are needed")
    cpus = tuple(labels) if labels is not None else tuple(range(count))
    table = LatencyTable(name, cpus, ns)
    _check_coverage(table)
    _check_unit(table)
    return table
