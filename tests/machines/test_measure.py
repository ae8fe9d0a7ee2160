# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`machine measure`: on this host for real, on larger ones from what the tool would print."""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from schedshard.errors import UserError
from schedshard.machines.commands import measure_command
from schedshard.machines.document import validated
from schedshard.machines.hostfile import host_path
from schedshard.machines.measure import (
    Processor,
    foreign_homes,
    host_machine,
    measure_binary,
    read_processor,
)
from schedshard.machines.topology import Topology, cpu_list, from_tool, same
from schedshard.paths import topo_binary
from schedshard.tool import run_json
from synthetic import COMPLEX_NS, latencies, shape

OPS_NS = {
    "cycle": 0.25, "load_hit": 1.0, "store": 0.25, "locked": 5.0, "fence": 5.0,
    "timestamp": 9.0, "memory": 95.0, "yield_switch": 700.0,
}  # fmt: skip


PROCESSOR = Processor("X")


def printed(topology: Topology, homes: list[float] | None = None) -> dict[str, Any]:
    """What schedshard-measure would print on such a machine."""
    matrix = latencies(topology, COMPLEX_NS, 0.03, 1)
    pairs = [
        {"a": topology.cpus[j], "b": topology.cpus[i], "ns": float(matrix[i, j])}
        for i in range(len(topology.cpus))
        for j in range(i)
    ]
    found = [{"a": 0, "b": 1, "home": 2, "ns": ns} for ns in homes or []]
    return {"cpu": 0, "samples": 5, "ops_ns": OPS_NS, "pairs": pairs, "homes": found}


def test_this_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    cpus = sorted(os.sched_getaffinity(0))[:2]
    result = CliRunner().invoke(measure_command, ["--samples", "2", "--cpus", cpu_list(cpus)])
    assert result.exception is None, result.output
    out = tmp_path / "data" / "schedshard" / "host.toml"
    assert host_path() == out
    machine = tomllib.loads(out.read_text(encoding="utf-8"))
    assert machine["name"] == "host"
    assert machine["kind"] == ("measured" if len(cpus) == 2 else "estimate")
    # How they compare is the host's business: with two samples beside other work anything goes.
    assert all(machine["op_cycles"][op] > 0 for op in ("load_hit", "store", "locked", "fence"))
    assert machine["latency_ns"]["memory"] > 0
    live = from_tool(run_json([str(topo_binary()), "--live"]))
    assert same(from_tool(run_json([str(topo_binary()), "--machine", str(out)])), live)


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
        "load_hit": 4, "store": 1, "locked": 20, "fence": 20, "store_buffer": 64, "timestamp": 36
    }  # fmt: skip
    assert machine["latency_ns"]["remote"] == pytest.approx(200, rel=0.02)
    assert machine["latency_ns"]["home_remote"] == 202
    assert machine["latency_ns"]["memory"] == 95
    assert same(from_tool(validated(made.text)), topology)
    assert any("700 ns" in note for note in made.notes)


def test_a_host_that_states_a_wrong_topology() -> None:
    """Virtual machines do: all CPUs in one LLC, while they run in four."""
    stated = shape(1, 1, 16).expand()
    made = host_machine(stated, list(stated.cpus), printed(shape(1, 4, 4).expand()), PROCESSOR)
    assert any("disagreement: 1 groups by llc" in note for note in made.notes)
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
    assert same(from_tool(validated(made.text)), topology)
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
    assert "no CPU list" in message("--cpus", "a", "--out", str(out))
    assert "no range" in message("--cpus", "3-1", "--out", str(out))
    assert "no directory" in message("--out", str(tmp_path / "none" / "x.toml"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file" / "x"))
    (tmp_path / "file").write_text("", encoding="ascii")
    assert "cannot create" in message()
    assert not out.exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "--cpus LIST is needed"),
        (["--cpus", "0-"], '--cpus: "0-"'),
        (["--cpus", "0", "--samples", "0"], "a number from 1 to 10000"),
        (["--cpus", "0", "--samples", "5x"], "a number from 1 to 10000"),
        (["--cpus", "0", "--home", "1:2"], "CPU numbers as A:B@H are needed"),
        (["--cpus", "0", "--home", "1:1@0"], "two different CPUs are needed"),
        (["--cpus", "0", "--home", "1:9999@0"], "CPU numbers end at"),
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
