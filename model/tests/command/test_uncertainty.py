# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests intervals of predictions, published figures inside, and inputs calibrated again."""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import tomlkit

from conftest import Cli
from model.machines.numbers import set_number
from model.machines.presets import load_machine
from model.results.run import run_of
from model.run.experiment import load_experiment
from model.run.uncertain.calibrate import ROUNDS, Search
from model.run.uncertain.inputs import experiment_inputs, machine_inputs
from model.run.uncertain.intervals import headlines, interval
from model.run.uncertain.words import shares_of

pytestmark = pytest.mark.slow(reason="each test draws 20 samples or more")

RUN = ("run", "cpumask-yield", "--json", "--uncertainty")


@pytest.fixture(autouse=True)
def _inputs(stand_ins: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in's times follow the inputs, and the version does not change meanwhile."""
    monkeypatch.setenv("FAKE_SIM", "inputs")
    monkeypatch.setattr("common.provenance.commit", lambda: "c")


def naive(values: list[float], percent: float) -> float:
    """Return a percentile: the nth lowest of N is at n / (N + 1), linear in between."""
    ordered = sorted(values)
    place = percent / 100 * (len(ordered) + 1) - 1
    left = math.floor(place)
    right = min(left + 1, len(ordered) - 1)
    return ordered[left] + (place - left) * (ordered[right] - ordered[left])


@pytest.mark.parametrize("count", [20, 21, 64, 101])
def test_percentiles(count: int) -> None:
    rng = random.Random(count)
    values = [rng.lognormvariate(0, 2) for _ in range(count)]
    bounds = interval(values)
    assert bounds.samples == count
    for name, percent in (("low", 5), ("median", 50), ("high", 95)):
        assert getattr(bounds, name) == pytest.approx(naive(values, percent))


@pytest.mark.parametrize("count", [20, 40])
def test_the_interval_of_few_samples_holds_nine_further_ones_of_ten(count: int) -> None:
    rng = random.Random(7)
    held = 0
    for _ in range(4000):
        *values, further = [rng.lognormvariate(0, 1) for _ in range(count + 1)]
        held += interval(values).holds(further)
    assert held / 4000 == pytest.approx(0.9, abs=0.015)


def test_variants_are_compared_within_a_sample(cli: Cli) -> None:
    data = cli(*RUN, "40").json
    rows = {variant["name"]: variant for variant in data["variants"]}
    costs = rows["global"]["intervals"]["cycles_per_op"]
    assert costs["low"] < costs["median"] < costs["high"]  # follows latency_ns.memory
    # All but llc follow it alike: their costs relative to each other do not vary.
    for name in ("node", "llc-byte", "sbm"):
        bounds = rows[name]["interval"]
        assert bounds["high"] - bounds["low"] < 1e-4 * bounds["median"]
        assert bounds == rows[name]["intervals"]["relative"]
        assert bounds["median"] == pytest.approx(rows[name]["relative"], rel=1e-4)
    # llc follows yield_ns as well, and nothing else.
    drawn = {input_["name"]: input_["drawn"] for input_ in data["uncertainty"]["inputs"]}
    expected = [rows["llc"]["relative"] * value / 1290 for value in drawn["param.yield_ns"]]
    assert rows["llc"]["interval"]["low"] == pytest.approx(naive(expected, 5), rel=1e-3)
    assert rows["llc"]["interval"]["high"] == pytest.approx(naive(expected, 95), rel=1e-3)
    (values,) = [f for f in data["uncertainty"]["figures"] if f["variant"] == "llc"]
    assert values["values"] == pytest.approx(expected, rel=1e-3)


def test_published_figures_inside_and_outside(cli: Cli) -> None:
    data = cli(*RUN, "20").json
    inside_of = {v["name"]: v.get("published_inside") for v in data["variants"]}
    # global is the baseline, the last two have no published figure; node's interval is a point.
    assert inside_of == {
        "global": None, "node": False, "llc": True, "llc-byte": False, "sbm": None,
        "sbm-summary": None,
    }  # fmt: skip
    elsewhere = cli(*RUN, "20", "--cpus", "64", "--variant", "global", "--variant", "llc").json[
        "variants"
    ]
    assert not any("published_inside" in variant for variant in elsewhere)
    assert all("interval" in variant for variant in elsewhere)


def test_several_figures_have_intervals_by_name(cli: Cli, figures: Path) -> None:
    data = cli("run", "figures", "--uncertainty", "30", "--json").json
    stock, pad, shard = data["variants"]
    assert set(pad["interval"]) == {"fps_relative", "kernel_share", "map_bytes", "cycles_per_set"}
    assert set(pad["published_inside"]) == {"fps_relative", "kernel_share", "cycles_per_set"}
    assert pad["published_inside"]["cycles_per_set"] is False  # 300 always, 400 published
    # A figure that is 1 by definition or was calibrated gets no verdict.
    assert "published_inside" not in stock
    assert "published_inside" not in shard
    (line,) = data["published"]["lines"]
    assert line["interval"]["median"] == 800.0
    assert line["overlaps"] is True


def test_a_calibrated_input_is_chosen_again_in_each_sample(cli: Cli, figures: Path) -> None:
    data = cli("run", "figures", "--uncertainty", "30", "--json").json
    made = data["uncertainty"]["calibrated"]
    assert (made["name"], made["target"], made["missed"]) == ("param.row_us", 0.2, 0)
    names = [input_["name"] for input_ in data["uncertainty"]["inputs"]]
    assert "param.row_us" not in names
    assert "param.wake_ns" in names
    bounds = data["variants"][0]["interval"]["kernel_share"]
    assert 0.195 < bounds["low"] <= bounds["high"] < 0.205
    # row_us follows wake_ns, which is 50 to 200: the stand-in's share is 0.21 at 150 us and 100 ns.
    assert made["interval"]["low"] < 100 < 200 < made["interval"]["high"]


def test_samples_that_miss_the_figure_are_counted(cli: Cli, figures: Path) -> None:
    figures.write_text(figures.read_text().replace("high = 1000.0", "high = 160.0"))
    data = cli("run", "figures", "--uncertainty", "20", "--json").json
    missed = data["uncertainty"]["calibrated"]["missed"]
    assert 5 <= missed < 20  # samples whose wake_ns would need more than 160 us


@pytest.mark.parametrize(
    ("figure", "low", "high", "target"),
    [
        (lambda x: 5 / (5 + x), 1, 100, 0.2),
        (lambda x: 5 / (5 + x), 1, 100, 0.06),
        (lambda x: min(0.9, 60 / x**2), 4, 60, 0.2),
        (lambda x: 1 / (1 + (x / 40) ** 5), 1, 200, 0.2),
        (lambda x: x**3, 0.5, 50, 1000),
    ],
)
def test_a_search_finds_the_value(
    figure: Callable[[float], float], low: float, high: float, target: float
) -> None:
    search = Search(15.5, low, high, target)
    while (value := search.propose()) is not None:
        assert low <= value <= high
        search.tell(value, figure(value))
    assert search.reached
    assert figure(search.best) == pytest.approx(target, rel=0.02)
    assert len(search.trials) <= ROUNDS


def test_a_search_that_cannot_find_it_stops_at_the_end() -> None:
    search = Search(10, 5, 20, 0.9)
    while (value := search.propose()) is not None:
        search.tell(value, 1 / value)
    assert not search.reached
    assert search.best == 5


def test_the_page_and_the_terminal_name_the_inputs(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    variants = ("--variant", "global", "--variant", "llc")
    outcome = cli("run", "cpumask-yield", "--uncertainty", "64", *variants, "--out", path)
    assert outcome.status == 0, outcome.err
    assert "llc, relative: param.yield_ns 1" in " ".join(outcome.out.split())
    result = run_of(json.loads(path.read_text()))
    shares = {f.variant: shares_of(result, f) for f in headlines(result)}
    assert shares["llc"]["param.yield_ns"] > 0.9
    assert shares["global"]["latency_ns.memory"] > 0.9
    assert shares["global"].get("param.yield_ns", 0) < 0.2
    for verb in (("record", "show", path), ("compare", path, path)):
        assert cli(*verb).status == 0


def test_nothing_with_a_range_means_seeds_only(cli: Cli, figures: Path, tmp_path: Path) -> None:
    machine = load_machine("epyc-7763-2s")
    plain = tmp_path / "plain.toml"
    content = copy.deepcopy(machine.data) | {"name": "plain"}
    for input_ in machine_inputs(machine):
        set_number(content, input_.name, input_.value, "without its range")
    plain.write_text(tomlkit.dumps(content))
    args = ("run", "atomic-inc", "--machine", plain, "--cpus", "2", "--uncertainty", "20")
    assert experiment_inputs(load_experiment("atomic-inc")) == []
    outcome = cli(*args)
    assert outcome.status == 0, outcome.err
    text = " ".join(outcome.out.split())
    assert "from 20 seeds: neither the machine file nor the experiment has an input" in text
    data = cli(*args, "--json").json
    assert data["uncertainty"]["inputs"] == []
    bounds = data["variants"][0]["points"][0]["intervals"]["cycles_per_op"]
    assert bounds["low"] < bounds["high"]  # the stand-in adds seed / 1000
