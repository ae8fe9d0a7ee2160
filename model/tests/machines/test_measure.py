# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests `machine measure` on this host, and on larger ones from a stand-in's output."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from cli.commands.machine import measure_command
from common.errors import UserError
from common.paths import topo_binary
from common.tool import run_json
from model.machines.hostfile import host_path
from model.machines.making.classes import CLASSES, kinds_of
from model.machines.making.document import validated
from model.machines.making.latencycsv import Matrix
from model.machines.making.measure import (
    Processor,
    foreign_homes,
    host_machine,
    measure_binary,
    read_processor,
)
from model.machines.making.sampling import PAIRS_PER_CLASS, distances, sample_pairs, spread
from model.machines.making.topology import Regular, Topology, from_tool, same
from model.machines.numbers import range_of, value_of
from model.machines.presets import load_machine
from model.machines.topo import label
from synthetic import COMPLEX_NS, latencies, shape

OPS_NS = {
    "cycle": 0.25, "load_hit": 1.0, "store": 0.25, "locked": 5.0, "fence": 5.0,
    "timestamp": 9.0, "memory": 95.0, "yield_switch": 700.0,
}  # fmt: skip


PROCESSOR = Processor("X")


def sampled(topology: Topology, matrix: Matrix) -> dict[str, Any]:
    """Return what schedshard-measure prints for the pairs that it samples."""
    index = {cpu: i for i, cpu in enumerate(topology.cpus)}
    pairs = [
        {"a": a, "b": b, "ns": float(matrix[index[a], index[b]])} for a, b in sample_pairs(topology)
    ]
    return {"cpu": 0, "samples": 5, "left_out": 0, "ops_ns": OPS_NS, "pairs": pairs, "homes": []}


def printed(topology: Topology, homes: list[float] | None = None) -> dict[str, Any]:
    """What schedshard-measure would print on a machine with this topology."""
    matrix = latencies(topology, COMPLEX_NS, 0.03, 1)
    pairs = [
        {"a": topology.cpus[j], "b": topology.cpus[i], "ns": float(matrix[i, j])}
        for i in range(len(topology.cpus))
        for j in range(i)
    ]
    entries = [{"a": 0, "b": 1, "home": 2, "ns": ns} for ns in homes or []]
    return {"cpu": 0, "samples": 5, "ops_ns": OPS_NS, "pairs": pairs, "homes": entries}


@pytest.mark.slow(reason="it measures this host")
def test_this_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    cpus = sorted(os.sched_getaffinity(0))[:2]
    result = CliRunner().invoke(measure_command, ["--samples", "2", "--cpus", label(cpus)])
    assert result.exception is None, result.output
    out = tmp_path / "data" / "schedshard" / "host.toml"
    assert host_path() == out
    machine = tomllib.loads(out.read_text(encoding="utf-8"))
    assert machine["name"] == "host"
    assert machine["kind"] == ("measured" if len(cpus) == 2 else "estimate")
    # With two samples beside other work, the costs may come in any order.
    assert all(machine["op_cycles"][op] > 0 for op in ("load_hit", "store", "locked", "fence"))
    assert machine["latency_ns"]["memory"] > 0
    live = from_tool(run_json([str(topo_binary()), "--live"]))
    assert same(from_tool({"cpus": load_machine(str(out)).cpus}), live)


def test_one_cpu_gives_estimates_and_says_so(tmp_path: Path) -> None:
    out = tmp_path / "one.toml"
    cpu = min(os.sched_getaffinity(0))
    result = CliRunner().invoke(
        measure_command, ["--samples", "1", "--cpus", str(cpu), "--out", str(out)]
    )
    assert result.exception is None, result.output
    assert "only one CPU was measured" in result.output
    machine = tomllib.loads(out.read_text(encoding="utf-8"))
    assert machine["kind"] == "estimate"
    for key in machine["latency_ns"]:
        text = machine["source"][f"latency_ns.{key}"]
        assert text.startswith("measured" if key == "memory" else "estimate")


def test_large_host() -> None:
    topology = shape(2, 4, 4, 2).expand()
    made = host_machine(topology, list(topology.cpus), printed(topology, [201.0, 203.0]), PROCESSOR)
    machine = tomllib.loads(made.text)
    assert machine["clock_ghz"] == 4.0
    assert machine["op_cycles"] == {
        "load_hit": 4, "store": 1, "locked": 20, "fence": 20, "timestamp": 36,
        "store_buffer": {"value": 64, "low": 40, "high": 112},
    }  # fmt: skip
    remote, far = machine["latency_ns"]["remote"], machine["latency_ns"]["home_remote"]
    assert value_of(remote) == pytest.approx(200, rel=0.02)
    assert range_of(remote) == pytest.approx((190.4, 210.1), rel=0.02)
    assert (value_of(far), range_of(far)) == (202, (201.1, 202.9))
    assert machine["latency_ns"]["memory"] == 95
    assert same(from_tool({"cpus": validated(made.text).cpus}), topology)
    assert any("700 ns" in note for note in made.notes)


def test_a_small_host_is_measured_whole() -> None:
    topology = shape(2, 1, 16, 2).expand()
    pairs = sample_pairs(topology)
    assert len(pairs) == len(set(pairs)) == 64 * 63 // 2
    assert sample_pairs(shape(1, 1, 1).expand()) == []


@pytest.mark.parametrize(
    ("form", "classes"),
    [
        (shape(2, 12, 8, 2, nodes=4), {"smt", "llc", "node", "package", "remote"}),
        (shape(8, 1, 28, 2), {"smt", "llc", "remote"}),
        (shape(1, 1, 192), {"llc"}),
        (shape(4, 32, 16, 2, nodes=4), {"smt", "llc", "node", "package", "remote"}),
        (shape(2, 1, 96, 2, nodes=3), {"smt", "llc", "remote"}),
    ],
)
def test_every_class_of_a_large_host_is_sampled(form: Regular, classes: set[str]) -> None:
    """Each class that occurs gets a few hundred pairs, or all if it has fewer."""
    topology = form.expand()
    pairs = sample_pairs(topology)
    index = {cpu: i for i, cpu in enumerate(topology.cpus)}
    rows, columns = (np.array([index[pair[side]] for pair in pairs]) for side in (0, 1))
    kinds = [CLASSES[kind] for kind in kinds_of(topology, rows, columns)]
    assert set(kinds) == classes
    for name in classes:
        most = PAIRS_PER_CLASS if name != "smt" else len(topology.cpus) // 2
        assert min(most, PAIRS_PER_CLASS) * 0.4 <= kinds.count(name) <= PAIRS_PER_CLASS
    # The first pairs cover all classes, in case time runs out; a second sample is the same.
    assert set(kinds[: len(classes)]) == classes
    assert sample_pairs(topology) == pairs


def test_distances_and_spread() -> None:
    assert distances(1) == []
    assert distances(2) == [1]
    assert distances(13) == [1, 2, 3, 4, 6, 8, 12]
    assert spread([5, 6, 7], 8) == [5, 6, 7]
    assert spread(range(10), 3) == [0, 3, 6]


def test_a_sample_shows_quadrants() -> None:
    """2 x 96 cores: 27 ns in an LLC, 90 in a quadrant of 3, 101 in a socket, 192 between them."""
    topology = shape(2, 12, 8, 2).expand()
    ns = {"smt": 10.0, "llc": 27.0, "node": 101.0, "remote": 192.0}
    matrix = latencies(topology, ns, 0.02, 3)
    quadrant = topology.llc // 3
    near = (quadrant[:, None] == quadrant[None, :]) & (matrix > 80.0)
    made = host_machine(
        topology,
        list(topology.cpus),
        sampled(topology, np.where(near, matrix * 0.9, matrix)),
        PROCESSOR,
    )
    machine = validated(made.text).data
    (tier,) = machine["tier"]
    assert (tier["name"], tier["llcs"]) == ("llcs-3", 3)
    assert value_of(tier["ns"]) == pytest.approx(90.9, rel=0.01)
    for key, want in ns.items():
        assert value_of(machine["latency_ns"][key]) == pytest.approx(want, rel=0.01)
    low, high = range_of(tier["ns"]) or (0, 0)
    assert 86 < low < 90 < high < 95
    assert "pairs lie nearest" in made.facts.source["topology"]
    assert same(from_tool({"cpus": validated(made.text).cpus}), topology)


def test_a_sample_shows_pairs_of_cores_and_boards() -> None:
    topology = shape(8, 1, 64).expand()
    matrix = latencies(topology, {"llc": 150.0, "remote": 300.0}, 0.03, 4)
    core, package = topology.core, topology.package
    cluster = core[:, None] // 2 == core[None, :] // 2
    board = package[:, None] // 4 == package[None, :] // 4
    matrix = np.where(cluster, matrix * 0.5, np.where(board & (matrix > 220), matrix * 0.7, matrix))
    made = host_machine(topology, list(topology.cpus), sampled(topology, matrix), PROCESSOR)
    tiers = validated(made.text).data["tier"]
    assert [tier["name"] for tier in tiers] == ["cores-2", "packages-4"]
    assert [value_of(tier["ns"]) for tier in tiers] == pytest.approx([75, 210], rel=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_a_sample_shows_no_tier_where_there_is_none(seed: int) -> None:
    topology = shape(2, 8, 8, 2).expand()
    matrix = latencies(topology, COMPLEX_NS, 0.08, seed)
    made = host_machine(topology, list(topology.cpus), sampled(topology, matrix), PROCESSOR)
    assert made.facts.tiers == []


def test_when_time_is_up() -> None:
    topology = shape(2, 4, 8, 2).expand()
    whole = sampled(topology, latencies(topology, COMPLEX_NS, 0.02, 1))
    part = {**whole, "pairs": whole["pairs"][:60], "left_out": len(whole["pairs"]) - 60}
    made = host_machine(topology, list(topology.cpus), part, PROCESSOR)
    assert any(f"of {len(whole['pairs'])} pairs were left out" in note for note in made.notes)
    for key in ("smt", "llc", "node", "remote"):
        assert made.facts.latency_ns[key] == pytest.approx(COMPLEX_NS[key], rel=0.05)


def test_the_tool_stops_when_time_is_up() -> None:
    """No machine does millions of transfers for each of 5,000 pairs in a second."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    pairs = ",".join([f"{cpus[0]}:{cpus[1]}"] * 5000)
    done = subprocess.run(
        [measure_binary(), "--cpus", label(cpus), "--samples", "10000", "--limit", "1",
         "--pairs", pairs],
        capture_output=True, check=True,
    )  # fmt: skip
    result = json.loads(done.stdout)
    assert result["left_out"] > 0
    assert len(result["pairs"]) + result["left_out"] == 5000
    assert all(pair["ns"] > 0 for pair in result["pairs"])
    assert all(result["ops_ns"][op] > 0 for op in ("cycle", "load_hit", "locked", "memory"))


def test_a_host_that_states_a_wrong_topology() -> None:
    """Like some virtual machines, the host states one LLC, but its CPUs run in four."""
    stated = shape(1, 1, 16).expand()
    made = host_machine(stated, list(stated.cpus), printed(shape(1, 4, 4).expand()), PROCESSOR)
    assert any(
        "disagreement: the latencies fit 1 package x 4 LLCs x 4 cores" in note
        for note in made.notes
    )
    assert made.evidence is not None
    assert made.facts.topology.count("llc") == 1


def test_a_virtual_machine_is_told_apart() -> None:
    info = "processor : 0\nmodel name : Some \x01CPU\nflags : fpu hypervisor\n\nprocessor : 1\n"
    assert read_processor(info) == Processor("Some ?CPU", virtual=True)
    assert read_processor("flags : fpu\n") == Processor("unknown processor")
    topology = shape(1, 1, 4).expand()
    made = host_machine(topology, [0, 1, 2, 3], printed(topology), Processor("X", virtual=True))
    assert "a virtual machine" in made.facts.source["topology"]


def test_some_cpus_of_a_host() -> None:
    topology = shape(2, 2, 4).expand()
    part = topology.restrict([0, 4, 8, 12])
    made = host_machine(topology, [0, 4, 8, 12], printed(part), PROCESSOR)
    assert same(from_tool({"cpus": validated(made.text).cpus}), topology)
    assert made.facts.source["latency_ns.llc"].startswith("estimate")
    assert any("CPUs 1-3,5-7,9-11,13-15 were not measured" in note for note in made.notes)


def test_lines_at_home_elsewhere() -> None:
    for a, b, home in foreign_homes(shape(2, 8, 4, 2).expand()):
        assert (a // 32 % 2, b // 32 % 2) != (home // 32 % 2,) * 2
        assert a // 32 % 2 == b // 32 % 2
        assert a // 4 != b // 4
    assert len(foreign_homes(shape(2, 8, 4, 2).expand())) == 16
    assert foreign_homes(shape(2, 1, 4).expand()) == []
    assert foreign_homes(shape(1, 8, 4).expand()) == []


def test_bad_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out.toml"

    def message(*args: str) -> str:
        result = CliRunner().invoke(measure_command, list(args))
        assert isinstance(result.exception, UserError), result.output
        return str(result.exception)

    assert "may not use 60000" in message("--cpus", "60000", "--out", str(out))
    assert "not a CPU list" in message("--cpus", "a", "--out", str(out))
    assert "not a range" in message("--cpus", "3-1", "--out", str(out))
    assert "no directory" in message("--out", str(tmp_path / "none" / "x.toml"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file" / "x"))
    (tmp_path / "file").write_text("", encoding="ascii")
    assert "cannot create" in message()
    assert not out.exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "give the CPUs to measure: --cpus LIST"),
        (["--cpus", "0-"], '--cpus: "0-"'),
        (["--cpus", "0", "--samples", "0"], "give a whole number from 1 to 10000"),
        (["--cpus", "0", "--samples", "5x"], "give a whole number from 1 to 10000"),
        (["--cpus", "0", "--home", "1:2"], "CPU numbers as A:B@H are needed"),
        (["--cpus", "0", "--home", "1:1@0"], "two different CPUs are needed"),
        (["--cpus", "0", "--home", "1:9999@0"], "CPU numbers must be at most"),
        (["--cpus", "0", "--pairs", "0:1,"], "CPU numbers as A:B,A:B are needed"),
        (["--cpus", "0", "--pairs", "3:3"], "two different CPUs below 8192 are needed"),
        (["--cpus", "0", "--pairs", ""], "name at least one pair"),
        (["--cpus", "0", "--limit", "0"], "give a whole number from 1 to 86400"),
        (["--cpus", "8000-8001"], "no such CPU, or this process may not use it"),
    ],
)
def test_the_tool_refuses(args: list[str], message: str) -> None:
    done = subprocess.run([measure_binary(), *args], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[0]
    assert done.stdout == ""


def test_a_tool_that_prints_nonsense() -> None:
    topology = shape(1, 1, 2).expand()
    nonsense: list[Any] = [{}, {"ops_ns": []}, {**printed(topology), "pairs": [{"a": 0}]}, []]
    for result in nonsense:
        with pytest.raises(UserError, match="printed no measurements"):
            host_machine(topology, [0, 1], result, PROCESSOR)
