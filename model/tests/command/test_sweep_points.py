# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests which points a sweep has, and what their rows contain about the machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from common.errors import UserError
from model.machines.presets import load_machine
from model.run.experiment import load_experiment
from model.run.run import point_argv
from model.run.sweep.sweep import Row, caches_of, make_row, missing, plan_sweep
from model.tables.sweep import swept
from sweeping import raw, request, rows_of

pytestmark = pytest.mark.usefixtures("stand_ins")


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


def test_facts_follow_the_placement() -> None:
    machine = load_machine("epyc-7763-2s")
    assert [caches_of(machine, 16, how) for how in ("compact", "scatter")] == [1, 16]
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
    with pytest.raises(UserError, match="'llcs': a column has that name"):
        make_row(point, clash)


def test_relative_figures_are_of_the_same_point_and_seed(figures: Path) -> None:
    points, _ = plan_sweep(
        request(experiments=(load_experiment("figures"),), variants=(), cpus=(4, 8), seeds=2)
    )
    rows: list[Row] = []
    for point in points:
        fps = 10.0 * point.known["seed"] * (2.0 if point.known["variant"] == "pad" else 1.0)
        figure = {"fps": fps, "kernel_share": 0.1, "map_bytes": 64.0, "cycles_per_set": 5.0}
        rows.append(make_row(point, {**raw(), "metrics": figure}))
    (experiment,) = swept(rows)
    frame = experiment.frame
    assert set(frame[frame["variant"] == "pad"]["figure fps_relative"]) == {2.0}
    assert set(frame[frame["variant"] == "shard"]["figure fps_relative"]) == {1.0}
    assert experiment.variants == ("stock", "pad", "shard")
    (alone,) = swept([row for row in rows if row["variant"] == "pad"])
    assert alone.frame["figure fps_relative"].isna().all()
