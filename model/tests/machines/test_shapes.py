# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests which shapes explain a latency table, and what its pairs and lscpu say of a topology."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import UserError
from model.machines.making.classes import Evidence, weigh
from model.machines.making.latencycsv import LatencyTable, Matrix
from model.machines.making.shapes import Counts, given_shape, shapes
from model.machines.making.topology import (
    Ids,
    Regular,
    Topology,
    from_hwloc,
    make_topology,
    parse_cpu_list,
    parse_lscpu,
    read_given,
    regular_form,
    same,
)
from model.machines.topo import label
from synthetic import COMPLEX_NS, MESH_NS, latencies, renumbered, shape

PU_1 = '<object type="PU" os_index="1"/>'
# Each entity is ten times the one before.
ENTITIES = '<!ENTITY a0 "aaaaaaaaaa">' + "".join(
    f'<!ENTITY a{n} "{10 * f"&a{n - 1};"}">' for n in range(1, 9)
)

RING = {"smt": 9.0, "llc": 32.0, "node": 114.0, "remote": 114.0}


def weighed(matrix: Matrix, topology: Topology) -> Evidence:
    return weigh(*LatencyTable("t", topology.cpus, matrix).pairs(), topology, topology)


def best(matrix: Matrix, cpus: tuple[int, ...] | None = None) -> list[str]:
    """The two best shapes as text."""
    table = LatencyTable("t", cpus or tuple(range(len(matrix))), matrix)
    return [str(fit.counts) for fit in shapes(table.cpus, *table.pairs())[:2]]


@pytest.mark.parametrize(
    ("form", "ns", "expected"),
    [
        (shape(2, 8, 8, 2), COMPLEX_NS, ["2x8x8x2"]),
        (shape(1, 2, 8, 2), RING, ["1x2x8x2", "2x1x8x2"]),
        (shape(4, 1, 12), MESH_NS, ["1x4x12x1", "4x1x12x1"]),
        (shape(1, 16, 8), COMPLEX_NS, ["1x16x8x1", "16x1x8x1"]),
        (shape(1, 1, 6, 2), MESH_NS, ["1x1x6x2"]),
        (shape(1, 8, 3, 2), RING, ["1x8x3x2", "8x1x3x2"]),
    ],
)
@pytest.mark.parametrize("numbering", ["threads-last", "threads-adjacent"])
def test_the_best_shapes_contain_that_of_the_machine(
    form: Regular, ns: dict[str, float], expected: list[str], numbering: str
) -> None:
    topology = Regular(**{**form.__dict__, "numbering": numbering}).expand()
    fits = best(latencies(topology, ns, 0.05, 5))
    assert fits[: len(expected)] == expected


def test_siblings_that_are_no_nearer_than_cores_of_a_cache() -> None:
    """Siblings at 18 ns, cores of one cache at 19 to 22, other caches at 210."""
    topology = shape(1, 2, 8, 2).expand()
    ns = {"smt": 18.0, "llc": 20.5, "node": 210.0}
    assert best(latencies(topology, ns, 0.06, 1)) == ["1x2x8x2", "2x1x8x2"]


def test_a_wild_sibling_changes_nothing() -> None:
    matrix = latencies(shape(2, 1, 16, 2).expand(), {**MESH_NS, "remote": 141.0}, 0.02, 3)
    matrix[0, 32] = matrix[32, 0] = 47.0
    assert best(matrix) == ["1x2x16x2", "2x1x16x2"]


def test_packages_that_take_turns() -> None:
    """Even CPUs are in one package and odd ones in the other, as on many hosts."""
    base = shape(2, 1, 8, 2).expand()
    want = renumbered(base, [cpu % 16 // 8 + cpu % 8 * 2 + cpu // 16 * 16 for cpu in base.cpus])
    table = LatencyTable("t", want.cpus, latencies(want, RING, 0.05, 1))
    assert same(given_shape("2x1x8x2", table).topology, want)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2x8x8", "is not a shape: give packages x caches of each x cores"),
        ("0x1x1x8", "is not a shape"),
        ("2x2x2x\u0662", "is not a shape"),
        ("1x2x8x2", "has 32 CPUs, and t 8: give"),
    ],
)
def test_a_wrong_shape_is_refused(text: str, words: str) -> None:
    table = LatencyTable("t", tuple(range(8)), latencies(shape(1, 2, 4).expand(), RING, 0.05, 1))
    with pytest.raises(UserError, match=words) as raised:
        given_shape(text, table)
    assert "\n" not in str(raised.value)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3), st.integers(1, 6), st.integers(2, 6), st.integers(1, 2), st.data())
def test_a_shape_that_is_named_gives_the_classes(
    packages: int, llcs: int, cores: int, threads: int, data: st.DataObject
) -> None:
    want = shape(packages, llcs, cores, threads).expand()
    matrix = latencies(want, COMPLEX_NS, 0.04, data.draw(st.integers(0, 99)))
    table = LatencyTable("t", want.cpus, matrix)
    fit = given_shape(str(Counts(packages, llcs, cores, threads)), table)
    assert same(fit.topology, want)
    for name, item in weighed(matrix, fit.topology).classes.items():
        assert item.median == pytest.approx(COMPLEX_NS[name], rel=0.16)


def tiered(base: Topology, level: Ids, near: float, sigma: float, seed: int) -> Matrix:
    """LLCs of one group at ``level`` are ``near`` ns apart, others of the package 101 ns."""
    matrix = latencies(base, {**COMPLEX_NS, "node": 101.0}, sigma, seed)
    other = (base.llc[:, None] != base.llc[None, :]) & (level[:, None] == level[None, :])
    return np.where(other, matrix * near / 101.0, matrix)


def test_tiers_of_tiers() -> None:
    want = shape(1, 16, 4).expand()
    matrix = tiered(want, want.llc // 2, 60.0, 0.02, 5)
    half = (want.llc[:, None] // 8 == want.llc[None, :] // 8) & (matrix > 95.0)
    tiers = weighed(np.where(half, matrix * 0.8, matrix), want).tiers
    assert [tier.count for tier in tiers] == [2, 8]
    assert [round(tier.median) for tier in tiers] == [60, 81]


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_chance_makes_no_tier(packages: int, llcs: int, cores: int, seed: int) -> None:
    """Small machines have so few pairs that some grouping always looks good."""
    want = shape(packages, llcs, cores).expand()
    if len(want.cpus) > 1:
        assert weighed(latencies(want, COMPLEX_NS, 0.06, seed), want).tiers == []


def test_package_whose_lines_had_a_remote_home() -> None:
    want = shape(2, 8, 6, 2).expand()
    matrix = latencies(want, COMPLEX_NS, 0.03, 6)
    inside = (want.package == 1)[:, None] & (want.package == 1)[None, :]
    far = inside & (want.llc[:, None] != want.llc[None, :])
    classes = weighed(np.where(far, matrix * 201.0 / 105.0, matrix), want).classes
    assert classes["node"].median == pytest.approx(105.0, rel=0.02)
    assert classes["home_remote"].median == pytest.approx(201.0, rel=0.02)
    assert classes["remote"].median == pytest.approx(200.0, rel=0.02)


@settings(deadline=None)
@given(st.integers(1, 3), st.integers(1, 6), st.integers(1, 6), st.integers(1, 4), st.data())
def test_short_form_means_the_same_machine(
    packages: int, llcs: int, cores: int, threads: int, data: st.DataObject
) -> None:
    nodes = data.draw(st.sampled_from([n for n in range(1, llcs + 1) if llcs % n == 0]))
    usual = shape(packages, llcs, cores, threads, nodes).expand()
    assert regular_form(usual) is not None
    cpus = data.draw(st.permutations(usual.cpus))
    form = regular_form(renumbered(usual, cpus))
    assert form is None or same(form.expand(), renumbered(usual, cpus))


@given(st.sets(st.integers(0, 300), min_size=1))
def test_cpu_lists_survive_a_round_trip(cpus: set[int]) -> None:
    assert parse_cpu_list(label(sorted(cpus))) == sorted(cpus)


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not the text of 'lscpu -p'"),
        ("0,0,0,0\n", "is not the text of 'lscpu -p'"),
        ("# CPU,Node\n0,0\n", "has no columns"),
        ("# CPU,Core,Socket\n0,a,0\n", "column core"),
        ("# CPU,Core,Socket\nx,0,0\n", "column CPU"),
        ("# CPU,Core,Socket\n0,0,0\n0,1,0\n", "occurs twice"),
        ("<topology>", "not XML"),
        ("<svg/>", "not of hwloc"),
        ("<topology/>", "names no CPU"),
        ('<topology><object type="PU" os_index="x"/></topology>', "has no number"),
        (f"<topology>{PU_1}{PU_1}</topology>", "occurs twice"),
        (f"<!DOCTYPE t [{ENTITIES}]><topology>&a8;</topology>", "not XML"),
    ],
)
def test_a_text_that_is_no_topology_is_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(text, encoding="ascii")
    with pytest.raises(UserError, match=words) as raised:
        read_given(path)
    assert "\n" not in str(raised.value)


def test_hwloc_1_puts_memory_above_caches() -> None:
    cache = '<object type="Cache" depth="3" cache_type="0">{}</object>'
    cpu = '<object type="Cache" depth="2" cache_type="2"><object type="PU" os_index="{}"/></object>'
    nodes = "".join(
        '<object type="NUMANode">'
        + "".join(cache.format(cpu.format(2 * node + at)) for at in (0, 1))
        + "</object>"
        for node in (0, 1)
    )
    topology = from_hwloc(f'<topology><object type="Machine">{nodes}</object></topology>', "x.xml")
    assert topology.llc.tolist() == topology.l2.tolist() == [0, 1, 2, 3]
    assert topology.node.tolist() == [0, 0, 1, 1]
    assert topology.package.tolist() == [0, 0, 0, 0]


def test_cores_that_share_an_l2_are_a_tier() -> None:
    cores = np.arange(48)
    want = make_topology(
        range(48),
        {"package": cores // 24, "node": cores // 24, "llc": cores // 24, "l2": cores // 4,
         "core": cores},
    )  # fmt: skip
    matrix = latencies(want, {**MESH_NS, "llc": 60.0, "remote": 120.0}, 0.05, 8)
    l2 = (want.l2[:, None] == want.l2[None, :]) & ~np.eye(48, dtype=bool)
    (tier,) = weighed(np.where(l2, matrix * 0.5, matrix), want).tiers
    assert (tier.name, tier.unit, tier.count) == ("l2", "cores", 4)
    assert tier.median == pytest.approx(30.0, rel=0.02)
