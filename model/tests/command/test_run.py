# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests points, merging, the promised JSON and determinism of the verb run."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import saved_results
from common.provenance import commit
from conftest import Cli
from model.machines.presets import load_machine, machine_topology
from model.results.run import Curve
from model.run.experiment import Band, load_experiment
from model.run.run import RunRequest, curve_errors, merge, plan_run, point_argv, sweep_threads
from model.run.run_options import with_settings

pytestmark = pytest.mark.usefixtures("stand_ins")


def request(experiment: str = "cpumask-yield", **changes: Any) -> RunRequest:
    """A request for the experiment's own machine."""
    loaded = load_experiment(experiment)
    machine = load_machine(loaded.machine)
    cpus = {"epyc-7763-2s": 256, "xeon-8176-8s": 448}[machine.name]
    return replace(RunRequest(loaded, machine, cpus), **changes)


def raw(cycles: float, **more: Any) -> dict[str, Any]:
    """The simulator's output, as far as the merge reads it."""
    return {
        "params": {},
        "metrics": {"cycles_per_op": cycles, "ns_per_op": cycles / 2.5, **more},
        "simulator": {"events": 10, "seconds": 0.25},
        "lines": [],
    }


def test_provenance_names_everything(cli: Cli) -> None:
    provenance = cli("run", "cpumask-yield", "--json", "--seed", "7").json["provenance"]
    machine = load_machine("epyc-7763-2s")
    assert provenance["seed"] == 7
    assert provenance["machine_file"] == "machines/epyc-7763-2s.toml"
    assert provenance["machine_sha256"] == machine.sha256
    assert len(provenance["simulator_sha256"]) == 64
    assert provenance["version"]
    assert provenance["commit"]
    assert "atomic-inc on xeon-8176-8s" in provenance["calibration"]
    assert "core-to-core-latency-plus" in provenance["calibration"]


def test_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert re.fullmatch(r"unknown|[0-9a-f]{40}(-dirty)?", commit())
    monkeypatch.setattr("common.provenance.ROOT", tmp_path)
    assert commit() == "unknown"
    for args in (("init", "-q"), ("-c", "user.name=n", "-c", "user.email=e", "commit", "-q",
                                  "--allow-empty", "-m", "m")):  # fmt: skip
        subprocess.run(["git", "-C", tmp_path, *args], check=True)
    clean = commit()
    assert re.fullmatch(r"[0-9a-f]{40}", clean)
    (tmp_path / "new").write_text("untracked files are not a change")
    assert commit() == clean
    subprocess.run(["git", "-C", tmp_path, "add", "new"], check=True)
    assert commit() == f"{clean}-dirty"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit() == "unknown"


def test_out_is_what_json_prints(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    outcome = cli("run", "cpumask-yield", "--json", "--out", path)
    assert path.read_text() == outcome.out
    assert path.stat().st_mode & 0o777 == 0o644
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_published_figures_stay_with_their_machine_and_size(cli: Cli, figures: Path) -> None:
    for args in (("--machine", "xeon-8358-2s"), ("--cpus", "128"), ("--placement", "compact")):
        for experiment, none in (("cpumask-yield", None), ("figures", {})):
            data = cli("run", experiment, "--json", *args).json
            assert all(variant["published"] == none for variant in data["variants"])
            assert not any(variant.get("error") for variant in data["variants"])
            assert "published" not in data


def test_variants_are_chosen_in_the_order_of_the_experiment(cli: Cli) -> None:
    data = cli(
        "run", "cpumask-yield", "--json", "--variant", "sbm", "--variant", "llc", "--variant", "sbm"
    ).json
    assert [v["name"] for v in data["variants"]] == ["llc", "sbm"]
    assert [v["relative"] for v in data["variants"]] == [None, None]  # the baseline was not run


def test_a_machine_file_by_path(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = load_machine("xeon-8358-2s").path.read_text()
    path.write_text(text.replace('name = "xeon-8358-2s"', 'name = "mine"'))
    data = cli("run", "cpumask-yield", "--machine", path, "--json", "--variant", "llc").json
    assert data["machine"]["name"] == "mine"
    assert data["provenance"]["machine_file"] == str(path)


def test_arguments_of_the_simulator() -> None:
    plan = plan_run(request(seed=9, cpus=16, placement="scatter", variants=("llc",)))
    (point,) = plan.points
    argv = point_argv(plan, point)
    assert argv[1] == "cpumask-yield"
    options = dict(zip(argv[2::2], argv[3::2], strict=True))
    assert options["--variant"] == "llc"
    assert options["--seed"] == "9"
    assert "--cpus" not in options
    numbers = [int(cpu) for cpu in options["--on"].split(",")]
    topology = {cpu["cpu"]: cpu for cpu in machine_topology(plan.request.machine)["cpus"]}
    assert len({topology[cpu]["llc"] for cpu in numbers}) == 16
    assert [topology[cpu]["package"] for cpu in numbers[:4]] == [0, 1, 0, 1]
    given = {a.partition("=")[0] for a, o in zip(argv[1:], argv, strict=False) if o == "--param"}
    assert given == {param.name for param in plan.request.experiment.params}
    plan = plan_run(request(cpus=16, params=(("yield_ns", 12.5),), variants=("llc",)))
    argv = point_argv(plan, plan.points[0])
    assert argv[argv.index("--cpus") + 1] == "16"
    assert "--on" not in argv
    assert "yield_ns=12.5" in argv


@pytest.mark.parametrize(
    ("cpus", "tail"),
    [(1, (1,)), (2, (1, 2)), (256, (224, 256)), (448, (384, 420, 448)), (2048, (840, 1680, 2048))],
)
def test_thread_counts(cpus: int, tail: tuple[int, ...]) -> None:
    experiment = load_experiment("atomic-inc")
    published = experiment.published_on("xeon-8176-8s")
    assert published is not None
    counts = sweep_threads(published.points, cpus)
    assert counts[-len(tail) :] == tail
    assert sorted(set(counts)) == list(counts)


def test_errors_and_bands() -> None:
    plan = plan_run(request())
    costs = {"global": 1000.0, "node": 500.0, "llc": 19.0, "llc-byte": 5.0}
    raws = [raw(costs.get(point.variant.name, 20.0)) for point in plan.points]
    rows = {v["name"]: v for v in merge(plan, raws).to_data()["variants"]}
    assert rows["node"]["error"] == pytest.approx(0.5 / 0.329209 - 1)
    assert rows["node"]["accepted"] is False  # 52% off, the band is 20%
    assert rows["llc"]["accepted"] is True  # a factor of 1.46
    assert rows["llc-byte"]["accepted"] is True
    assert "accepted" not in rows["sbm"]


def test_band() -> None:
    assert [Band(within=0.2).holds(ratio * 0.3, 0.3) for ratio in (1.19, 0.79)] == [True, False]
    assert [Band(factor=1.5).holds(ratio * 0.3, 0.3) for ratio in (1.49, 1 / 1.51)] == [True, False]


def test_curve_errors() -> None:
    known = {"ns_per_op": 1.0, "published": 1.0, "published_low": 1.0, "published_high": 1.0}
    points = [
        {"threads": n, "error": e, **known} for n, e in ((1, 9.0), (2, -0.1), (4, 0.3), (8, 0.2))
    ]
    points.append({"threads": 16, "ns_per_op": 1.0})
    result = saved_results.result([saved_results.swept("a", *points)], sweep="threads")
    assert isinstance(result, Curve)
    (curve,) = result.variants
    assert curve_errors(curve, 2) == [0.1, 0.3, 0.2]
    assert curve.judge(curve_errors(curve, 2)) == (0.2, 0.3)
    assert curve.judge(curve_errors(curve, 4)) == pytest.approx((0.25, 0.3))
    assert curve_errors(curve, 9) == []


STEPS = {"stock-waiting", "flat-waiting", "bytes-waiting"}


def test_an_input_that_was_set_is_known() -> None:
    declared = load_experiment("ffmpeg-rt")
    changed = with_settings(declared, ("row_us=42", "threads=18.0", "row_us=43.5"))
    before = {param.name: param for param in declared.params}
    after = {param.name: param for param in changed.params}
    assert list(after) == list(before)
    assert after["row_us"].value == 43.5
    assert before["row_us"].low is not None
    assert after["row_us"].low is None
    assert changed.calibrated is None
    assert after["threads"].source.startswith("--set; ")
    assert after["rows"] == before["rows"]


def test_published_figures_are_of_the_published_conditions() -> None:
    """The published machine had RT_PUSH_IPI on: a run with it off has no published figures."""
    declared = load_experiment("ffmpeg-rt")
    assert declared.published
    assert not with_settings(declared, ("push_ipi=0",)).published
    assert with_settings(declared, ("push_ipi=1", "row_us=42")).published == declared.published
    twice = with_settings(declared, ("push_ipi=0", "push_ipi=1", "row_us=42", "row_us=43.5"))
    assert twice.published == declared.published
    sources = {param.name: param.source for param in twice.params}
    assert sources["row_us"] == "--set; 41 in ffmpeg-rt.toml"


def test_a_setting_replaces_that_of_a_variant() -> None:
    inputs = with_settings(load_experiment("primitives"), ("instructions=3",)).variant("refcount")
    assert not dict(inputs.params)


def test_a_setting_reaches_the_simulator(cli: Cli) -> None:
    data = cli(
        "run", "cyclictest", "--cpus", "8", "--variant", "shard", "--json", "--set", "irq_ns=1600"
    ).json
    assert data["params"]["irq_ns"] == 1600
    assert data["param_sources"]["irq_ns"]["source"] == "--set; 400 in cyclictest.toml"


def test_steps_run_when_they_are_named() -> None:
    experiment = load_experiment("ffmpeg-rt")
    request = RunRequest(experiment, load_machine("xeon-480"), 480)
    usual = {point.variant.name for point in plan_run(request).points}
    assert usual
    assert not usual & STEPS
    assert {variant.name for variant in experiment.variants} >= STEPS
    named = RunRequest(experiment, load_machine("xeon-480"), 480, variants=("bytes-waiting",))
    assert [point.variant.name for point in plan_run(named).points] == ["bytes-waiting"]
