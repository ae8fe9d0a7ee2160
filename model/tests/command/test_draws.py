# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the distribution of samples, their order of latencies, and the runs made of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import qmc

from common.paths import MACHINES
from model.machines.presets import Machine, load_machine
from model.run.experiment import experiment_names, load_experiment
from model.run.run import RunRequest, plan_run, point_argv, point_params
from model.run.uncertain.draws import draw, latin_hypercube, make_samples, ordered_keys, seeds
from model.run.uncertain.inputs import Input, distance_order, experiment_inputs, machine_inputs

YIELD = Input("param.yield_ns", 1290, 600, 2200, "")


def test_half_of_the_samples_lie_on_each_side_of_the_value() -> None:
    values = [sample["x"] for sample in draw([Input("x", 10, 8, 40, "")], {}, 1000, 1)]
    below = sorted(value for value in values if value < 10)
    above = sorted(value for value in values if value >= 10)
    assert (len(below), len(above)) == (500, 500)
    # Evenly spread on each side: one sample in each of 500 equal parts.
    assert [int((value - 8) / 2 * 500) for value in below] == list(range(500))
    assert [int((value - 10) / 30 * 500) for value in above] == list(range(500))


def test_draws_are_those_of_scipy() -> None:
    for count, inputs, seed in ((20, 1, 1), (20, 9, 7), (128, 3, 4_000_000_000)):
        theirs = qmc.LatinHypercube(inputs, rng=np.random.default_rng(seed)).random(count)
        assert np.array_equal(latin_hypercube(count, inputs, seed), theirs)


def test_inputs_are_drawn_together_and_alike_for_one_seed() -> None:
    inputs = [YIELD, Input("b", 1, 0, 2, ""), Input("c", 5, 5, 5, "")]
    first = draw(inputs, {}, 64, 7)
    assert first == draw(inputs, {}, 64, 7)
    assert first != draw(inputs, {}, 64, 8)
    assert {sample["c"] for sample in first} == {5.0}
    a, b = ([sample[name] for sample in first] for name in ("param.yield_ns", "b"))
    assert abs(float(np.corrcoef(a, b)[0, 1])) < 0.4
    assert len(set(seeds(7, 64))) == 64
    assert seeds(7, 64) == seeds(7, 64)


def test_whole_numbers_stay_whole() -> None:
    values = {sample["n"] for sample in draw([Input("n", 8, 4, 16, "", whole=True)], {}, 500, 1)}
    assert values == set(range(4, 17))


def machine_data(rng: random.Random) -> dict[str, Any]:
    """A machine file's numbers: values in order, ranges that overlap, some without a range."""
    keys = [key for key in ("smt", "llc", "node", "package", "remote") if rng.random() < 0.8]
    values = sorted(rng.uniform(5, 100) for _ in range(len(keys) + 2))

    def node(value: float) -> Any:
        if rng.random() < 0.3:
            return value
        return {
            "value": value,
            "low": value * rng.uniform(0.2, 1),
            "high": value * rng.uniform(1, 4),
        }

    chain = dict(zip(keys, values, strict=False))
    data: dict[str, Any] = {"latency_ns": {key: node(value) for key, value in chain.items()}}
    if "node" in chain and "package" in chain:
        between = rng.uniform(chain["node"], chain["package"])
        data["tier"] = [{"name": "half", "nodes": 2, "ns": node(between)}]
    return data


@pytest.mark.parametrize("seed", range(40))
def test_latencies_keep_their_order_and_their_ranges(seed: int) -> None:
    data = machine_data(random.Random(seed))
    machine = Machine("m", Path("m"), data)
    inputs = machine_inputs(machine)
    keys = distance_order(data)
    fixed: dict[str, float] = {f"latency_ns.{k}": v for k, v in data["latency_ns"].items()}
    fixed |= {f"tier.{tier['name']}": tier["ns"] for tier in data.get("tier", [])}
    for values in draw(inputs, data, 50, seed):
        used = [values.get(key, fixed[key]) for key in keys]
        assert used == sorted(used)
        for input_ in inputs:
            assert input_.low <= values[input_.name] <= input_.high


def test_tiers_stand_behind_the_unit_that_they_join() -> None:
    tiers = [
        {"name": "board", "packages": 4, "ns": 9.0},
        {"name": "big", "cores": 8, "ns": 3.0},
        {"name": "small", "cores": 4, "ns": 2.0},
    ]
    data = {"latency_ns": {"remote": 10.0, "smt": 1.0, "llc": 4.0, "memory": 1.0}, "tier": tiers}
    expected = ["latency_ns.smt", "tier.small", "tier.big", "latency_ns.llc", "tier.board",
                "latency_ns.remote"]  # fmt: skip
    assert distance_order(data) == expected
    assert ordered_keys(data) == expected


def test_latencies_that_are_not_in_order_in_the_file_are_left_alone() -> None:
    wide = {"value": 50.0, "low": 10.0, "high": 90.0}
    data = {"latency_ns": {"llc": wide, "node": {**wide, "value": 20.0}, "remote": 60.0}}
    assert ordered_keys(data) == ["latency_ns.llc", "latency_ns.remote"]
    inputs = machine_inputs(Machine("m", Path("m"), data))
    assert max(sample["latency_ns.node"] for sample in draw(inputs, data, 50, 1)) > 60


def test_a_sample_has_files_and_arguments_of_its_own() -> None:
    experiment, machine = load_experiment("cpumask-yield"), load_machine("xeon-480")
    inputs = [*machine_inputs(machine), *experiment_inputs(experiment)]
    made = make_samples(machine, experiment, inputs, 20, 5)
    assert len({sample.machine.flat for sample in made}) == 20
    for sample in made:
        data = sample.machine.data
        assert machine_inputs(sample.machine) == []  # plain numbers
        assert data["latency_ns"]["llc"] == sample.values["latency_ns.llc"]
        plan = plan_run(
            RunRequest(sample.experiment, sample.machine, 480, seed=sample.seed, variants=("llc",))
        )
        argv = point_argv(plan, plan.points[0])
        assert f"yield_ns={sample.values['param.yield_ns']:.12g}" in argv
        assert str(sample.machine.flat) in argv
        assert argv[argv.index("--seed") + 1] == str(sample.seed)
    assert "drawn" not in machine.path.read_text()


def test_inputs_of_a_variant_are_not_drawn(tmp_path: Path, figures: Path) -> None:
    text = figures.read_text()
    figures.write_text(text.replace('title = "ours"', 'title = "ours", params = { wake_ns = 7 }'))
    experiment = load_experiment("figures")
    inputs = experiment_inputs(experiment)
    for sample in make_samples(load_machine("xeon-480"), experiment, inputs, 20, 1):
        request = RunRequest(sample.experiment, sample.machine, 480)
        drawn = sample.values["param.wake_ns"]
        assert point_params(request, sample.experiment.variant("shard"))["wake_ns"] == 7
        assert point_params(request, sample.experiment.variant("pad"))["wake_ns"] == drawn


def test_every_estimate_of_an_experiment_has_a_range_and_no_design_choice_has() -> None:
    for name in experiment_names():
        for param in load_experiment(name).params:
            guess = param.source.startswith(("estimate", "calibrated"))
            assert (param.low is not None) == guess, f"{name}: {param.name}"


@pytest.mark.parametrize("name", sorted(path.stem for path in MACHINES.glob("*.toml")))
def test_every_sample_of_every_preset_is_a_machine_file(name: str) -> None:
    machine, experiment = load_machine(name), load_experiment("cpumask-yield")
    inputs = machine_inputs(machine)
    for sample in make_samples(machine, experiment, inputs, 5, 3):
        assert sample.machine.flat_text.startswith("schedshard-machine 1\n")
