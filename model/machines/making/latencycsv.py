# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads core-to-core latency tables in ns, with commas; rows are writers, columns responders.

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
# This many whole numbers that only rise are CPU numbers, because latencies would also fall.
RISING = 6
MISSING = frozenset({"", "-", "nan", "na", "n/a", "null", "none"})
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
LABEL = re.compile(r"(cpu|core|pu|#)?[ _#-]?([0-9]{1,7})", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class LatencyTable:
    """Latencies between CPUs: ``ns[i, j]`` from ``cpus[i]`` to ``cpus[j]``, NaN where unknown."""

    name: str
    cpus: tuple[int, ...]
    ns: Matrix

    def pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Matrix]:
        """Return all pairs with a latency: indices of both CPUs, and the mean of the directions."""
        both = np.stack([self.ns, self.ns.T])
        known = np.isfinite(both)
        rows, columns = np.nonzero(np.triu(known.any(axis=0), 1))
        total = np.where(known, both, 0.0).sum(axis=0)
        return rows, columns, total[rows, columns] / known.sum(axis=0)[rows, columns]


@dataclass
class _Row:
    """One line of the file: ``first`` is the column number of its first cell."""

    line: int
    cells: list[str]
    first: int = 1


def _fail(name: str, row: _Row, index: int, what: str) -> UserError:
    return UserError(f"{name}: line {row.line}, column {index + row.first}: {what}")


def _rows(text: str) -> list[_Row]:
    rows = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if not (line.lstrip().startswith("#") and "," not in line):
            cells = [cell.strip().strip('"').strip() for cell in line.rstrip("\r").split(",")]
            rows.append(_Row(number, cells))
    while rows and rows[-1].cells == [""]:
        rows.pop()
    return rows


def _labels(cells: list[str]) -> list[int]:
    """Return the CPU numbers along an edge, none if these cells are not certainly CPU numbers."""
    matches = [LABEL.fullmatch(cell) for cell in cells]
    numbers = [int(match[2]) for match in matches if match]
    if len(numbers) < max(len(cells), 1) or any(b <= a for a, b in pairwise(numbers)):
        return []
    sure = numbers[0] == 0 or len(numbers) >= RISING or any(match and match[1] for match in matches)
    return numbers if sure else []


def _take_labels(name: str, rows: list[_Row]) -> tuple[list[_Row], list[int]]:
    """Separate the CPU numbers along the top and the left edge from the latencies."""
    top, left = list(rows[0].cells), [row.cells[0] for row in rows]
    if len(top) > 1 and not top[-1]:
        top.pop()
    corner = not LABEL.fullmatch(top[0])
    labels = _labels(top[1:]) if corner else _labels(top)
    below = _labels(left[1:] if corner and labels else left)
    if labels and corner:
        for row, want in zip(rows[1:], labels, strict=False):
            label = LABEL.fullmatch(row.cells[0])
            if label is None or int(label[2]) != want:
                text = f"{row.cells[0][:24]!r} where the top edge says {want}"
                raise _fail(name, row, 0, text)
        if len(rows) - 1 != len(labels):
            text = f"{len(rows) - 1} rows under {len(labels)} CPU numbers: is the file truncated?"
            raise _fail(name, rows[-1], 0, text)
    elif labels and len(rows) == len(labels) + 1:
        return rows[1:], labels
    elif below and max(len(row.cells) for row in rows) - len(below) in (1, 2):
        labels = below
    else:
        whole = all(map(str.isdecimal, top[1:])) and len(top) > 2
        if corner and whole and top[1:] == left[1:] and sorted(top[1:], key=int) == top[1:]:
            text = f"{top[1]} to {top[-1]} along both edges: write cpu{top[1]} if these are numbers"
            text += f" of CPUs, and {top[1]}.0 if they are latencies"
            raise _fail(name, rows[0], 1, text)
        return rows, []
    body = rows[len(rows) - len(labels) :]
    return [_Row(row.line, row.cells[1:], 2) for row in body], labels


def _check_shape(name: str, rows: list[_Row], labelled: bool) -> None:
    """Raise a UserError unless all rows are complete, or all are cut at the diagonal.

    A comma at the end of every line adds a column without a cell. Without labels this looks like a
    table that lost its last row. Machines have even numbers of CPUs, so an odd number is a loss.
    """
    count, width = len(rows), max(len(row.cells) for row in rows)
    commas = all(len(row.cells) == width and not row.cells[-1] for row in rows)
    if commas and width == count + 1 and (count % 2 == 0 or labelled):
        for row in rows:
            row.cells.pop()
        return
    if count > 1 and all(len(row.cells) in (max(i, 1), i + 1) for i, row in enumerate(rows)):
        return
    if count < width:
        text = f"the table ends after {count} rows of {width} columns: is the file truncated?"
        raise _fail(name, rows[-1], len(rows[-1].cells) - 1, text)
    for row in rows:
        if len(row.cells) != width:
            lost = ": is the file truncated?" if row is rows[-1] else ""
            text = f"{len(row.cells)} cells where other lines have {width}{lost}"
            raise _fail(name, row, len(row.cells) - 1, text)
    if count > width:
        text = f"row {width + 1} of a table with {width} columns: a latency table is square"
        raise _fail(name, rows[width], 0, text)


def _value(name: str, row: _Row, index: int, diagonal: bool) -> float:
    cell = row.cells[index]
    if cell.lower() in MISSING:
        return float("nan")
    if NUMBER.fullmatch(cell) is None:
        raise _fail(name, row, index, f"{cell[:24]!r} is not a number of nanoseconds")
    value = float("nan") if diagonal else float(cell)
    if not (diagonal or 0.0 < value <= MAX_NS):
        text = f"{cell[:24]} ns: a latency lies above 0 and is at most {MAX_NS:g}"
        raise _fail(name, row, index, text)
    return value


def _check_coverage(table: LatencyTable) -> None:
    rows, columns, values = table.pairs()
    for at, cpu in enumerate(table.cpus):
        if not ((rows == at) | (columns == at)).any():
            raise UserError(f"{table.name}: CPU {cpu} has no latency to any other CPU")
    pairs = len(table.cpus) * (len(table.cpus) - 1) // 2
    if values.size * 2 < pairs:
        raise UserError(
            f"{table.name}: only {values.size:,} of {pairs:,} pairs have a latency, half are needed"
        )
    median, (low, high) = float(np.median(values)), MEDIAN_NS
    if not low <= median <= high:
        unit = "microseconds" if median < low else "picoseconds or cycles"
        raise UserError(
            f"{table.name}: the median is {median:g} ns, and no machine has that: give "
            f"nanoseconds, not {unit}"
        )


def parse_latency_csv(text: str, name: str) -> LatencyTable:
    """Return the latency table in a text. Errors call the file ``name``."""
    rows = _rows(text)
    if not rows:
        raise UserError(f"{name}: the file is empty, a latency table of at least 2 CPUs is needed")
    if ";" in "".join(rows[0].cells):
        raise _fail(name, rows[0], 0, "give commas between cells, and points in numbers")
    rows, labels = _take_labels(name, rows)
    count = len(rows)
    if count > MAX_CPUS:
        raise UserError(f"{name}: {count:,} rows, at most {MAX_CPUS:,} CPUs can be read")
    if rows:
        _check_shape(name, rows, bool(labels))
    ns = np.full((count, count), np.nan)
    for i, row in enumerate(rows):
        for j in range(min(len(row.cells), count)):
            ns[i, j] = _value(name, row, j, i == j)
    if count < 2:
        raise UserError(f"{name}: a table of {count} CPU has no pair, at least 2 CPUs are needed")
    table = LatencyTable(name, tuple(labels or range(count)), ns)
    _check_coverage(table)
    return table
