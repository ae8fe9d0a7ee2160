# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests means, deviations and changes of the verb compare, and what cannot be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.errors import UserError
from conftest import Cli, assert_user_error
from model.run.sweep.compare import CompareRequest, Side, compare, probability, summary
from model.run.sweep.file import parquet
from sweeping import request, rows_of


def row(variant: str, seed: int, **metrics: float) -> dict[str, Any]:
    return {
        "experiment": "e", "machine": "m", "variant": variant, "cap": 64, "cpus": 8, "seed": seed,
        "placement": "os", **metrics,
    }  # fmt: skip


def side(variant: str | None, *rows: dict[str, Any]) -> Side:
    return Side("file", variant, rows)


def values(*numbers: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array(numbers)


def test_means_deviations_and_change() -> None:
    a = [row("a", seed, cost=cost) for seed, cost in ((1, 90.0), (2, 100.0), (3, 110.0))]
    b = [row("b", seed, cost=cost) for seed, cost in ((1, 45.0), (2, 50.0), (3, 55.0))]
    data = compare(CompareRequest(side("a", *a), side("b", *b)))
    (place,) = data["places"]
    (metric,) = place["metrics"]
    assert metric["a"] == {"mean": 100.0, "stddev": pytest.approx(0.1), "runs": 3}
    assert metric["b"]["stddev"] == pytest.approx(0.1)
    assert metric["change"] == pytest.approx(-0.5)
    assert metric["p"] < 0.01
    assert "variant" not in place


def test_groups_of_the_same_numbers_are_no_change() -> None:
    assert summary(values(5.0)) == {"mean": 5.0, "stddev": None, "runs": 1}
    assert summary(values(0.0, 0.0))["stddev"] is None
    assert probability(values(1.0, 2.0, 3.0), values(1.0, 2.0, 3.0)) == pytest.approx(1.0)
    assert probability(values(1.0, 1.0), values(2.0, 2.0)) is None  # nothing varies
    assert probability(values(1.0), values(2.0, 3.0)) is None
    data = compare(CompareRequest(side("a", row("a", 1, n=0.0)), side("b", row("b", 1, n=1.0))))
    assert data["places"][0]["metrics"][0]["change"] is None


def test_without_variants_equal_names_are_compared() -> None:
    a = side(None, row("x", 1, cost=1.0), row("y", 1, cost=2.0))
    b = side(None, row("y", 1, cost=3.0), row("z", 1, cost=2.0))
    (place,) = compare(CompareRequest(a, b))["places"]
    assert place["variant"] == "y"
    assert place["metrics"][0]["change"] == pytest.approx(0.5)


def test_what_cannot_be_compared() -> None:
    a, b = side("a", row("a", 1, cost=1.0)), side("b", {**row("b", 1, cost=1.0), "cpus": 16})
    with pytest.raises(UserError, match="the same experiment, machine, shard size and number"):
        compare(CompareRequest(a, b))
    with pytest.raises(UserError, match="unknown metric of both 'cots': did you mean 'cost'"):
        compare(CompareRequest(a, side("b", row("b", 1, cost=1.0)), ("cots",)))


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    """Variants global and sbm on 4 and 16 CPUs, 3 seeds."""
    from model.run.sweep.sweep import plan_sweep

    path = tmp_path / "s.parquet"
    path.write_bytes(parquet(rows_of(plan_sweep(request(cpus=(4, 16), seeds=3))[0])))
    return path


def test_variants_of_a_sweep(cli: Cli, sweep_file: Path) -> None:
    outcome = cli("compare", f"{sweep_file}:global", f"{sweep_file}:sbm", "--metric", "ns_per_op")
    assert outcome.status == 0
    lines = [line.split() for line in outcome.out.splitlines()]
    assert ["%stddev", "%change", "%stddev"] in lines
    assert ["global", "sbm"] in lines
    (first, _) = [words for words in lines if words[-1:] == ["ns_per_op"]]
    # ns of global: 0.5, 1.5, 2.5; of sbm 1, 2, 3
    assert first == ["1.500", "±", "66.7%", "~", "+33.3%", "2.000", "±", "50.0%", "ns_per_op"]
    assert "runs per side: 3." in outcome.out
    assert "cpumask-yield on epyc-7763-2s, 16 CPUs, at most 64 per shard" in outcome.out


def test_results_of_run(cli: Cli, tmp_path: Path, figures: Path, curve_result: Path) -> None:
    path = tmp_path / "r.json"
    assert cli("run", "figures", "--out", path).status == 0
    outcome = cli("compare", f"{path}:stock", f"{path}:shard", "--metric", "kernel_share")
    assert "-90.5%" in outcome.out
    assert "one run has no %stddev" in outcome.out
    assert "+20.0%" in cli("compare", f"{path}:stock", f"{path}:shard").out  # frames
    curve = cli("compare", f"{curve_result}:atomic", f"{curve_result}:sharded", "--json").json
    assert [place["cpus"] for place in curve["places"]][:3] == [1, 2, 3]


def test_a_result_of_run_beside_a_sweep(cli: Cli, yield_result: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    cli("sweep", "--experiment", "cpumask-yield", "--variant", "sbm", "--seeds", "2", "--out", path)
    data = cli("compare", f"{yield_result}:global", f"{path}:sbm", "--json").json
    (place,) = data["places"]
    assert {m["a"]["runs"] for m in place["metrics"]} == {1}
    assert {m["b"]["runs"] for m in place["metrics"]} == {2}


def test_wrong_input(cli: Cli, yield_result: Path, tmp_path: Path) -> None:
    good = f"{yield_result}:sbm"
    for args, words in (
        ((f"{yield_result}:sbn", good), ("unknown variant in", "did you mean 'sbm'")),
        ((good, good, "--metric", "x"), ("unknown metric of both 'x'",)),
    ):
        assert_user_error(cli("compare", *args), *words)
    data = json.loads(yield_result.read_text())
    del data["placement"]
    yield_result.write_text(json.dumps(data))
    assert_user_error(cli("compare", good, good), "damaged", "placement")
    yield_result.write_text('{"format": "schedshard/validate/1"}')
    assert_user_error(cli("compare", good, good), "is not a result of the right kind")


def test_a_metric_is_shown_once_and_only_if_it_was_seen(
    cli: Cli, tmp_path: Path, figures: Path
) -> None:
    path = tmp_path / "r.json"
    assert cli("run", "figures", "--out", path).status == 0
    data = json.loads(path.read_text())
    for variant in data["variants"]:
        variant["metrics"]["never"] = 0.0
    path.write_text(json.dumps(data))
    out = cli("compare", f"{path}:stock", f"{path}:pad").out
    assert " fps\n" in out
    assert "fps_relative" not in out  # fps again, divided by the baseline's
    assert "never" not in out
    assert " fps_relative\n" in cli(
        "compare", f"{path}:stock", f"{path}:pad", "--metric", "fps_relative"
    ).out  # fmt: skip
