# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the verbs bench primitives and bench ping-pong, and which CPUs they may take."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.errors import UserError
from common.tool import run_json
from conftest import Cli, assert_user_error
from model.live import cpus as live_cpus
from model.live.cpus import Allowed, allowed_cpus, check_cpu, cpu_quota, placed, thread_counts
from model.live.host import kernel_version, pairs_by_class
from model.machines.making.topology import Topology, from_tool
from model.machines.presets import load_machine, machine_topology
from model.run.experiment import load_experiment
from model.run.run import Point, RunPlan, RunRequest, execute
from synthetic import shape

ROUND = {"ns_per_op", "min", "max", "low", "high", "rounds", "disturbed", "all_disturbed"}


@pytest.fixture(autouse=True)
def _two_cpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A host of CPUs 0 and 1, as the stand-in for the topology reader says, without a quota."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(live_cpus, "OWN_CGROUPS", tmp_path / "no-cgroup")
    monkeypatch.delenv("FAKE_LIVE", raising=False)


def test_primitives_json_has_the_promised_shape(cli: Cli) -> None:
    data = cli("bench", "primitives", "--json").json
    experiment = load_experiment("primitives")
    assert [v["name"] for v in data["variants"]] == [v.name for v in experiment.variants]
    assert data["label"] == "measured"
    assert (data["order"], data["placement"], data["hold_ns"]) == ([0, 1], "os", 0.0)
    for variant in data["variants"]:
        assert [point["threads"] for point in variant["points"]] == [1, 2]
        for point in variant["points"]:
            assert point.keys() == ROUND | {"threads", "metrics"}
            assert point["min"] <= point["ns_per_op"] <= point["max"]
    assert data["host"].keys() == {"cpu", "virtual", "arch", "kernel", "cpus_allowed", "compiler"}
    assert data["machine_file"] is None


def test_one_cpu(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {1})
    outcome = cli("bench", "ping-pong")
    assert_user_error(outcome, "needs two CPUs", "this process may use 1")
    data = cli("bench", "primitives", "--json").json
    assert data["order"] == [1]
    assert {point["threads"] for v in data["variants"] for point in v["points"]} == {1}
    assert_user_error(cli("bench", "primitives", "--threads", "2"), "this process may use 1")
    assert_user_error(cli("bench", "ping-pong", "--from", "0"), "may not use that CPU")


@pytest.mark.parametrize(
    ("mode", "status", "word"),
    [
        ("refuse", 1, "CPU 1 went offline"),
        ("garbage", 1, "did not print complete JSON"),
        ("zero", 1, "took no time"),
        ("nothing", 1, "longer --limit"),
    ],
)
def test_a_tool_that_fails(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str, status: int, word: str
) -> None:
    monkeypatch.setenv("FAKE_LIVE", mode)
    out = tmp_path / "r.json"
    assert_user_error(cli("bench", "primitives", "--out", out), word, status=status)
    assert not out.exists()


def test_what_is_left_out_is_said(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_LIVE", "late")
    outcome = cli("bench", "primitives", "--op", "spinlock", "--op", "refcount")
    assert outcome.status == 0
    assert "3 points" in outcome.out
    assert "spinlock" not in outcome.out
    monkeypatch.setenv("FAKE_LIVE", "busy")
    assert "2 of 2 points" in cli("bench", "primitives", "--op", "spinlock").out


def test_a_measurement_is_compared(cli: Cli, tmp_path: Path) -> None:
    measured, other = tmp_path / "m.json", tmp_path / "o.json"
    assert cli("bench", "primitives", "--out", measured).status == 0
    double = json.loads(measured.read_text())
    for variant in double["variants"]:
        for point in variant["points"]:
            point["metrics"]["ns_per_op"] *= 2
    other.write_text(json.dumps(double))
    assert "+100.0%" in cli("compare", measured, other).out


def topology() -> Topology:
    return shape(1, 2, 4, threads=2).expand()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("groups", "files", "quota"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n"}, None),
        ("0::/a/b\n", {"a/b/cpu.max": "250000 100000\n"}, 2.5),
        ("0::/a/b\n", {"a/b/cpu.max": "900000 100000\n", "a/cpu.max": "300000 100000\n"}, 3.0),
        ("0::/\n", {"cpu.max": "50000 100000\n"}, 0.5),
        ("4:cpu,cpuacct:/x\n0::/\n",
         {"cpu,cpuacct/x/cpu.cfs_quota_us": "400000", "cpu,cpuacct/x/cpu.cfs_period_us": "100000"},
         4.0),
        ("4:cpu:/x\n",
         {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"}, None),
        ("4:cpuset:/x\n", {"cpuset/x/cpu.max": "100000 100000"}, None),
        ("0::/gone\n", {}, None),
        ("rubbish\n", {}, None),
        ("0::/a\n", {"a/cpu.max": "1 0\n"}, None),
    ],
)  # fmt: skip
def test_quotas_of_control_groups(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, groups: str, files: dict[str, str],
    quota: float | None,
) -> None:  # fmt: skip
    write(tmp_path / "self", groups)
    for name, text in files.items():
        write(tmp_path / "fs" / name, text)
    monkeypatch.setattr(live_cpus, "OWN_CGROUPS", tmp_path / "self")
    monkeypatch.setattr(live_cpus, "CGROUPS", tmp_path / "fs")
    assert cpu_quota() == quota


def test_a_quota_limits_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)))
    monkeypatch.setattr(live_cpus, "cpu_quota", lambda: 2.5)
    allowed = allowed_cpus(topology())
    assert (len(allowed.cpus), allowed.most) == (16, 2)
    assert thread_counts(None, allowed) == (1, 2)
    with pytest.raises(UserError, match=r"3 is not in 1 to 2: a control group .* 2\.5 CPUs"):
        thread_counts("1,3", allowed)
    monkeypatch.setattr(live_cpus, "cpu_quota", lambda: 16.0)
    assert allowed_cpus(topology()).most == 16


def test_why_a_cpu_cannot_be_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    online = tmp_path / "online"
    online.write_text("0-6,8-15\n")
    monkeypatch.setattr(live_cpus, "ONLINE", online)
    allowed = Allowed((0, 1, 2), 3, "")
    check_cpu(2, "--from", allowed, topology())
    for cpu, words in ((16, "no such CPU"), (7, "offline"), (8, "may not use that CPU")):
        with pytest.raises(UserError, match=words):
            check_cpu(cpu, "--from", allowed, topology())


@pytest.mark.parametrize("name", ["epyc-7763-2s", "xeon-480-snc", "altra-max-2s"])
@pytest.mark.parametrize("placement", ["os", "compact", "scatter"])
def test_placements_are_the_simulators(real: Path, name: str, placement: str) -> None:
    """A run on CPUs given by number equals the run on the same CPUs given by placement."""
    experiment, machine = load_experiment("primitives"), load_machine(name)
    where = from_tool(machine_topology(machine))
    cpus = len(where.cpus)
    order = placed(Allowed(where.cpus, cpus, ""), where, placement)
    assert sorted(order) == list(where.cpus)
    request = RunRequest(experiment, machine, cpus, placement=placement)
    variant = experiment.variant("rwsem-read")
    points = [Point(variant, n) for n in (3, 9)]
    points += [Point(variant, n, on=order[:n]) for n in (3, 9)]
    raws = execute(RunPlan(request, cpus, tuple(points)))
    metrics = [raw["metrics"] for raw in raws]
    assert metrics[:2] == metrics[2:]


def test_pairs_of_every_class(real: Path) -> None:
    machine = load_machine("xeon-8176-8s")
    where = from_tool(machine_topology(machine))
    classes = ["smt", "llc", "board", "remote"]
    pairs = pairs_by_class(machine, where.cpus, 1)
    assert [(pair.latency_class, pair.first) for pair in pairs] == [(name, 0) for name in classes]
    several = pairs_by_class(machine, where.cpus, 3)
    assert [pair.latency_class for pair in several] == [c for c in classes for _ in range(3)]
    assert len({frozenset((pair.first, pair.second)) for pair in several}) == 12
    # CPU 0 has neither its sibling nor its socket here, others do.
    few = (0, 30, 31, 254, 255, 400)
    few_pairs = pairs_by_class(machine, few, 1)
    assert [pair.latency_class for pair in few_pairs] == classes
    assert all({pair.first, pair.second} <= set(few) for pair in few_pairs)


@pytest.mark.parametrize(
    ("release", "shown"),
    [("6.12.43+deb12-amd64", "6.12.43"), ("6.1-ann", "6.1"), ("6.18.0-rc1-bob", "6.18.0"),
     ("linux", "unknown")],
)  # fmt: skip
def test_a_kernels_version_names_nobody(release: str, shown: str) -> None:
    assert kernel_version(release) == shown


def test_operations_are_those_of_the_tool(real: Path) -> None:
    listed: dict[str, Any] = run_json([str(real / "bench" / "schedshard-live"), "--list"])
    for name in ("ping-pong", "primitives"):
        experiment = load_experiment(name)
        assert [v.name for v in experiment.variants] == [entry["name"] for entry in listed[name]]
    holds = {entry["name"] for entry in listed["primitives"] if entry["holds"]}
    assert {v.name for v in load_experiment("primitives").variants if v.hold} == holds


def test_this_host(cli: Cli, real: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time is present and positive; its value depends on the host."""
    monkeypatch.undo()
    monkeypatch.setenv("SCHEDSHARD_BUILD", str(real))
    monkeypatch.setenv("XDG_DATA_HOME", "/nonexistent")
    cpus = len(os.sched_getaffinity(0))
    args = ("bench", "primitives", "--op", "rwsem-read", "--threads", "1", "--limit", "5", "--json")
    (variant,) = cli(*args).json["variants"]
    assert variant["points"][0]["ns_per_op"] > 0
    if cpus < 2:
        pytest.skip("ping-pong needs two CPUs")
    data = cli("bench", "ping-pong", "--op", "cas", "--limit", "5", "--json").json
    (point, *_) = data["variants"][0]["points"]
    assert point["low"] <= point["ns_per_op"] <= point["high"]
    assert np.isfinite(point["ns_per_op"])
