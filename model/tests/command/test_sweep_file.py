# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A sweep adds rows to its file, and refuses a file that is damaged or not a sweep's."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import Cli, assert_user_error
from model.results.read import is_parquet
from model.run.sweep.file import FORMAT, add_rows, parquet, read_rows
from model.run.sweep.sweep import current, plan_sweep, united
from sweeping import SMALL, request, rows_of

pytestmark = pytest.mark.usefixtures("stand_ins")


def test_file_keeps_rows_and_is_the_same_whatever_came_first(tmp_path: Path) -> None:
    rows = rows_of(plan_sweep(request(cpus=(4, 16), seeds=2))[0])
    extra = {**rows[0], "experiment": "other", "fps": 3.0}
    everything = united(rows, [extra])
    path = tmp_path / "s.parquet"
    path.write_bytes(parquet(everything))
    assert read_rows(path) == everything
    assert is_parquet(path)
    assert parquet(united(reversed(rows), [extra])) == path.read_bytes()
    assert "fps" not in read_rows(path)[0]  # absent, not null


def test_adding_keeps_what_another_sweep_wrote_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    rows = rows_of(plan_sweep(request(cpus=(4, 16)))[0])
    assert add_rows(path, rows[:1]) == rows[:1]
    assert len(add_rows(path, rows[2:])) == 3
    assert len(add_rows(path, rows[1:])) == 4
    assert [p.name for p in tmp_path.iterdir()] == ["s.parquet"]


def test_newer_simulators_replace_older_ones() -> None:
    old = rows_of(plan_sweep(request(cpus=(4,)))[0])
    new = rows_of(plan_sweep(request(cpus=(4,), simulator_sha256="n" * 64, added=2))[0])
    assert current(old + new) == new
    elsewhere = [{**row, "machine": "another"} for row in old]
    assert current(new + elsewhere) == new + elsewhere


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_files_that_are_no_whole_parquet(cli: Cli, tmp_path: Path, keep: int) -> None:
    path = tmp_path / "s.parquet"
    path.write_bytes(parquet(rows_of(plan_sweep(request(cpus=(4,)))[0]))[:keep])
    before = path.read_bytes()
    outcome = cli("sweep", *SMALL, "--out", path)
    assert_user_error(outcome, "s.parquet is not a complete Parquet file")
    assert path.read_bytes() == before
    if keep > 0 or keep == -1:
        assert_user_error(cli("compare", path, path), "not a complete Parquet file")


def test_parquet_files_of_others(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    pq.write_table(pa.table({"x": [1]}), path)
    assert_user_error(cli("sweep", *SMALL, "--out", path), "is not a sweep", "sweep --out")
    pq.write_table(pa.table({"x": [1]}, metadata={"format": FORMAT}), path)
    assert_user_error(cli("sweep", *SMALL, "--out", path), "damaged: column 'experiment'")
    rows = rows_of(plan_sweep(request(cpus=(4,)))[0])
    rows[1]["seconds"] = None
    path.write_bytes(parquet(rows))
    assert_user_error(cli("compare", path, path), "row 1 has no 'seconds'")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["x", "y"], "column 'fps' is missing or of another type"),
        ([[1.0], [2.0]], "column 'fps' is missing or of another type"),
        ([1.0, float("nan")], "'fps' is nan in row 1"),
        ([1e308, 1.0], "'fps' is 1e+308 in row 0"),
    ],
)
def test_a_metric_that_is_no_number(
    cli: Cli, tmp_path: Path, values: list[object], words: str
) -> None:
    path = tmp_path / "s.parquet"
    rows = rows_of(plan_sweep(request(cpus=(4,)))[0])[:2]
    path.write_bytes(parquet([{**row, "fps": 3.0} for row in rows]))
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.column_names.index("fps"), "fps", [values]), path)
    assert_user_error(cli("compare", path, path), f"{path} is damaged: {words}")
