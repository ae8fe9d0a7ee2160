# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`machine import` from file to file: the written machine is the one of the table."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.commands.machine import import_command
from common.errors import UserError
from model.machines.making.document import machine_name, machine_toml, validated
from model.machines.making.importer import Imported, ImportRequest, import_machine
from model.machines.making.topology import Topology, from_tool, make_topology, same
from model.machines.numbers import number_nodes, range_of, source_of, value_of
from model.machines.presets import load_machine
from synthetic import COMPLEX_NS, MESH_NS, latencies, renumbered, shape, to_csv, to_hwloc_xml


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(import_command, [str(arg) for arg in args])


def failure(*args: str | Path) -> str:
    result = run(*args)
    assert isinstance(result.exception, UserError), result.output
    assert result.exception.status == 2
    assert "\n" not in str(result.exception)
    return str(result.exception)


def write(path: Path, topology: Topology, ns: dict[str, float], labels: bool = False) -> Path:
    matrix = latencies(topology, ns, 0.03, 1)
    path.write_text(to_csv(matrix, labels=topology.cpus if labels else None), encoding="ascii")
    return path


def topology_of(made: Imported) -> Topology:
    return from_tool({"cpus": validated(made.text).cpus})


def test_regular_machine(tmp_path: Path) -> None:
    want = shape(2, 8, 8, 2).expand()
    csv = write(tmp_path / "Two-Sockets@2.45GHz.csv", want, COMPLEX_NS)
    out = tmp_path / "two.toml"
    result = run(csv, "--out", out, "--name", "Two Sockets")
    assert result.exception is None
    machine = tomllib.loads(out.read_text(encoding="utf-8"))
    assert machine["topology"] == {
        "packages": 2, "nodes_per_package": 1, "llcs_per_node": 8, "cores_per_llc": 8,
        "threads_per_core": 2, "cores_per_l2": 1, "numbering": "threads-last",
    }  # fmt: skip
    assert machine["name"] == "two-sockets"
    assert machine["clock_ghz"] == 2.45
    for key, want_ns in (("smt", 10), ("llc", 25), ("node", 105), ("remote", 200)):
        node = machine["latency_ns"][key]
        assert value_of(node) == pytest.approx(want_ns, rel=0.02)
        # 5th and 95th percentile of a spread of 3%
        assert range_of(node) == pytest.approx((want_ns * 0.952, want_ns * 1.051), rel=0.02)
    assert "tier" not in machine
    assert "home_remote" not in machine["latency_ns"]
    assert "llc clear (16 groups" in machine["source"]["topology"]
    assert machine["source"]["op_cycles.locked"].startswith("estimate, 8 to 27: ")
    assert range_of(machine["op_cycles"]["locked"]) == (8, 27)
    read = from_tool({"cpus": load_machine(str(out)).cpus})
    assert same(read, want)
    assert "256 CPUs, 2 packages, 2 nodes, 16 LLCs, 128 cores" in result.output


def test_tiers_are_written_and_read(tmp_path: Path) -> None:
    """Eight sockets on two boards, with two cores to an L2."""
    want = shape(8, 1, 8).expand()
    matrix = latencies(want, MESH_NS, 0.02, 1)
    other = want.package[:, None] // 4 != want.package[None, :] // 4
    near = want.core[:, None] // 2 == want.core[None, :] // 2
    matrix = np.where(other, matrix * 2.0, np.where(near, matrix * 0.5, matrix))
    csv = tmp_path / "boards.csv"
    csv.write_text(to_csv(matrix), encoding="ascii")
    out = tmp_path / "boards.toml"
    result = run(csv, "--out", out)
    assert result.exception is None, result.output
    read = validated(out.read_text(encoding="utf-8")).data
    assert [tier["name"] for tier in read["tier"]] == ["l2", "packages-4"]
    assert (read["tier"][0]["cores"], read["tier"][1]["packages"]) == (2, 4)
    assert [value_of(tier["ns"]) for tier in read["tier"]] == pytest.approx([25.5, 110.0], rel=0.03)
    assert value_of(read["latency_ns"]["llc"]) == pytest.approx(51, rel=0.02)
    assert value_of(read["latency_ns"]["remote"]) == pytest.approx(220, rel=0.02)
    machine = tomllib.loads(out.read_text(encoding="utf-8"))
    assert "256 pairs inside groups of 4 packages" not in machine["source"]["tier.packages-4"]
    assert "768 pairs inside groups of 4 packages" in machine["source"]["tier.packages-4"]
    assert "4 packages" in result.output


def test_a_guess_has_a_range_in_a_file_that_is_made(tmp_path: Path) -> None:
    """The table covers only one LLC, so all other latencies are guesses."""
    csv = write(tmp_path / "a.csv", shape(1, 1, 4).expand(), MESH_NS)
    xml = tmp_path / "machine.xml"
    xml.write_text(to_hwloc_xml(shape(2, 2, 4, 2, nodes=2).expand()), encoding="ascii")
    machine = tomllib.loads(import_machine(ImportRequest(csv, hwloc_xml=xml)).text)
    guesses = 0
    for key, node in number_nodes(machine):
        source, limits = source_of(key, machine["source"]), range_of(node, key)
        if source.startswith("estimate"):
            guesses += 1
            assert limits is not None, key
            assert limits.low < value_of(node, key) <= limits.high or key == "op_cycles.load_hit"
            assert source.startswith(f"estimate, {limits.low:g} to {limits.high:g}: ")
    assert guesses == 11


def test_without_out_the_machine_goes_to_stdout(tmp_path: Path) -> None:
    result = run(write(tmp_path / "a.csv", shape(2, 1, 4).expand(), MESH_NS), "--clock-ghz", "3")
    assert tomllib.loads(result.stdout)["clock_ghz"] == 3
    assert "8 CPUs" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv"]


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_irregular_numbering_survives_the_file(tmp_path: Path, data: st.DataObject) -> None:
    base = shape(2, 3, 3, data.draw(st.integers(1, 2))).expand()
    count = len(base.cpus)
    cpus = data.draw(st.permutations(range(count * 2)))[:count]
    want = renumbered(base, cpus)
    made = import_machine(ImportRequest(write(tmp_path / "a.csv", want, COMPLEX_NS, labels=True)))
    assert same(topology_of(made), want)


def test_unequal_llcs_are_written_out(tmp_path: Path) -> None:
    """A machine with one core complex of 2 cores among those of 4."""
    llc = np.array([0] * 4 + [1] * 4 + [2] * 2 + [3] * 4)
    package = np.zeros(14, dtype=np.int64)
    core = np.arange(14)
    want = make_topology(
        range(14), {"package": package, "node": package, "llc": llc, "l2": core, "core": core}
    )
    made = import_machine(ImportRequest(write(tmp_path / "a.csv", want, COMPLEX_NS)))
    assert made.text.count("[[topology.llc]]") == 4
    assert same(topology_of(made), want)


def test_hwloc_file_gives_the_nodes(tmp_path: Path) -> None:
    """Latencies show no nodes inside the packages, but firmware made two per package."""
    want = shape(2, 4, 4, 2, nodes=2).expand()
    xml = tmp_path / "machine.xml"
    xml.write_text(to_hwloc_xml(want), encoding="ascii")
    csv = write(tmp_path / "a.csv", want, COMPLEX_NS)
    made = import_machine(ImportRequest(csv, hwloc_xml=xml))
    assert same(topology_of(made), want)
    assert not [note for note in made.notes if "disagreement" in note]
    assert made.facts.topology.count("node") == 4
    assert import_machine(ImportRequest(csv)).facts.topology.count("node") == 2


def test_hwloc_file_that_disagrees_is_reported(tmp_path: Path) -> None:
    truth = shape(1, 4, 4).expand()
    claimed = shape(1, 2, 8).expand()
    xml = tmp_path / "machine.xml"
    xml.write_text(to_hwloc_xml(claimed), encoding="ascii")
    csv = write(tmp_path / "a.csv", truth, COMPLEX_NS)
    result = run(csv, "--hwloc-xml", xml, "--out", tmp_path / "m.toml")
    said = "disagreement: 2 groups by llc in the file of the topology, 4 by latency"
    assert said in result.output
    assert "CPUs 0-15" in result.output
    machine = tomllib.loads((tmp_path / "m.toml").read_text(encoding="utf-8"))
    assert "disagreement" in machine["source"]["topology"]


def test_hwloc_file_with_more_cpus(tmp_path: Path) -> None:
    """Siblings were offline while latencies were measured."""
    whole = shape(2, 2, 4, 2).expand()
    xml = tmp_path / "machine.xml"
    xml.write_text(to_hwloc_xml(whole), encoding="ascii")
    made = import_machine(
        ImportRequest(write(tmp_path / "a.csv", shape(2, 2, 4).expand(), COMPLEX_NS), xml)
    )
    assert same(topology_of(made), whole)
    assert any("no latencies of CPUs 16-31" in note for note in made.notes)
    assert made.facts.source["latency_ns.smt"].startswith("estimate")


def test_bad_input_is_one_line_and_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out.toml"
    good = write(tmp_path / "good.csv", shape(1, 2, 4).expand(), COMPLEX_NS)
    cut = tmp_path / "cut.csv"
    cut.write_text(good.read_text(encoding="ascii")[:-30], encoding="ascii")
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe,\x00")
    one = tmp_path / "one.csv"
    one.write_text("\n", encoding="ascii")
    xml = tmp_path / "small.xml"
    xml.write_text(to_hwloc_xml(shape(1, 1, 4).expand()), encoding="ascii")
    cases = {
        "no such file": (tmp_path / "none.csv",),
        "is a directory": (tmp_path,),
        "truncated": (cut,),
        "not UTF-8": (binary,),
        "empty": (one,),
        "no hwloc XML file": (good, "--hwloc-xml", tmp_path / "none.xml"),
        "CPUs 4-7 are not in small.xml": (good, "--hwloc-xml", xml),
        "--clock-ghz 99 is not a clock": (good, "--clock-ghz", "99"),
    }
    for message, args in cases.items():
        assert message in failure(*args, "--out", out)
    assert "no directory" in failure(good, "--out", tmp_path / "none" / "out.toml")
    assert not out.exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_failed_import_keeps_the_old_file(tmp_path: Path) -> None:
    out = tmp_path / "out.toml"
    out.write_text("old", encoding="ascii")
    bad = tmp_path / "bad.csv"
    bad.write_text(",,\n25,,\nx,25,\n", encoding="ascii")
    assert "line 3, column 1" in failure(bad, "--out", out)
    assert out.read_text(encoding="ascii") == "old"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Dual EPYC 7763@2.45GHz", "dual-epyc-7763-2-45ghz"),
        ("---", "machine"),
        ("x" * 99, "x" * 64),
    ],
)
def test_names(text: str, name: str) -> None:
    assert machine_name(text) == name


def test_strange_file_names_are_no_problem(tmp_path: Path) -> None:
    csv = write(tmp_path / 'we"ird\t\\ né [x].csv', shape(1, 2, 4).expand(), COMPLEX_NS)
    made = import_machine(ImportRequest(csv))
    assert same(topology_of(made), shape(1, 2, 4).expand())
    assert tomllib.loads(machine_toml(made.facts))["name"] == "we-ird-n-x"
