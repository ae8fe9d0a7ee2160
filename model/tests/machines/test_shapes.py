# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`machine import` tries every regular shape, says which one is second, and takes help."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cli.commands.machine import import_command
from common.errors import UserError
from model.machines.making.importer import Imported, ImportRequest, import_machine
from model.machines.making.latencycsv import Matrix
from model.machines.making.shapes import shapes, verdict
from model.machines.making.topology import make_topology, parse_lscpu, same
from synthetic import latencies, renumbered, shape, to_csv

MESH = {"smt": 7.5, "llc": 48.0, "node": 48.0, "remote": 141.0}
RING = {"smt": 9.0, "llc": 32.0, "node": 114.0, "remote": 114.0}
DESKTOP = {"smt": 9.0, "llc": 27.0, "node": 90.0, "remote": 90.0}


def made(path: Path, matrix: Matrix, topology: Path | None = None) -> Imported:
    path.write_text(to_csv(matrix), encoding="ascii")
    return import_machine(ImportRequest(path, topology=topology))


def counts(found: Imported) -> tuple[int, int, int]:
    topology = found.facts.topology
    return topology.count("package"), topology.count("llc"), topology.count("core")


def test_a_wild_sibling_does_not_make_a_cache_of_each_core(tmp_path: Path) -> None:
    """CPU 0 and its sibling are as far apart as two cores, as published for 2 x Gold 6242."""
    matrix = latencies(shape(2, 1, 16, 2).expand(), MESH, 0.02, 3)
    matrix[0, 32] = matrix[32, 0] = 47.0
    found = made(tmp_path / "a.csv", matrix)
    assert counts(found) == (2, 2, 32)
    assert "2 packages x 1 LLC x 16 cores x 2 threads" in "".join(found.notes)


def test_a_ring_of_eight_cores_fills_a_package(tmp_path: Path) -> None:
    found = made(tmp_path / "a.csv", latencies(shape(2, 1, 8, 2).expand(), RING, 0.08, 1))
    assert counts(found) == (2, 2, 16)
    assert any("not clear" in note and "1 package x 2 LLCs" in note for note in found.notes)
    assert found.evidence is not None
    sure = {level.name: level.sure for level in found.evidence.levels}
    assert sure["llc"] != "clear"
    assert sure["core"] == "clear"


def test_packages_that_take_turns_are_no_complexes(tmp_path: Path) -> None:
    """Even CPUs are in one package and odd ones in the other, as on many hosts."""
    base = shape(2, 1, 8, 2).expand()
    turns = [cpu % 16 // 8 + cpu % 8 * 2 + cpu // 16 * 16 for cpu in base.cpus]
    want = renumbered(base, turns)
    found = made(tmp_path / "a.csv", latencies(want, RING, 0.05, 1))
    assert counts(found) == (2, 2, 16)
    assert same(found.facts.topology, want)
    assert any("not clear" in note and "1 package x 2 LLCs" in note for note in found.notes)
    assert found.evidence is not None
    assert all(level.sure != "clear" for level in found.evidence.levels if level.name == "llc")


def test_cores_with_and_without_siblings_are_one_package(tmp_path: Path) -> None:
    """8 cores of two threads and 8 of one are no regular shape, and must not become one."""
    cpus = np.arange(24)
    core = np.where(cpus < 16, cpus // 2, cpus - 8)
    one = np.zeros(24, dtype=np.int64)
    want = make_topology(
        range(24), {"package": one, "node": one, "llc": one, "l2": core, "core": core}
    )
    ns = latencies(want, {"smt": 5.0, "llc": 36.0}, 0.05, 3)
    small = cpus >= 16
    ns = np.where(small[:, None] | small[None, :], ns * 1.3, ns)
    assert counts(made(tmp_path / "a.csv", ns)) == (1, 1, 16)


@pytest.mark.parametrize("numbering", ["threads-last", "threads-adjacent"])
def test_near_siblings_are_no_cores(numbering: str) -> None:
    """Few pairs of 384 CPUs are siblings: a shape without SMT would fit nearly as well."""
    form = replace(shape(2, 12, 8, 2), numbering=numbering)
    ns = {"smt": 10.0, "llc": 26.0, "node": 100.0, "remote": 195.0}
    matrix = latencies(form.expand(), ns, 0.06, 1)
    sure, told = verdict(shapes(matrix))
    assert sure, told
    assert "2 packages x 12 LLCs x 8 cores x 2 threads" in told[0]


def test_complexes_of_three_cores_are_no_packages(tmp_path: Path) -> None:
    found = made(tmp_path / "a.csv", latencies(shape(1, 8, 3, 2).expand(), DESKTOP, 0.05, 2))
    assert counts(found) == (1, 8, 24)


@pytest.mark.parametrize(
    "form", [shape(2, 8, 8, 2), shape(1, 2, 8, 2), shape(4, 1, 12), shape(1, 1, 6, 2)]
)
def test_the_best_shape_is_that_of_the_machine(form: object) -> None:
    want = form.expand()  # type: ignore[attr-defined]
    ns = {"smt": 10.0, "llc": 25.0, "node": 105.0, "remote": 200.0}
    if form.llcs_per_package == 1:  # type: ignore[attr-defined]
        ns["llc"] = 50.0
    best = shapes(latencies(want, ns, 0.04, 5))[0]
    assert best.form == form


def test_a_shape_that_no_other_equals_is_clear() -> None:
    ns = {"smt": 10.0, "llc": 25.0, "node": 105.0, "remote": 200.0}
    sure, told = verdict(shapes(latencies(shape(2, 4, 4).expand(), ns, 0.03, 1)))
    assert sure
    assert len(told) == 1
    assert "second: " in told[0]


def lscpu(packages: int, llcs: int, cores: int) -> str:
    rows = ["# The following is the parsable format", "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3"]
    for cpu in range(packages * llcs * cores):
        package, llc = cpu // (llcs * cores), cpu // cores
        rows.append(f"{cpu},{cpu},{package},{package},,{cpu},{cpu},{cpu},{llc}")
    return "\n".join(rows) + "\n"


def test_lscpu_says_what_the_table_cannot(tmp_path: Path) -> None:
    """The same table fits two packages, or two caches of one package."""
    matrix = latencies(shape(2, 1, 8).expand(), RING, 0.05, 4)
    for packages, llcs in ((2, 1), (1, 2)):
        text = tmp_path / "lscpu.txt"
        text.write_text(lscpu(packages, llcs, 8), encoding="ascii")
        found = made(tmp_path / "a.csv", matrix, topology=text)
        assert counts(found) == (packages, 2, 16)
        assert "lscpu.txt" in tomllib.loads(found.text)["source"]["topology"]


@pytest.mark.parametrize(
    ("l3", "llcs"),
    [
        (("", "", "", ""), [0, 0, 1, 1]),  # the L2 is the last
        (("0", "0", "", ""), [0, 0, 1, 1]),  # two cores have no L3, as on Meteor Lake
        (("7", "7", "7", "7"), [0, 0, 0, 0]),
        ((None, None, None, None), [0, 0, 1, 1]),
    ],
)
def test_the_last_cache_of_lscpu_is_the_highest(
    l3: tuple[str | None, ...], llcs: list[int]
) -> None:
    head = "# CPU,Core,Socket,Node,,L1d,L1i,L2" + ("" if l3[0] is None else ",L3")
    rows = [
        f"{cpu},{cpu},0,0,,{cpu},{cpu},{cpu // 2}" + ("" if last is None else f",{last}")
        for cpu, last in enumerate(l3)
    ]
    topology = parse_lscpu("\n".join([head, *rows]), "x.txt")
    assert topology.llc.tolist() == llcs
    assert topology.l2.tolist() == [0, 0, 1, 1]


def test_without_caches_a_package_is_the_last_cache() -> None:
    topology = parse_lscpu("# CPU,Core,Socket\n0,0,0\n1,1,0\n2,2,1\n3,3,1\n", "x.txt")
    assert topology.llc.tolist() == [0, 0, 1, 1]


def write_sys(root: Path, packages: int, llcs: int, cores: int) -> None:
    """Write the files of /sys that give the place of each CPU."""
    system = root / "sys/devices/system/cpu"
    count = packages * llcs * cores
    for cpu in range(count):
        first = cpu // cores * cores
        files = {
            "topology/physical_package_id": cpu // (llcs * cores),
            "topology/core_id": cpu % (llcs * cores),
            "topology/thread_siblings_list": cpu,
            "cache/index3/level": 3,
            "cache/index3/type": "Unified",
            "cache/index3/id": cpu // cores,
            "cache/index3/shared_cpu_list": f"{first}-{first + cores - 1}",
        }
        for name, value in files.items():
            file = system / f"cpu{cpu}" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{value}\n", encoding="ascii")
    for name in ("possible", "present", "online"):
        (system / name).write_text(f"0-{count - 1}\n", encoding="ascii")


def test_a_tree_of_sys_says_what_the_table_cannot(tmp_path: Path) -> None:
    csv, out = tmp_path / "a.csv", tmp_path / "a.toml"
    csv.write_text(to_csv(latencies(shape(2, 1, 8).expand(), RING, 0.05, 4)), encoding="ascii")
    given = tmp_path / "machine"
    write_sys(given, 1, 2, 8)
    args = [str(csv), "--topology", str(given), "--out", str(out)]
    result = CliRunner().invoke(import_command, args)
    assert result.exception is None, result.output
    machine = tomllib.loads(out.read_text(encoding="utf-8"))
    assert machine["topology"]["packages"] == 1
    assert machine["topology"]["llcs_per_node"] == 2
    assert machine["source"]["topology"].startswith(f"{given.name};")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not the text of 'lscpu -p'"),
        ("0,0,0,0\n", "is not the text of 'lscpu -p'"),
        ("# CPU,Node\n0,0\n", "has no columns"),
        ("# CPU,Core,Socket\n0,a,0\n", "column core"),
        ("# CPU,Core,Socket\nx,0,0\n", "column CPU"),
        ("# CPU,Core,Socket\n0,0,0\n0,1,0\n", "two lines"),
    ],
)
def test_a_text_not_of_lscpu_is_refused(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as raised:
        parse_lscpu(text, "x.txt")
    assert "\n" not in str(raised.value)


def test_two_sources_of_a_topology_are_refused(tmp_path: Path) -> None:
    csv = tmp_path / "a.csv"
    csv.write_text(to_csv(latencies(shape(1, 1, 4).expand(), MESH, 0.02, 1)), encoding="ascii")
    args = [str(csv), "--topology", str(tmp_path), "--hwloc-xml", str(csv)]
    result = CliRunner().invoke(import_command, args)
    assert isinstance(result.exception, UserError)
    assert "give one of them" in str(result.exception)
