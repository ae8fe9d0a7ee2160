# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests JSON, options, tables, pages and errors of the experiments ping-pong and primitives."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import saved_results
from common.errors import UserError
from conftest import Cli, assert_user_error
from model.machines.presets import load_machine, preset_names
from model.results.run import Pairs
from model.run.experiment import load_experiment
from model.run.pairs import Pair, class_rows, pair_variants
from model.run.run import RunRequest, plan_run, point_argv
from model.run.run_options import thread_counts

BAND = {"source": "s", "role": "prediction", "accept": {"within": 0.1}}


def test_from_has_a_point_for_every_other_cpu(cli: Cli) -> None:
    data = cli("run", "ping-pong", "--from", "5", "--op", "cas", "--json").json
    assert [variant["name"] for variant in data["variants"]] == ["cas"]
    points = data["variants"][0]["points"]
    assert [(p["from"], p["to"]) for p in points] == [(5, 6), (5, 7), (5, 8)]
    # CPU 0 was measured, not CPU 5.
    assert not any("published" in point for point in points)
    assert "published" not in data


def test_a_table_row_is_the_median_of_its_class() -> None:
    variant = load_experiment("ping-pong").variant("cas")
    places = [Pair("llc", 0, n) for n in (1, 2, 3)] + [Pair("remote", 0, 9)]
    metrics = [{"ns_per_op": ns, "cycles_per_op": 2 * ns} for ns in (50.0, 40.0, 48.0, 300.0)]
    published = load_experiment("ping-pong").published_on("xeon-8176-8s")
    rows = pair_variants([(variant, p) for p in places], metrics, [[]] * 4, published)
    result = saved_results.result([row.to_data() for row in rows], sweep="pairs", published=BAND)
    assert isinstance(result, Pairs)
    near, far = class_rows(result)
    assert (near.where, near.ns, near.low, near.high) == ("0 with 3", 48.0, 40.0, 50.0)
    assert (far.where, far.ns) == ("0 and 9", 300.0)
    assert near.accepted
    assert far.accepted is False
    assert rows[0].accepted is False
    assert rows[0].worst_error == pytest.approx(1 - 40 / 47.5733)


def test_threads_are_those_that_were_asked_for(cli: Cli) -> None:
    data = cli("run", "primitives", "--threads", "7, 2,7", "--op", "refcount", "--json").json
    assert [point["threads"] for point in data["variants"][0]["points"]] == [2, 7]
    assert thread_counts("448,1", 448) == (1, 448)


def test_a_pair_is_simulated_instead_of_a_number_of_cpus() -> None:
    request = RunRequest(
        load_experiment("ping-pong"), load_machine("xeon-8176-8s"), 448,
        pairs=(Pair("llc", 3, 9),), variants=("cas",),
    )  # fmt: skip
    plan = plan_run(request)
    argv = point_argv(plan, plan.points[0])
    assert argv[argv.index("--pair") + 1] == "3,9"
    assert "--cpus" not in argv
    with pytest.raises(UserError, match="pairs of CPUs"):
        plan_run(replace(request, pairs=()))


def test_one_cpu_cannot_take_turns(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SIM", "alone")
    assert_user_error(cli("run", "ping-pong"), "has one CPU")


def run_real(cli: Cli, *args: str) -> Any:
    outcome = cli("run", *args, "--json")
    assert outcome.status == 0, outcome.err
    return json.loads(outcome.out)


@pytest.mark.long
def test_two_cpus_of_every_class_are_within_a_tenth(cli: Cli, real: Path) -> None:
    for variant in run_real(cli, "ping-pong")["variants"][:4]:
        assert variant["worst_error"] <= 0.10, variant["name"]
        assert len(variant["points"]) == 4


@pytest.mark.slow(reason="every machine is simulated")
def test_every_machine_has_a_pair_of_each_class(cli: Cli, real: Path) -> None:
    for name in preset_names():
        data = run_real(cli, "ping-pong", "--machine", name, "--op", "exchange")
        points = data["variants"][0]["points"]
        assert points, name
        assert len({point["class"] for point in points}) == len(points), name
        assert all(point["from"] != point["to"] for point in points), name


@pytest.mark.long
def test_pairs_of_a_cpu_are_all_others(cli: Cli, real: Path) -> None:
    args = ("ping-pong", "--machine", "xeon-8358-2s", "--op", "cas", "--from", "3")
    points = run_real(cli, *args)["variants"][0]["points"]
    assert [point["to"] for point in points] == [n for n in range(128) if n != 3]
    by_class = {name: {p["to"] for p in points if p["class"] == name} for name in ("smt", "llc")}
    assert by_class == {"smt": {67}, "llc": {*range(32), *range(64, 96)} - {3, 67}}
    outcome = cli("run", "ping-pong", "--machine", "xeon-8358-2s", "--from", "128")
    assert_user_error(outcome, "CPU 128", "128 CPUs")


@pytest.mark.long
def test_a_lock_is_held_by_one_and_a_read_lock_by_many(cli: Cli, real: Path) -> None:
    """A lock costs at least the time for which the others hold it."""
    ops = ("--op", "spinlock", "--op", "rwlock-read")
    result = run_real(cli, "primitives", "--threads", "8", "--hold", "2000", *ops)
    variants = result["variants"]
    ns = {v["name"]: v["points"][0]["ns_per_op"] for v in variants}
    assert ns["spinlock"] >= 8 * 2000
    assert 2000 <= ns["rwlock-read"] < 2 * 2000


@pytest.mark.long
def test_atomic_inc_is_one_of_the_primitives(cli: Cli, real: Path) -> None:
    alone = run_real(cli, "atomic-inc", "--threads", "1,64", "--variant", "atomic")
    among = run_real(cli, "primitives", "--threads", "1,64", "--op", "atomic-inc")
    a, b = ([p["ns_per_op"] for p in r["variants"][0]["points"]] for r in (alone, among))
    assert a == pytest.approx(b, rel=0.1)


def ns_of(data: dict[str, Any]) -> float:
    return float(data["variants"][0]["points"][0]["ns_per_op"])


@pytest.mark.long
def test_an_operation_is_done_on_every_object(cli: Cli, real: Path) -> None:
    words = ("run", "primitives", "--op", "atomic-inc", "--threads", "1", "--json")
    single, five = cli(*words).json, cli(*words, "--lines", "5").json
    assert five["objects"] == 5
    assert ns_of(five) == pytest.approx(5 * ns_of(single), rel=0.01)
    assert "published" not in five["variants"][0]["points"][0]


@pytest.mark.long
def test_a_line_whose_home_is_elsewhere_takes_longer(cli: Cli, real: Path) -> None:
    words = ("run", "ping-pong", "--op", "cas", "--machine", "epyc-9454-2s", "--json")
    classes = {
        home: {p["class"]: p["ns_per_op"] for p in cli(*words, *home).json["variants"][0]["points"]}
        for home in ((), ("--home", "0"), ("--home", "1"))
    }
    assert classes[()] == classes["--home", "0"]
    assert classes["--home", "1"]["node"] > 1.5 * classes[()]["node"]
    assert_user_error(cli(*words, "--home", "2"), "--home 2", "NUMA nodes 0 to 1")


@pytest.mark.long
def test_the_code_of_an_operation_takes_its_time(cli: Cli, real: Path) -> None:
    words = ("run", "primitives", "--op", "refcount", "--threads", "1", "--json", "--set")
    slow, fast = (
        cli(*words, f"instructions_per_cycle={rate}").json["variants"][0]["points"][0]
        for rate in (1, 1000000)
    )
    instructions = dict(load_experiment("primitives").variant("refcount").params)["instructions"]
    assert slow["cycles_per_op"] - fast["cycles_per_op"] == pytest.approx(instructions, abs=0.1)
