# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The experiment on the nohz idle set, with the real simulator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Cli
from html_page import read_page
from model.run.sweep.file import read_rows

pytestmark = pytest.mark.slow(reason="the simulation of a whole machine")

SMALL = ("--machine", "epyc-7763-2s", "--cpus", "16")
STOCK_AND_SHARDED = ("--variant", "stock", "--variant", "sbm-wrap")


def test_figures_of_both_loads(cli: Cli, real: Path, tmp_path: Path) -> None:
    path, page = tmp_path / "r.json", tmp_path / "p.html"
    assert cli("run", "idle-mask", *SMALL, *STOCK_AND_SHARDED, "--out", path).status == 0
    data = json.loads(path.read_text())
    stock, sharded = data["variants"]
    for variant in (stock, sharded):
        assert 0 < variant["under_set"] < 1000
        assert 0 <= variant["under_near"] <= 1
        assert 0 < variant["under_most"] <= 1
        assert 1 <= variant["under_walk"] <= 16
        assert variant["published"] == {}  # not on all CPUs
        metrics = variant["metrics"]
        assert metrics["over_messages_per_second"] > metrics["under_messages_per_second"]
        assert metrics["over_idle_share"] < metrics["under_idle_share"]
    assert stock["under_relative"] == stock["over_relative"] == 1.0
    assert stock["bytes"] < sharded["bytes"]
    assert cli("report", path, "--out", page).status == 0
    read_page(page)
    assert "hackbench and the nohz idle set" in page.read_text()


def test_lines_are_those_of_the_idle_set(cli: Cli, real: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    assert cli("run", "idle-mask", *SMALL, *STOCK_AND_SHARDED, "--out", path).status == 0
    report = cli("record", "show", path, "--json", "--variant", "stock").json
    lines = report["variants"][0]["lines"]
    assert "channel" not in {line["object"] for line in lines}
    nohz = next(line for line in lines if line["object"] == "nohz")
    fields = {access["field"] for access in nohz["accesses"]}
    assert {"nr_cpus", "has_blocked", "next_balance"} <= fields
    assert any("stock_enter" in access["symbol"] for access in nohz["accesses"])


def test_same_seed_same_result(cli: Cli, real: Path) -> None:
    results = []
    for seed in ("3", "3", "4"):
        data = cli("run", "idle-mask", *SMALL, *STOCK_AND_SHARDED, "--json", "--seed", seed).json
        results.append([variant["metrics"] for variant in data["variants"]])
    assert results[0] == results[1]
    assert results[0] != results[2]


def test_both_loads_sweep(cli: Cli, real: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    args = ("--machine", "epyc-7763-2s", "--cpus", "8", "--variant", "stock", "--seeds", "2")
    outcome = cli("sweep", "--experiment", "idle-mask", *args, "--out", path)
    assert outcome.status == 0, outcome.err
    rows = read_rows(path)
    assert [row["seed"] for row in rows] == [1, 2]
    assert all(row["over_messages_per_second"] > row["under_messages_per_second"] for row in rows)
    compared = cli("compare", f"{path}:stock", f"{path}:stock", "--metric", "over_set_per_mille")
    assert compared.status == 0
    assert "over_set_per_mille" in compared.out
