# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Topologies are recovered from noisy latencies, and the short form means the same machine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.machines.making.classes import weigh
from model.machines.making.infer import infer_topology
from model.machines.making.latencycsv import LatencyTable, Matrix, parse_latency_csv
from model.machines.making.topology import (
    Ids,
    Regular,
    Topology,
    cpu_list,
    make_topology,
    parse_cpu_list,
    regular_form,
    same,
)
from synthetic import CLUSTER_NS, COMPLEX_NS, MESH_NS, latencies, renumbered, shape, to_csv

SIGMA = 0.06


def table_of(topology: Topology, ns: dict[str, float], sigma: float, seed: int) -> LatencyTable:
    return LatencyTable("t.csv", topology.cpus, latencies(topology, ns, sigma, seed))


def assert_same(found: Topology, want: Topology) -> None:
    for level in ("package", "node", "llc", "core"):
        assert found.count(level) == want.count(level), level
    assert same(found, want)


@st.composite
def numbered(draw: st.DrawFn, form: Regular) -> Topology:
    """A machine whose numbers are usual, have adjacent siblings, or are random with holes."""
    topology = form.expand()
    count = len(topology.cpus)
    how = draw(st.sampled_from(["usual", "adjacent", "shuffled", "holes"]))
    if how == "adjacent":
        return Regular(**{**form.__dict__, "numbering": "threads-adjacent"}).expand()
    if how == "usual":
        return topology
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cpus = rng.permutation(count * 2 if how == "holes" else count)[:count]
    return renumbered(topology, cpus.tolist())


@st.composite
def complexes(draw: st.DrawFn) -> Topology:
    packages = draw(st.integers(1, 3))
    llcs = draw(st.integers(2 if packages > 1 else 3, 13))
    cores = draw(st.integers(2, 9))
    threads = draw(st.integers(1, 2))
    if packages * llcs * cores * threads > 200:
        llcs = max(2 if packages > 1 else 3, 200 // (packages * cores * threads))
    return draw(numbered(shape(packages, llcs, cores, threads)))


@settings(max_examples=60, deadline=None)
@given(complexes(), st.integers(0, 10**6))
def test_core_complexes(want: Topology, seed: int) -> None:
    found = infer_topology(table_of(want, COMPLEX_NS, SIGMA, seed))
    assert_same(found.topology, want)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from([1, 2, 3, 4, 8]), st.integers(3, 12), st.integers(1, 2))
def test_meshes_are_packages(data: st.DataObject, packages: int, cores: int, threads: int) -> None:
    want = data.draw(numbered(shape(packages, 1, cores, threads)))
    seed = data.draw(st.integers(0, 10**6))
    found = infer_topology(table_of(want, MESH_NS, SIGMA, seed))
    assert_same(found.topology, want)


@pytest.mark.parametrize("clusters", [2, 3, 4])
def test_sub_numa_clusters(clusters: int) -> None:
    want = shape(2, clusters, 12, 2, nodes=clusters).expand()
    found = infer_topology(table_of(want, CLUSTER_NS, 0.04, 5))
    assert_same(found.topology, want)
    assert any("sub-NUMA" in note for note in found.notes)


def test_eight_sockets_with_links_of_several_hops() -> None:
    want = shape(8, 1, 8, 2).expand()
    ns = latencies(want, MESH_NS, 0.05, 3)
    far = (want.package[:, None] ^ want.package[None, :]) > 3
    matrix = np.where(far, ns * 1.6, ns)
    found = infer_topology(LatencyTable("t.csv", want.cpus, matrix))
    assert_same(found.topology, want)
    (board,) = weigh(matrix, want).tiers
    assert (board.name, board.unit, board.count) == ("packages-4", "packages", 4)
    assert board.median == pytest.approx(110.0, rel=0.02)
    assert weigh(matrix, want).classes["remote"].median == pytest.approx(176.0, rel=0.02)


def tiered(base: Topology, level: Ids, near: float, sigma: float, seed: int) -> Matrix:
    """LLCs of one group at ``level`` are ``near`` ns apart, others of the package 101 ns."""
    matrix = latencies(base, {**COMPLEX_NS, "node": 101.0}, sigma, seed)
    other = (base.llc[:, None] != base.llc[None, :]) & (level[:, None] == level[None, :])
    return np.where(other, matrix * near / 101.0, matrix)


def test_quadrants_are_a_tier_and_no_nodes() -> None:
    """Quadrants of 3 LLCs at 90 ns, the rest of the package at 101."""
    want = shape(2, 12, 4).expand()
    matrix = tiered(want, want.llc // 3, 90.0, 0.02, 4)
    assert_same(infer_topology(LatencyTable("t.csv", want.cpus, matrix)).topology, want)
    evidence = weigh(matrix, want)
    (tier,) = evidence.tiers
    assert (tier.name, tier.unit, tier.count) == ("llcs-3", "llcs", 3)
    assert tier.pairs == 8 * 3 * 16
    assert tier.median == pytest.approx(90.0, rel=0.01)
    assert tier.low < tier.median < tier.high
    assert evidence.classes["node"].median == pytest.approx(101.0, rel=0.01)
    assert evidence.classes["node"].pairs == 2 * 66 * 16 - tier.pairs
    assert evidence.fit > 0.95


def test_tiers_of_tiers() -> None:
    want = shape(1, 16, 4).expand()
    matrix = tiered(want, want.llc // 2, 60.0, 0.02, 5)
    half = (want.llc[:, None] // 8 == want.llc[None, :] // 8) & (matrix > 95.0)
    found = weigh(np.where(half, matrix * 0.8, matrix), want).tiers
    assert [tier.count for tier in found] == [2, 8]
    assert [round(tier.median) for tier in found] == [60, 81]


def test_no_tiers_where_there_are_none() -> None:
    for seed in range(20):
        want = shape(2, 4, 4).expand()
        table = table_of(want, COMPLEX_NS, 0.08, seed)
        assert_same(infer_topology(table).topology, want)
        assert weigh(table.symmetric(), want).tiers == []


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_chance_makes_no_tier(packages: int, llcs: int, cores: int, seed: int) -> None:
    """Small machines have so few pairs that some grouping always looks good."""
    want = shape(packages, llcs, cores).expand()
    if len(want.cpus) > 1:
        assert weigh(latencies(want, COMPLEX_NS, 0.06, seed), want).tiers == []


def foreign(matrix: Matrix, topology: Topology, ns: float) -> Matrix:
    """Change the table as if the lines of package 1's pairs had their home in package 0."""
    inside = (topology.package == 1)[:, None] & (topology.package == 1)[None, :]
    return np.where(inside & (topology.llc[:, None] != topology.llc[None, :]), ns, matrix)


def test_package_whose_lines_had_a_remote_home() -> None:
    want = shape(2, 8, 6, 2).expand()
    rng = np.random.default_rng(7)
    noise = np.tril(rng.lognormal(0.0, 0.02, (192, 192)), -1)
    matrix = foreign(latencies(want, COMPLEX_NS, 0.02, 6), want, 201.0)
    matrix = np.tril(matrix, -1) * noise
    matrix = matrix + matrix.T
    found = infer_topology(LatencyTable("t.csv", want.cpus, matrix))
    assert_same(found.topology, want)
    assert any("CPUs 48-95,144-191 count as one package" in note for note in found.notes)
    classes = weigh(matrix, want).classes
    assert classes["node"].median == pytest.approx(105.0, rel=0.02)
    assert classes["home_remote"].median == pytest.approx(201.0, rel=0.02)
    assert classes["remote"].median == pytest.approx(200.0, rel=0.02)


def test_cores_that_share_an_l2() -> None:
    cores = np.arange(48)
    want = make_topology(
        range(48),
        {"package": cores // 24, "node": cores // 24, "llc": cores // 24, "l2": cores // 4,
         "core": cores},
    )  # fmt: skip
    matrix = latencies(want, {**MESH_NS, "llc": 60.0, "remote": 120.0}, 0.05, 8)
    l2 = (want.l2[:, None] == want.l2[None, :]) & ~np.eye(48, dtype=bool)
    found = infer_topology(LatencyTable("t.csv", want.cpus, np.where(l2, matrix * 0.5, matrix)))
    assert same(found.topology, want)
    form = regular_form(found.topology)
    assert form is not None
    assert form.cores_per_l2 == 4
    (tier,) = weigh(np.where(l2, matrix * 0.5, matrix), want).tiers
    assert (tier.name, tier.unit, tier.count) == ("l2", "cores", 4)
    assert tier.median == pytest.approx(30.0, rel=0.02)


def test_a_few_wild_measurements_change_nothing() -> None:
    want = shape(2, 8, 8, 2).expand()
    matrix = latencies(want, COMPLEX_NS, 0.05, 9)
    rng = np.random.default_rng(9)
    for _ in range(300):
        i, j = rng.integers(0, 256, 2)
        matrix[i, j] = matrix[j, i] = matrix[i, j] * rng.uniform(1.0, 20.0)
    np.fill_diagonal(matrix, 0.0)
    found = infer_topology(LatencyTable("t.csv", want.cpus, matrix))
    assert_same(found.topology, want)


@pytest.mark.parametrize("fast", [1, 3, 20])
def test_noise_between_siblings_makes_no_other_level(fast: int) -> None:
    """Siblings are one pair with one measurement, so the noise of a pair counts in full."""
    want = shape(1, 3, 8, 2).expand()
    matrix = latencies(want, COMPLEX_NS, 0.05, fast)
    siblings = np.argwhere(np.triu((want.core[:, None] == want.core[None, :]) & (matrix > 0)))
    for i, j in siblings[:fast]:
        matrix[i, j] = matrix[j, i] = matrix[i, j] * 0.6
    assert_same(infer_topology(LatencyTable("t.csv", want.cpus, matrix)).topology, want)


def test_missing_pairs() -> None:
    want = shape(2, 4, 8).expand()
    matrix = latencies(want, COMPLEX_NS, 0.05, 10)
    lost = np.tril(np.random.default_rng(10).random(matrix.shape) < 0.3, -1)
    matrix[lost | lost.T] = np.nan
    found = infer_topology(LatencyTable("t.csv", want.cpus, matrix))
    assert_same(found.topology, want)


@pytest.mark.parametrize(
    ("value", "cores", "llcs"), [(10.0, 1, 1), (25.0, 2, 1), (52.0, 2, 1), (110.0, 2, 2)]
)
def test_two_cpus(value: float, cores: int, llcs: int) -> None:
    found = infer_topology(parse_latency_csv(f",\n{value},\n", "a.csv")).topology
    assert (found.count("core"), found.count("llc")) == (cores, llcs)


def test_confidence_falls_with_noise() -> None:
    want = shape(2, 4, 4, 2).expand()
    words = []
    for sigma in (0.03, 0.5):
        matrix = latencies(want, COMPLEX_NS, sigma, 11)
        words.append({level.name: level.sure for level in weigh(matrix, want).levels})
    assert set(words[0].values()) == {"clear"}
    assert "clear" not in words[1].values()


@settings(deadline=None)
@given(st.data(), st.integers(1, 3), st.integers(1, 6), st.integers(1, 6), st.integers(1, 4))
def test_short_form_means_the_same_machine(
    data: st.DataObject, packages: int, llcs: int, cores: int, threads: int
) -> None:
    nodes = data.draw(st.sampled_from([n for n in range(1, llcs + 1) if llcs % n == 0]))
    topology = data.draw(numbered(shape(packages, llcs, cores, threads, nodes)))
    form = regular_form(topology)
    if form is not None:
        assert same(form.expand(), topology)
    usual = regular_form(shape(packages, llcs, cores, threads, nodes).expand())
    assert usual is not None


@settings(deadline=None)
@given(st.sets(st.integers(0, 300), min_size=1))
def test_cpu_lists_survive_a_round_trip(cpus: set[int]) -> None:
    assert parse_cpu_list(cpu_list(sorted(cpus))) == sorted(cpus)


def test_styles_do_not_matter() -> None:
    want = shape(2, 3, 4, 2).expand()
    matrix = latencies(want, COMPLEX_NS, 0.05, 12)
    for style in ("lower", "ragged", "full"):
        found = infer_topology(parse_latency_csv(to_csv(matrix, style), "a.csv"))
        assert_same(found.topology, want)
