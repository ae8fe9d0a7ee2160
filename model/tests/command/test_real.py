# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests with the real tools that Python and C agree, and that results are right."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from common.paths import MACHINES
from common.tool import run_json
from conftest import Cli
from html_page import read_page
from model.machines.presets import load_machine, machine_topology
from model.run.experiment import experiment_names, load_experiment
from model.run.run import RunRequest, plan_run, point_argv
from model.run.sweep.file import read_rows


def test_experiment_files_agree_with_the_simulator(real: Path) -> None:
    listed = {
        entry["name"]: entry
        for entry in run_json([str(real / "model" / "experiments" / "schedshard-sim"), "--list"])
    }
    assert set(listed) == set(experiment_names())
    for name, entry in listed.items():
        experiment = load_experiment(name)
        assert sorted(v.name for v in experiment.variants) == sorted(entry["variants"])
        assert {param.name for param in experiment.params} == set(entry["params"])


@pytest.mark.slow(reason="each experiment runs twice")
@pytest.mark.parametrize("experiment", ["cpumask-yield", "atomic-inc", "idle-mask"])
def test_same_seed_same_result(cli: Cli, real: Path, experiment: str) -> None:
    args = ("run", experiment, "--json", "--cpus", "12", "--machine", "epyc-9454-2s")
    results = []
    for seed in ("3", "3", "4"):
        data = cli(*args, "--seed", seed).json
        del data["simulator"]["seconds"]
        data["provenance"].pop("seed")
        data["provenance"].pop("commit")  # a commit may come in between
        results.append(data)
    assert results[0] == results[1]
    if experiment != "atomic-inc":  # its body draws no random numbers
        assert results[0] != results[2]


@pytest.mark.long
def test_yield_experiment_is_inside_its_bands_or_says_why(cli: Cli, real: Path) -> None:
    data = cli("run", "cpumask-yield", "--json").json
    judged = [variant for variant in data["variants"] if "accepted" in variant]
    assert [variant["name"] for variant in judged] == ["node", "llc", "llc-byte"]
    for variant in judged:
        assert variant["accepted"] or variant.get("lacks"), variant["name"]


@pytest.mark.long
def test_calibration_curve_is_inside_its_band(cli: Cli, real: Path) -> None:
    atomic = cli("run", "atomic-inc", "--json", "--variant", "atomic").json["variants"][0]
    assert atomic["median_error"] <= 0.15
    assert atomic["worst_error"] <= 0.35
    assert atomic["accepted"]


def test_c2c_names_functions_and_sources(cli: Cli, real: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    assert cli("run", "cpumask-yield", "--cpus", "32", "--out", path).status == 0
    report = cli("record", "show", path, "--json", "--variant", "sbm").json
    assert report["names_resolved"]
    accesses = [a for line in report["variants"][0]["lines"] for a in line["accesses"]]
    symbols = {access["symbol"].split(" < ")[0] for access in accesses}
    assert {"sbm_set", "sbm_clear"} <= symbols
    assert all(access["source"].startswith("core/sbm.h:") for access in accesses)
    assert all(access["field"] for access in accesses)


@pytest.mark.long
def test_rt_experiment_names_the_fields_of_the_published_lines(
    cli: Cli, real: Path, tmp_path: Path
) -> None:
    path, page = tmp_path / "r.json", tmp_path / "p.html"
    args = ("--machine", "epyc-7763-2s", "--cpus", "16", "--variant", "stock", "--variant", "shard")
    assert cli("run", "ffmpeg-rt", *args, "--out", path).status == 0
    data = json.loads(path.read_text())
    stock, shard = data["variants"]
    fields = {
        line["line"]: {field["field"] for field in line["fields"]}
        for line in stock["lines"]
        if line["object"] == "root_domain"
    }
    assert {"rto_mask", "cpupri.pri_to_cpu[0].count"} <= fields[3]
    assert {"rto_count", "overloaded"} <= fields[1]
    for variant in (stock, shard):
        assert 0 < variant["kernel_share"] < 1
        assert variant["map_bytes"] > 0
    assert cli("report", path, "--out", page).status == 0
    assert "root_domain line" in read_page(page)


@pytest.mark.slow(reason="the simulation of a whole machine")
def test_the_nohz_idle_set_under_both_loads(cli: Cli, real: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    args = ("--machine", "epyc-7763-2s", "--cpus", "16", "--variant", "stock", "--variant",
            "sbm-wrap", "--out", path)  # fmt: skip
    assert cli("run", "idle-mask", *args).status == 0
    stock, sharded = json.loads(path.read_text())["variants"]
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
    report = cli("record", "show", path, "--json", "--variant", "stock").json
    lines = report["variants"][0]["lines"]
    assert "channel" not in {line["object"] for line in lines}
    nohz = next(line for line in lines if line["object"] == "nohz")
    fields = {access["field"] for access in nohz["accesses"]}
    assert {"nr_cpus", "has_blocked", "next_balance"} <= fields
    assert any("stock_enter" in access["symbol"] for access in nohz["accesses"])


@pytest.mark.long
def test_figures_are_what_the_simulator_reports(real: Path) -> None:
    machine = load_machine("epyc-7763-2s")
    for name in experiment_names():
        experiment = load_experiment(name)
        if experiment.metrics:
            request = RunRequest(experiment, machine, 256, 16, variants=(experiment.baseline,))
            plan = plan_run(request)
            raw = run_json(point_argv(plan, plan.points[0]))
            assert {metric.reported for metric in experiment.metrics} <= set(raw["metrics"]), name


def test_shard_size_reaches_the_structures(cli: Cli, real: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    args = ("--machine", "epyc-7763-2s", "--variant", "sbm", "--cap", "64", "--cap", "2")
    outcome = cli("sweep", "--experiment", "cpumask-yield", *args, "--seeds", "2", "--out", path)
    assert outcome.status == 0, outcome.err
    rows = read_rows(path)
    assert {(row["cap"], row["bytes"]) for row in rows} == {(64, 16 * 64), (2, 128 * 64)}
    cost = {cap: [r["cycles_per_op"] for r in rows if r["cap"] == cap] for cap in (2, 64)}
    assert max(cost[2]) < min(cost[64])


@pytest.mark.parametrize("name", sorted(path.stem for path in MACHINES.glob("*.toml")))
def test_topology_and_plan_of_every_preset(real: Path, name: str) -> None:
    data = machine_topology(load_machine(name))
    planned = [cpu for shard in data["plan"]["shards"] for cpu in shard["cpus"]]
    assert sorted(planned) == sorted(cpu["cpu"] for cpu in data["cpus"])
    assert max(len(shard["cpus"]) for shard in data["plan"]["shards"]) <= 64


def test_two_cpus_take_turns_on_every_machine(cli: Cli, real: Path, tmp_path: Path) -> None:
    """Regression: on machines whose stores are forwarded in no time, 'read-store' never ended."""
    sim = real / "model" / "experiments" / "schedshard-sim"
    for name in (entry["name"] for entry in cli("machine", "list", "--json").json["machines"]):
        words = ("--pair", "0,1", "--param", "warm_up_ops=1", "--param", "measured_ops=2",
                 "--param", "home=0")  # fmt: skip
        machine = load_machine(name).flat
        done = subprocess.run(
            [sim, "ping-pong", "--machine", machine, "--variant", "read-store", *words],
            capture_output=True, timeout=60, check=True,
        )  # fmt: skip
        assert json.loads(done.stdout)["metrics"]["ns_per_op"] > 0, name
