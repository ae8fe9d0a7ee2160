# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`machine import` reads a table from a file, and writes the file of that table's machine."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from cli.commands.machine import import_command
from common.errors import UserError
from model.machines.cores import core_costs
from model.machines.making.document import machine_name, machine_toml, validated
from model.machines.making.importer import Imported, ImportRequest, import_machine
from model.machines.making.topology import Topology, from_tool, make_topology, same
from model.machines.numbers import number_nodes, range_of, source_of, value_of
from model.machines.presets import load_machine
from synthetic import COMPLEX_NS, MESH_NS, latencies, renumbered, shape, to_csv


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(import_command, [str(arg) for arg in args])


def failure(*args: str | Path, status: int = 2) -> str:
    result = run(*args)
    assert isinstance(result.exception, UserError), result.output
    assert result.exception.status == status
    assert "\n" not in str(result.exception)
    return str(result.exception)


def write(path: Path, topology: Topology, ns: dict[str, float], labels: bool = False) -> Path:
    matrix = latencies(topology, ns, 0.03, 1)
    path.write_text(to_csv(matrix, labels=topology.cpus if labels else None), encoding="ascii")
    return path


def xml_of(path: Path, topology: Topology) -> Path:
    """The topology as hwloc 2 writes it: memory beside the CPUs of its node."""
    places = dict(zip(topology.cpus, topology.places(), strict=True))

    def objects(cpus: Sequence[int], levels: Sequence[tuple[str, str]]) -> str:
        if not levels:
            return "".join(f'<object type="PU" os_index="{cpu}"/>' for cpu in cpus)
        (level, kind), *below = levels
        groups: dict[int, list[int]] = {}
        for cpu in cpus:
            groups.setdefault(getattr(places[cpu], level), []).append(cpu)
        memory = '<object type="NUMANode" os_index="0"/>' if kind == "Group" else ""
        return "".join(
            f'<object type="{kind}">{memory}{objects(group, below)}</object>'
            for group in groups.values()
        )

    levels = [("package", "Package"), ("node", "Group"), ("llc", "L3Cache"), ("l2", "L2Cache"),
              ("core", "Core")]  # fmt: skip
    text = objects(topology.cpus, levels)
    path.write_text(
        '<!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0"><object type="Machine">'
        f"{text}</object></topology>", encoding="ascii"
    )  # fmt: skip
    return path


def lscpu_of(path: Path, topology: Topology) -> Path:
    rows = ["# The following is the parsable format", "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3"]
    for cpu, place in zip(topology.cpus, topology.places(), strict=True):
        core = f"{place.core},{place.package},{place.node},,{place.core},{place.core}"
        rows.append(f"{cpu},{core},{place.l2},{place.llc}")
    path.write_text("\n".join(rows) + "\n", encoding="ascii")
    return path


def sys_of(root: Path, topology: Topology) -> Path:
    """Write the files of /sys that give the place of each CPU of a machine without siblings."""
    system = root / "sys/devices/system/cpu"
    for cpu, place in zip(topology.cpus, topology.places(), strict=True):
        shared = [c for c, at in zip(topology.cpus, topology.llc, strict=True) if at == place.llc]
        files = {
            "topology/physical_package_id": place.package,
            "topology/core_id": place.core,
            "topology/thread_siblings_list": cpu,
            "cache/index3/level": 3,
            "cache/index3/type": "Unified",
            "cache/index3/id": place.llc,
            "cache/index3/shared_cpu_list": f"{shared[0]}-{shared[-1]}",
        }
        for name, value in files.items():
            file = system / f"cpu{cpu}" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{value}\n", encoding="ascii")
    for name in ("possible", "present", "online"):
        (system / name).write_text(f"0-{len(topology.cpus) - 1}\n", encoding="ascii")
    return root


def topology_of(made: Imported) -> Topology:
    return from_tool({"cpus": validated(made.text).cpus})


def test_a_machine_by_its_shape(tmp_path: Path) -> None:
    want = shape(2, 8, 8, 2).expand()
    csv = write(tmp_path / "Two-Sockets@2.45GHz.csv", want, COMPLEX_NS)
    out = tmp_path / "two.toml"
    result = run(csv, "--shape", "2x8x8x2", "--out", out, "--name", "Two Sockets")
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
    assert "2 packages x 8 LLCs x 8 cores x 2 threads" in machine["source"]["topology"]
    assert machine["source"]["op_cycles.locked"].startswith("estimate, 8 to 27: ")
    assert range_of(machine["op_cycles"]["locked"]) == (8, 27)
    assert same(from_tool({"cpus": load_machine(str(out)).cpus}), want)
    assert "256 CPUs, 2 packages, 2 nodes, 16 LLCs, 128 cores" in result.output
    assert "the protocol is the model's default" in result.output


def test_without_a_topology_two_shapes_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    csv = write(tmp_path / "a.csv", shape(1, 4, 8).expand(), COMPLEX_NS)
    message = failure(csv, "--out", tmp_path / "a.toml", status=3)
    assert "--shape 1x4x8x1 (misfit 2." in message
    assert "--shape 4x1x8x1 (misfit 2." in message
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("to_file", [xml_of, lscpu_of, sys_of])
def test_a_file_says_what_the_table_cannot(tmp_path: Path, to_file: object) -> None:
    """The same table fits two packages, or two caches of one package."""
    ns = {"llc": 32.0, "node": 114.0, "remote": 114.0}
    csv = write(tmp_path / "a.csv", shape(2, 1, 8).expand(), ns)
    for want in (shape(2, 1, 8).expand(), shape(1, 2, 8).expand()):
        given = to_file(tmp_path / f"given-{want.count('package')}", want)  # type: ignore[operator]
        made = import_machine(ImportRequest(csv, topology=given))
        assert same(topology_of(made), want)
        assert made.facts.source["topology"].startswith(f"{given.name};")


def test_a_core_gives_costs_and_protocol(tmp_path: Path) -> None:
    csv = write(tmp_path / "epyc.csv", shape(1, 4, 4, 2).expand(), COMPLEX_NS)
    made = import_machine(ImportRequest(csv, shape="1x4x4x2", core="zen4"))
    machine, costs = validated(made.text).data, core_costs("zen4")
    assert machine["protocol"] == costs.protocol
    assert machine["op_cycles"] == costs.op_cycles
    assert machine["source"].items() >= costs.source.items()
    by_name = validated(import_machine(ImportRequest(csv, shape="1x4x4x2")).text).data
    core = {"forward_cycles", "after_locked_cycles"}
    assert by_name["protocol"] == {k: v for k, v in costs.protocol.items() if k not in core}
    alone = write(tmp_path / "a.csv", shape(1, 4, 4).expand(), COMPLEX_NS)
    without = import_machine(ImportRequest(alone, shape="1x4x4x1", core="zen4"))
    assert costs.protocol.keys() - without.facts.protocol.keys() == {"smt_locked_ns"}
    assert "unknown core 'zen44': did you mean 'zen4'" in failure(csv, "--core", "zen44")


def test_tiers_are_written_and_read(tmp_path: Path) -> None:
    """Eight sockets on two boards, with two cores to an L2."""
    want = shape(8, 1, 4).expand()
    matrix = latencies(want, MESH_NS, 0.02, 2)
    other = (want.package[:, None] ^ want.package[None, :]) > 3
    near = want.core[:, None] // 2 == want.core[None, :] // 2
    matrix = np.where(other, matrix * 2.0, np.where(near, matrix * 0.5, matrix))
    csv = tmp_path / "boards.csv"
    csv.write_text(to_csv(matrix), encoding="ascii")
    out = tmp_path / "boards.toml"
    result = run(csv, "--shape", "8x1x4x1", "--out", out)
    assert result.exception is None, result.output
    read = validated(out.read_text(encoding="utf-8")).data
    assert [tier["name"] for tier in read["tier"]] == ["cores-2", "packages-4"]
    assert (read["tier"][0]["cores"], read["tier"][1]["packages"]) == (2, 4)
    assert [value_of(tier["ns"]) for tier in read["tier"]] == pytest.approx([25.5, 110.0], rel=0.03)
    assert value_of(read["latency_ns"]["llc"]) == pytest.approx(51, rel=0.02)
    assert value_of(read["latency_ns"]["remote"]) == pytest.approx(220, rel=0.02)
    assert "192 pairs inside groups of 4 packages" in read["source"]["tier.packages-4"]
    assert "4 packages" in result.output


def test_a_guess_has_a_range_in_a_file_that_is_made(tmp_path: Path) -> None:
    """The table covers only one LLC, so all other latencies are guesses."""
    csv = write(tmp_path / "a.csv", shape(1, 1, 4).expand(), MESH_NS)
    given = lscpu_of(tmp_path / "lscpu", shape(2, 2, 4, 2, nodes=2).expand())
    machine = tomllib.loads(import_machine(ImportRequest(csv, given)).text)
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
    csv = write(tmp_path / "a.csv", shape(2, 1, 4).expand(), MESH_NS)
    result = run(csv, "--shape", "2x1x4x1")
    assert value_of(tomllib.loads(result.stdout)["clock_ghz"]) == 2.5
    assert "8 CPUs" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv"]


def test_irregular_machines_are_written_out(tmp_path: Path) -> None:
    """One core complex of 2 cores among those of 4; and numbers with holes in any order."""
    llc = np.array([0] * 4 + [1] * 4 + [2] * 2 + [3] * 4)
    zeros, core = np.zeros(14, dtype=np.int64), np.arange(14)
    unequal = make_topology(
        range(14), {"package": zeros, "node": zeros, "llc": llc, "l2": core, "core": core}
    )
    base = shape(2, 3, 3, 2).expand()
    cpus = np.random.default_rng(1).permutation(len(base.cpus) * 2)[: len(base.cpus)]
    for want in (unequal, renumbered(base, cpus.tolist())):
        csv = write(tmp_path / "a.csv", want, COMPLEX_NS, labels=True)
        made = import_machine(ImportRequest(csv, lscpu_of(tmp_path / "lscpu", want)))
        assert made.text.count("[[topology.llc]]") == want.count("llc")
        assert same(topology_of(made), want)


def test_a_topology_that_the_latencies_contradict_is_reported(tmp_path: Path) -> None:
    csv = write(tmp_path / "a.csv", shape(1, 4, 4).expand(), COMPLEX_NS)
    result = run(csv, "--shape", "1x2x8x1", "--out", tmp_path / "m.toml")
    warning = "disagreement: the latencies fit 1 package x 4 LLCs x 4 cores x 1 thread better"
    assert warning in result.output
    machine = tomllib.loads((tmp_path / "m.toml").read_text(encoding="utf-8"))
    assert warning in machine["source"]["topology"]
    assert "disagreement" not in run(csv, "--shape", "1x4x4x1").output


def test_a_file_with_more_cpus(tmp_path: Path) -> None:
    """Siblings were offline while latencies were measured."""
    whole = shape(2, 2, 4, 2).expand()
    given = lscpu_of(tmp_path / "lscpu", whole)
    csv = write(tmp_path / "a.csv", shape(2, 2, 4).expand(), COMPLEX_NS)
    made = import_machine(ImportRequest(csv, given))
    assert same(topology_of(made), whole)
    assert any("CPUs 16-31 have no latencies" in note for note in made.notes)
    assert made.facts.source["latency_ns.smt"].startswith("estimate")


def test_bad_input_is_one_line_and_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out.toml"
    good = write(tmp_path / "good.csv", shape(1, 2, 4).expand(), COMPLEX_NS)
    cut = tmp_path / "cut.csv"
    cut.write_text(good.read_text(encoding="ascii")[:-30], encoding="ascii")
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe,\x00")
    small = lscpu_of(tmp_path / "small", shape(1, 1, 4).expand())
    xml = tmp_path / "of-hwloc.xml"
    xml.write_text("<topology/>", encoding="ascii")
    cases = {
        "no such file": (tmp_path / "none.csv",),
        "is a directory": (tmp_path,),
        "truncated": (cut, "--shape", "1x2x4x1"),
        "not UTF-8": (binary,),
        "none": (good, "--topology", tmp_path / "none"),
        "CPUs 4-7 are not in small": (good, "--topology", small),
        "of-hwloc.xml: names no CPU": (good, "--topology", xml),
        "give one of them": (good, "--topology", small, "--shape", "1x2x4x1"),
    }
    for message, args in cases.items():
        assert message in failure(*args, "--out", out)
    far = tmp_path / "none" / "out.toml"
    assert "no directory" in failure(good, "--shape", "1x2x4x1", "--out", far)
    assert not out.exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


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
    made = import_machine(ImportRequest(csv, shape="1x2x4x1"))
    assert same(topology_of(made), shape(1, 2, 4).expand())
    assert tomllib.loads(machine_toml(made.facts))["name"] == "we-ird-n-x"
