# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The tables of a sweep: relative figures, and caches that were cut."""

from __future__ import annotations

from pathlib import Path

from conftest import Cli
from model.run.experiment import load_experiment
from model.run.sweep.file import read_rows
from model.run.sweep.sweep import Row, make_row, plan_sweep
from model.run.sweep.swept import swept
from sweeping import SMALL, raw, request


def test_relative_figures_are_of_the_same_point_and_seed(figures: Path) -> None:
    points, _ = plan_sweep(
        request(experiments=(load_experiment("figures"),), variants=(), cpus=(4, 8), seeds=2)
    )
    rows: list[Row] = []
    for point in points:
        fps = 10.0 * point.known["seed"] * (2.0 if point.known["variant"] == "pad" else 1.0)
        figure = {"fps": fps, "kernel_share": 0.1, "map_bytes": 64.0, "cycles_per_set": 5.0}
        rows.append(make_row(point, {**raw(), "metrics": figure}))
    (one,) = swept(rows)
    frame = one.frame
    assert set(frame[frame["variant"] == "pad"]["figure fps_relative"]) == {2.0}
    assert set(frame[frame["variant"] == "shard"]["figure fps_relative"]) == {1.0}
    assert one.variants == ("stock", "pad", "shard")
    (alone,) = swept([row for row in rows if row["variant"] == "pad"])
    assert alone.frame["figure fps_relative"].isna().all()


def test_caches_that_were_cut_are_machines_of_their_own(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    args = ["--split-llc", "1", "--split-llc", "2", "--cpus", "64", "--placement", "compact"]
    outcome = cli("sweep", *SMALL, "--variant", "sbm", *args, "--out", path)
    assert outcome.status == 0, outcome.err
    assert "epyc-7763-2s-llc-by-2, compact" in outcome.out
    assert {row["llcs"] for row in read_rows(path)} == {4, 8}
