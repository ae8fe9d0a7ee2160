# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads a sweep's rows in one Parquet file, and adds rows to it atomically."""

import fcntl
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from common.errors import UserError
from common.inputs import read_input
from common.output import write_atomic
from common.paths import typed
from model.results.saved import LARGEST
from model.run.sweep.sweep import FACTS, KEY, Row, metric_names, united

FORMAT = "schedshard/sweep/3"
_TYPES: dict[type, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64()}


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a sweep. Raise a UserError for any other file."""
    data = read_input(path, "sweep")
    try:
        table = pq.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError, ValueError) as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{path} is not a complete Parquet file: {message}") from error
    metadata = table.schema.metadata or {}
    form = metadata.get(b"format", b"").decode("utf-8", "replace")
    if form != FORMAT:
        raise UserError(f"{path} is not a sweep: '{typed('sweep --out FILE.parquet')}' makes one")
    kinds = {**KEY, **FACTS}
    metrics = {name: float for name in table.column_names if name not in kinds}
    for name, kind in {**kinds, **metrics}.items():
        if name not in table.column_names or table.schema.field(name).type != _TYPES[kind]:
            raise UserError(f"{path} is damaged: column '{name}' is missing or of another type")
    rows: list[Row] = [
        {name: value for name, value in row.items() if value is not None}
        for row in table.to_pylist()
    ]
    for index, row in enumerate(rows):
        lost = [name for name in (*KEY, *FACTS) if name not in row]
        if lost:
            raise UserError(f"{path} is damaged: row {index} has no '{lost[0]}'")
        for name, value in row.items():
            if isinstance(value, float) and not abs(value) <= LARGEST:
                raise UserError(f"{path} is damaged: '{name}' is {value:g} in row {index}")
    return rows


def parquet(rows: Sequence[Row]) -> bytes:
    """Return the content of a file with these rows. Equal rows give equal bytes."""
    columns = [(name, _TYPES[kind]) for name, kind in {**KEY, **FACTS}.items()]
    columns += [(name, pa.float64()) for name in metric_names(rows)]
    schema = pa.schema(columns, metadata={"format": FORMAT})
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), buffer, compression="zstd")
    return buffer.getvalue()


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Lock a directory, so that one process at a time writes to it."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def add_rows(path: Path, rows: Sequence[Row]) -> list[Row]:
    """Add rows to a file, which another sweep may have changed. Return all rows."""
    with _alone(path.parent):
        old = read_rows(path) if path.exists() else []
        everything = united(old, rows)
        write_atomic(path, parquet(everything))
    return everything
