# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Sweeps over samples of uncertain inputs: their rows, their display, their comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Cli
from html_page import read_page
from model.run.sweep.compare import CompareRequest, Side, compare, probability
from model.run.sweep.file import read_rows
from model.run.sweep.sweep import current, sample_set

pytestmark = pytest.mark.slow(reason="samples of each point of a sweep")


@pytest.fixture(autouse=True)
def _inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in's times follow the inputs."""
    monkeypatch.setenv("FAKE_SIM", "inputs")


SWEEP = ("sweep", "--experiment", "cpumask-yield", "--machine", "epyc-7763-2s", "--variant",
         "global", "--variant", "llc", "--cpus", "16")  # fmt: skip


def test_a_sweep_of_samples(cli: Cli, tmp_path: Path) -> None:
    path, page = tmp_path / "s.parquet", tmp_path / "p.html"
    args = (*SWEEP, "--uncertainty", "20", "--out", path)
    outcome = cli(*args)
    assert outcome.status == 0, outcome.err
    rows = read_rows(path)
    assert len(rows) == 40
    assert {sample_set(row) for row in rows} == {"20, seed 1"}
    assert len({row["sample"] for row in rows}) == 20
    assert len({row["machine_sha256"] for row in rows}) == 1  # the file from which samples are made
    by_sample: dict[str, dict[str, Any]] = {}
    for row in rows:
        by_sample.setdefault(row["sample"], {})[row["variant"]] = row
    for pair in by_sample.values():
        yield_ns = json.loads(pair["llc"]["params"])["yield_ns"]
        ratio = pair["llc"]["cycles_per_op"] / pair["global"]["cycles_per_op"]
        assert ratio == pytest.approx(500 / 40000 * yield_ns / 1290, rel=1e-3)
        assert pair["llc"]["seed"] == pair["global"]["seed"]
    line = next(line for line in outcome.out.splitlines() if " llc " in line)
    assert "20 samples" in line
    assert " to " in line
    again = cli(*args)
    assert again.err.splitlines()[0] == f"40 of 40 points are in {path}"
    assert cli("report", path, "--out", page).status == 0
    assert "20 samples of each point" in read_page(page)
    compared = cli("compare", f"{path}:global", f"{path}:llc", "--json").json
    (place,) = compared["places"]
    assert {metric["a"]["runs"] for metric in place["metrics"]} == {20}


def test_samples_are_not_mixed_with_others(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    for more in ((), ("--uncertainty", "20"), ("--uncertainty", "20", "--seed", "2")):
        assert cli(*SWEEP, *more, "--out", path).status == 0
    rows = read_rows(path)
    assert len(rows) == 2 + 40 + 40
    assert {sample_set(row) for row in current(rows)} == {"20, seed 2"}


def test_the_same_samples_are_compared_in_pairs() -> None:
    rng = np.random.default_rng(1)
    costs = rng.lognormal(0, 1, 20)  # samples differ far more than the sides do

    def side(factor: float, order: list[int], seed: int) -> Side:
        place = {"experiment": "e", "machine": "m", "cap": 64, "cpus": 4, "placement": "os"}
        return Side("s", str(factor), tuple(
            {**place, "variant": str(factor), "sample": f"{i}/20, seed {seed}",
             "cycles_per_op": float(costs[i] * factor * (1 + 0.001 * i))}
            for i in order
        ))  # fmt: skip

    one = side(1.0, list(range(20)), 1)
    paired = compare(CompareRequest(one, side(1.05, list(range(19, -1, -1)), 1)))
    ((row,),) = (place["metrics"] for place in paired["places"])
    assert row["change"] == pytest.approx(0.05)
    assert row["p"] < 0.01
    apart = compare(CompareRequest(one, side(1.05, list(range(20)), 2)))
    ((row,),) = (place["metrics"] for place in apart["places"])
    assert row["p"] > 0.5
    assert probability(costs, costs + 1.0, paired=True) is None  # nothing to test
