# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The model's error is estimated from residuals, and printed with each prediction."""

import math
import tomllib
from dataclasses import replace
from pathlib import Path

import doctor_predictions
import fidelity
import numpy as np
import pytest

import saved_results
from common.errors import UserError
from common.paths import MACHINES
from conftest import Cli
from doctor.predict.rates import validation as table_validation
from model.machines.cores import core_costs, vendor_of, with_core
from model.run.experiment import experiment_names, load_experiment
from model.run.model_error import Residual, estimate, known_residuals, words
from model.run.run_options import RunOptions, make_request
from model.run.uncertain.intervals import widen

CURVES = tomllib.loads(fidelity.CURVES.read_text(encoding="utf-8"))["curve"]


def residual(machine: str, kind: str, error: float, threads: int = 2) -> Residual:
    """A point whose measured value is ``error`` times the prediction; inputs are known."""
    return Residual(machine, "Zen 2", kind, machine, threads, 100 * error, 100, 100, 100)


def made(machines: int, points: int, spread: float, rng: np.random.Generator) -> list[Residual]:
    """Machines of several kinds; all points of a machine have one log error of this spread."""
    return [
        residual(f"m{m}", f"kind {m % 4}", float(np.exp(error)))
        for m, error in enumerate(rng.normal(0, spread, machines))
        for _ in range(points)
    ]


def test_nearly_nine_of_ten_new_machines_are_within_the_factor() -> None:
    rng = np.random.default_rng(1)
    held = [
        abs(math.log(new.measured / new.predicted)) <= math.log(estimate(known, "kind 0").factor)
        for _ in range(300)
        for known, new in [(made(12, 5, 0.3, rng), made(1, 1, 0.3, rng)[0])]
    ]
    assert 0.83 <= np.mean(held) <= 0.95


def test_a_machine_counts_once_however_many_points_it_has() -> None:
    few = [residual("a", "locked", 1.5), residual("b", "locked", 1.1)]
    many = [*[residual("a", "locked", 1.5)] * 50, residual("b", "locked", 1.1)]
    assert estimate(many, "locked").factor == pytest.approx(estimate(few, "locked").factor)


def test_only_curves_on_which_nothing_was_chosen_count() -> None:
    fitted = replace(residual("a", "locked", 1.01, 420), calibrated=True)
    other = residual("b", "locked", 1.2, 16)
    error = estimate([fitted, other], "locked")
    assert error == estimate([other], "locked")
    assert error.sentence("Zen 2").startswith("validated on 1 curve of 1 machine, up to 16 threads")
    assert error.sentence(None) == (
        "not validated for locked operations on this type of core; "
        "on others 90% of points are within a factor of 1.20"
    )
    assert estimate([other], "far").sentence("Zen 2") == (
        "not validated for atomics that the line's home executes; "
        "for other kinds 90% of points are within a factor of 1.20"
    )


def test_what_unknown_inputs_explain_is_not_the_models_error() -> None:
    unsure = Residual("a", "Zen 2", "locked", "a", 2, 150, 100, 60, 166)
    sure = Residual("a", "Zen 2", "locked", "a", 2, 150, 100, 99, 101)
    assert estimate([unsure], "locked").factor < estimate([sure], "locked").factor


def test_an_interval_keeps_both_parts_apart() -> None:
    interval = {"low": 90.0, "median": 100.0, "high": 110.0, "samples": 20}
    point = {"threads": 2, "ns_per_op": 100.0, "cycles_per_op": 200.0, "published": 135.0,
             "published_low": 130.0, "published_high": 140.0, "error": -0.26,
             "published_inside": False, "intervals": {"ns_per_op": interval}}  # fmt: skip
    result = saved_results.result([saved_results.swept("a", point)], sweep="threads")
    widen(result, ["a"], "locked", 1.4)
    (row,) = result.variants[0].rows()
    wide = row.interval_of("ns_per_op")
    assert wide is not None
    assert wide.inputs == {"low": 90.0, "high": 110.0}
    assert wide.model == {"factor": 1.4}
    assert wide.low < 90 < 110 < wide.high
    assert row.inside("ns_per_op") is True


def test_every_kind_of_an_operation_has_words() -> None:
    kinds = {v.kind for name in experiment_names() for v in load_experiment(name).variants}
    kinds |= {curve["kind"] for curve in CURVES}
    assert all(words(kind) != kind for kind in kinds)


def test_residuals_are_those_of_the_published_curves() -> None:
    """If this fails after a point was added or changed, run `make fidelity`."""
    want = [(c["name"], c["kind"], float(ns)) for c in CURVES
            for _, ns in c.get("points") or c["pairs"]]  # fmt: skip
    known = [(r.curve, r.kind, r.measured) for r in known_residuals()]
    assert [row[:2] for row in known] == [row[:2] for row in want]
    assert [ns for *_, ns in known] == pytest.approx([ns for *_, ns in want], rel=1e-3)
    page = fidelity.PAGE.read_text(encoding="utf-8")
    scores = fidelity.scores_of(known_residuals(), known_residuals())
    for made in (fidelity.headline(scores), fidelity.kinds(scores, known_residuals())):
        assert "\n".join(made) in page
    assert "\n".join(fidelity.lines(scores)) in page


def test_intervals_hold_what_they_promise() -> None:
    """Nine of ten blind points are inside, at least three of four of each kind."""
    scores = [score for score in fidelity.scores_of(known_residuals(), known_residuals())
              if not score.of.calibrated]  # fmt: skip
    assert 0.85 <= np.mean([score.inside for score in scores]) <= 0.95
    for kind in {score.of.kind for score in scores}:
        assert np.mean([score.inside for score in scores if score.of.kind == kind]) > 0.75


def test_doctor_says_what_a_run_says() -> None:
    """Doctor's table contains the sentence, because doctor comes without the residuals."""
    assert table_validation() == doctor_predictions.validation()


@pytest.mark.parametrize(
    ("machine", "op", "work", "kind"),
    [
        ("altra-max-2s", "atomic-inc", None, "far"),
        ("xeon-8358-2s", "atomic-inc", None, "locked"),
        ("xeon-8358-2s", "atomic-inc", 100.0, "work"),
    ],
)
def test_the_kind_follows_from_machine_and_options(
    machine: str, op: str, work: float | None, kind: str
) -> None:
    from model.run.run import model_errors, plan_run

    options = RunOptions("primitives", machine=machine, ops=(op,), threads="1", work_ns=work)
    (error,) = model_errors(plan_run(make_request(options)))
    assert error.kind == kind


@pytest.mark.long
def test_work_between_operations_takes_its_time(cli: Cli, real: Path) -> None:
    words_ = ("run", "primitives", "--op", "atomic-inc", "--threads", "1", "--json")
    bare = cli(*words_).json["variants"][0]["points"][0]["ns_per_op"]
    busy = cli(*words_, "--work", "500").json
    assert busy["work_ns"] == 500
    assert busy["variants"][0]["points"][0]["ns_per_op"] == pytest.approx(bare + 500, rel=0.03)


@pytest.mark.long
def test_threads_with_work_meet_at_lines(cli: Cli, real: Path) -> None:
    """With equal work, 19 threads would follow each other, and never wait for a line."""
    words_ = ("run", "primitives", "--op", "atomic-inc", "--lines", "5", "--work", "600", "--json")
    where = ("--machine", str(MACHINES / "published" / "e5-2680v4.toml"), "--placement", "scatter")
    points = cli(*words_, *where, "--threads", "8,19").json["variants"][0]["points"]
    few, many = (point["ns_per_op"] for point in points)
    assert many > 1.15 * few


def test_a_core_names_the_presets_that_name_it() -> None:
    cores = tomllib.loads((MACHINES / "cores/cores.toml").read_text(encoding="utf-8"))
    named = {machine: name for name, core in cores.items() for machine in core["machines"]}
    files = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in MACHINES.glob("*.toml")}
    assert {name: data["core"] for name, data in files.items() if "core" in data} == named
    assert files.keys() - named.keys() == {"future-2048"}


def test_a_number_of_the_file_goes_before_that_of_its_core() -> None:
    text = """core = "zen4"\n[topology]\nthreads_per_core = 1\n[op_cycles]\nstore = 9\n
    [protocol]\ndata_leg = 1\n[source]\n"protocol.data_leg" = "mine" """
    data, costs = with_core(tomllib.loads(text), "m.toml"), core_costs("zen4")
    assert "core" not in data
    assert data["op_cycles"] == costs.op_cycles | {"store": 9}
    assert data["protocol"].keys() == costs.protocol.keys() - {"smt_locked_ns"}  # no siblings
    assert (data["protocol"]["data_leg"], data["source"]["protocol.data_leg"]) == (1, "mine")
    assert "op_cycles.store" not in data["source"]  # the file must say where its own is from
    assert "op_cycles.locked" in data["source"]
    for wrong in ('"zen44"', "3"):
        with pytest.raises(UserError, match=r"^m\.toml: unknown core"):
            with_core(tomllib.loads(f"core = {wrong}"), "m.toml")


@pytest.mark.long
def test_stores_leave_the_buffer_one_by_one(cli: Cli, real: Path, tmp_path: Path) -> None:
    """The stores of 64 threads leave one after the other: the time of one counts 64 times."""
    text = (MACHINES / "epyc-zen4-vm-83.toml").read_text(encoding="utf-8")
    ns = []
    for store in (1, 8):
        path = tmp_path / f"store-{store}.toml"
        own = f'[op_cycles]\nstore = {store}\n\n[source]\n"op_cycles.store" = "chosen"'
        path.write_text(text.replace("[source]", own, 1), encoding="utf-8")
        data = cli(
            "run", "primitives", "--op", "plain-inc", "--threads", "64", "--machine", str(path),
            "--json",
        ).json  # fmt: skip
        ns.append(data["variants"][0]["points"][0]["ns_per_op"])
    assert ns[1] > 2 * ns[0]


def test_the_vendor_is_that_of_the_cores() -> None:
    assert vendor_of("epyc-9654-2s", "2 x AMD EPYC 9654") == "AMD"
    assert vendor_of("graviton3-64", "AWS Graviton3") == "Arm"
    assert vendor_of("sierra-forest-192", "2 x Intel Xeon 6740E") == "Intel"
