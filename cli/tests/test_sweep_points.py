# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The points of a sweep: which there are, and what their rows contain about the machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from common.errors import UserError
from conftest import Cli, assert_user_error
from model.machines.llc_split import split_llcs
from model.machines.presets import load_machine, machine_topology
from model.run.experiment import load_experiment
from model.run.run import point_argv
from model.run.sweep.sweep import cpu_facts, make_row, missing, plan_sweep
from sweeping import raw, request, rows_of


def test_every_combination_is_a_point() -> None:
    points, left_out = plan_sweep(request(caps=(64, 8), cpus=(4, 16, 300), seeds=3))
    assert len(points) == 2 * 2 * 2 * 3
    assert len({point.key for point in points}) == len(points)
    assert left_out == ["epyc-7763-2s has 256 CPUs: left out 300"]
    assert {point.known["cpus"] for point in points} == {4, 16}


def test_several_experiments_share_variants_only_where_they_have_them() -> None:
    both = (load_experiment("cpumask-yield"), load_experiment("atomic-inc"))
    points, _ = plan_sweep(request(experiments=both, variants=("sbm", "atomic"), cpus=(4,)))
    assert [(p.known["experiment"], p.known["variant"]) for p in points] == [
        ("cpumask-yield", "sbm"),
        ("atomic-inc", "atomic"),
    ]
    everything, _ = plan_sweep(request(experiments=both, variants=(), cpus=(4,)))
    assert len(everything) == 8


def test_wrong_names_and_nothing_to_run() -> None:
    with pytest.raises(UserError, match="did you mean 'global'"):
        plan_sweep(request(variants=("gobal",)))
    with pytest.raises(UserError, match="nothing to run: epyc-7763-2s has 256 CPUs"):
        plan_sweep(request(cpus=(512,)))


def test_facts_of_the_cpus_in_use() -> None:
    topology = machine_topology(load_machine("epyc-7763-2s"))
    assert cpu_facts(topology, 12) == {
        "llcs": 2, "llc_cpus": 8, "nodes": 1, "packages": 1, "shards": 2,
    }  # fmt: skip
    assert cpu_facts(topology, 256) == {
        "llcs": 16, "llc_cpus": 16, "nodes": 2, "packages": 2, "shards": 16,
    }  # fmt: skip


def test_facts_follow_the_placement() -> None:
    topology = machine_topology(load_machine("epyc-7763-2s"))
    assert cpu_facts(topology, 16, "compact") == {
        "llcs": 1, "llc_cpus": 16, "nodes": 1, "packages": 1, "shards": 1,
    }  # fmt: skip
    assert cpu_facts(topology, 16, "scatter") == {
        "llcs": 16, "llc_cpus": 1, "nodes": 2, "packages": 2, "shards": 16,
    }  # fmt: skip
    (point,) = plan_sweep(request(variants=("sbm",), cpus=(16,), placement="compact"))[0]
    assert (point.known["placement"], point.known["llcs"]) == ("compact", 1)
    argv = point_argv(point.plan, point.point)
    on = argv[argv.index("--on") + 1].split(",")
    assert on[:4] == ["0", "128", "1", "129"]  # siblings first
    assert len(on) == 16


def test_rows_that_are_there_are_not_missing() -> None:
    points, _ = plan_sweep(request(cpus=(4, 16)))
    rows = rows_of(points[:1])
    assert [p.known["cpus"] for p in missing(points, rows)] == [16, 16, 4]  # heavy ones first
    for other in ({"simulator_sha256": "t" * 64}, {"seeds": 2}):
        changed, _ = plan_sweep(request(cpus=(4, 16), **other))
        assert len(missing(changed, rows)) == len(changed) - (1 if "seeds" in other else 0)


def test_a_row_has_its_key_facts_and_metrics() -> None:
    (point,) = plan_sweep(request(variants=("sbm",), cpus=(16,)))[0]
    row = make_row(point, raw())
    assert json.loads(row["params"])["yield_ns"] == 1290
    assert (row["events"], row["seconds"], row["cycles_per_op"]) == (7, 0.5, 100.0)
    clash = raw()
    clash["metrics"]["llcs"] = 3.0
    with pytest.raises(UserError, match="'llcs': the name is taken"):
        make_row(point, clash)


def test_caches_are_cut_and_nothing_else_changes(tmp_path: Path) -> None:
    whole = load_machine("epyc-9654-2s")
    assert split_llcs(whole, 1, tmp_path) is whole
    cut = split_llcs(whole, 4, tmp_path)
    assert cut.name == "epyc-9654-2s-llc-by-4"
    before, after = machine_topology(whole), machine_topology(cut)
    assert cpu_facts(before, 384) == {**cpu_facts(after, 384), "llcs": 24, "llc_cpus": 16,
                                      "shards": 24}  # fmt: skip
    assert (cpu_facts(after, 384)["llcs"], cpu_facts(after, 384)["llc_cpus"]) == (96, 4)
    kept = ("cpu", "package", "node", "core", "thread")
    assert [[c[key] for key in kept] for c in before["cpus"]] == [
        [c[key] for key in kept] for c in after["cpus"]
    ]


@pytest.mark.parametrize(
    ("machine", "parts", "words"),
    [
        ("epyc-9654-2s", "3", "has 8 cores, 1 to an L2: they cannot be cut in 3"),
        ("xeon-480", "2", "one last-level cache per node"),
        ("epyc-9654-2s", "0", "--split-llc"),
    ],
)
def test_caches_that_cannot_be_cut(
    cli: Cli, tmp_path: Path, machine: str, parts: str, words: str
) -> None:
    args = ("--machine", machine, "--split-llc", parts, "--out", tmp_path / "s.parquet")
    assert_user_error(cli("sweep", "--experiment", "cpumask-yield", *args), words)
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_counts_cannot_be_cut(tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_text('name = "odd"\n[topology]\nllc = []\n')
    with pytest.raises(UserError, match="has no cores_per_llc and llcs_per_node"):
        split_llcs(load_machine(str(path)), 2, tmp_path)
