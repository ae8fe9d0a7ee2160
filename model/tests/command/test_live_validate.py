# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the verb validate on made-up results, so that no test depends on this host's speed."""

from __future__ import annotations

import copy
import json
import platform
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from common.formats import VALIDATE
from common.output import to_json
from common.paths import MACHINES
from conftest import Cli, Outcome, assert_user_error
from model.live.agreement import BOUNDS, judge, predict
from model.live.bundle import make_bundle
from model.live.host import known_machine, live_topology
from model.machines.hostfile import host_path
from model.machines.making.measure import MeasureRequest

MACHINE = "epyc-7763-2s"
PLACES = [("smt", 0, 128), ("llc", 0, 1), ("node", 0, 8), ("remote", 0, 64)]
# Another order than that of CPU numbers, as a placement or an affinity may give.
ORDER = [9, 3, 70, 128, 0]


def point(where: dict[str, Any], ns: float = 10.0) -> dict[str, Any]:
    return {
        **where, "ns_per_op": ns, "min": ns, "max": ns, "low": ns * 0.98, "high": ns * 1.02,
        "rounds": 15, "disturbed": 0, "all_disturbed": False, "metrics": {"ns_per_op": ns},
    }  # fmt: skip


def unmeasured() -> dict[str, Any]:
    """A file of the right form whose times are nonsense."""
    pairs = [
        {"name": op, "points": [point({"class": c, "from": a, "to": b}) for c, a, b in PLACES]}
        for op in ("cas", "read-inc")
    ]
    threads = [
        {"name": op, "points": [point({"threads": n}) for n in (1, 2, 5)]}
        for op in ("atomic-inc", "rwsem-read")
    ]
    return {
        "format": VALIDATE,
        "host": {
            "cpu": "X", "virtual": False, "arch": "x86_64", "kernel": "6.1", "cpus_allowed": 256,
            "compiler": "12",
        },
        "machine_file": (MACHINES / f"{MACHINE}.toml").read_text(encoding="utf-8"),
        "measured": [
            {"experiment": "ping-pong", "variants": pairs},
            {"experiment": "primitives", "order": ORDER, "hold_ns": 0.0, "variants": threads},
        ],
        "provenance": {"version": "0", "commit": "unknown"},
    }  # fmt: skip


def points_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [p for m in data["measured"] for v in m["variants"] for p in v["points"]]


def set_ns(entry: dict[str, Any], ns: float) -> None:
    entry.update(point({}, ns))


@pytest.fixture(scope="session")
def _perfect() -> dict[str, Any]:
    """Keep the file of `perfect` for the session: its predictions take a second."""
    return {}


@pytest.fixture
def perfect(real: Path, _perfect: dict[str, Any]) -> dict[str, Any]:
    """A file whose measured times are all the model's predictions."""
    if not _perfect:
        made = unmeasured()
        rows = predict(make_bundle(made, "made up"))
        for entry, row in zip(points_of(made), rows, strict=True):
            set_ns(entry, row.predicted)
        _perfect.update(made)
    return copy.deepcopy(_perfect)


Validated = Callable[..., Outcome]


@pytest.fixture
def validated(cli: Cli, tmp_path: Path) -> Validated:
    """Save a file as r.json and judge it; the outcome goes to o.json."""

    def judged(data: dict[str, Any], *options: str) -> Outcome:
        (tmp_path / "r.json").write_text(to_json(data), encoding="utf-8")
        out = ("--out", tmp_path / "o.json")
        return cli("machine", "validate", tmp_path / "r.json", *out, *options)

    return judged


def test_what_is_as_predicted_agrees(validated: Validated, perfect: dict[str, Any]) -> None:
    outcome = validated(perfect)
    assert outcome.status == 0
    assert "predicted and measured agree: median 1.00x" in outcome.out
    data = validated(perfect, "--json").json
    rows = data["verdict"]["rows"]
    assert (data["verdict"]["outcome"], len(rows)) == ("agree", 14)
    assert data["measured"] == perfect["measured"]
    of_file, measured = ([row[key] for row in rows[:4]] for key in ("machine_file_ns", "measured"))
    assert of_file == pytest.approx(measured, rel=0.25)


def test_a_planted_disagreement_is_found_and_named(
    cli: Cli, validated: Validated, perfect: dict[str, Any], tmp_path: Path
) -> None:
    wrong = perfect["measured"][1]["variants"][1]["points"][2]
    set_ns(wrong, wrong["ns_per_op"] / 3)
    near = perfect["measured"][0]["variants"][1]["points"][0]
    set_ns(near, near["ns_per_op"] * 1.5)
    outcome = validated(perfect)
    assert outcome.status == 4
    assert "DISAGREE" in outcome.out
    assert "rwsem-read, 5 threads" in outcome.out
    verdict = json.loads((tmp_path / "o.json").read_text())["verdict"]
    worst = verdict["worst"]
    assert (worst["op"], worst["threads"], verdict["median_factor"]) == ("rwsem-read", 5, 1.0)
    assert (worst["factor"], worst["error"]) == pytest.approx((3 / 1.02, 2.0))
    assert cli("machine", "validate", tmp_path / "o.json", "--worst", "3").status == 0


def test_many_small_disagreements_are_one(validated: Validated, perfect: dict[str, Any]) -> None:
    for entry in points_of(perfect):
        if entry.get("class") is None:
            set_ns(entry, entry["ns_per_op"] * 1.6)
    assert validated(perfect).status == 4
    assert validated(perfect, "--median", "1.6").status == 0


def test_a_spread_excuses_what_lies_inside(validated: Validated, perfect: dict[str, Any]) -> None:
    entry = perfect["measured"][1]["variants"][0]["points"][1]
    predicted = entry["ns_per_op"]
    set_ns(entry, predicted * 4)
    entry |= {"low": predicted * 0.9, "all_disturbed": True}
    outcome = validated(perfect)
    assert outcome.status == 0
    assert "1 point: other programs ran" in outcome.out


def test_another_host_than_in_the_machine_file_proves_nothing(
    validated: Validated, perfect: dict[str, Any]
) -> None:
    for entry in points_of(perfect):
        if entry.get("class") == "node":
            set_ns(entry, entry["ns_per_op"] / 4)
    outcome = validated(perfect)
    assert outcome.status == 5
    assert "HAS CHANGED" in " ".join(outcome.out.split())
    assert "CPUs 0 and 8 (node)" in outcome.out
    assert "DISAGREE" not in outcome.out


def test_estimated_latencies_are_no_control(perfect: dict[str, Any]) -> None:
    perfect["machine_file"] = perfect["machine_file"].replace(
        "[source]\n", '[source]\n"latency_ns.node" = "estimate: for this test"\n', 1
    )
    rows = predict(make_bundle(perfect, "made up"))
    assert [row.file_ns is None for row in rows[:4]] == [False, False, True, False]
    assert judge(rows, BOUNDS).outcome == "agree"


def test_one_experiment_is_enough(
    cli: Cli, validated: Validated, perfect: dict[str, Any], tmp_path: Path
) -> None:
    kept = {key: perfect[key] for key in ("host", "machine_file", "provenance")}
    part = {
        **perfect["measured"][1], **kept, "format": "schedshard/live/1",
        "machine": {"name": "host"},
    }  # fmt: skip
    assert validated(part).status == 0
    assert json.loads((tmp_path / "o.json").read_text())["format"] == VALIDATE
    assert "ping-pong" not in cli("machine", "validate", tmp_path / "o.json").out
    outcome = validated(part | {"machine_file": None})
    assert_user_error(outcome, "has no machine file", "validate --out")


Change = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.pop("machine_file"), "'machine_file' is missing"),
        (lambda d: d.update(machine_file="clock_ghz = ["), "is not TOML"),
        (lambda d: d.update(machine_file="schema = 1"), "r.json: its machine file"),
        (lambda d: d.update(measured=[]), "not a list of one or two results"),
        (lambda d: d["measured"].append(d["measured"][0]), "one or two results"),
        (lambda d: d.update(measured=[d["measured"][0]] * 2), "measured twice"),
        (lambda d: d["measured"][0].update(experiment="mutex"), "'mutex'"),
        (lambda d: d["measured"][0]["variants"][0].update(name="cats"), "'cats' is not an opera"),
        (lambda d: points_of(d)[0].update(to=0), "not all different"),
        (lambda d: points_of(d)[0].update(to=9999), "measured CPU 9999"),
        (lambda d: points_of(d)[0].update(to=True), "not whole numbers"),
        (lambda d: points_of(d)[0].update(ns_per_op=-1.0), "which is impossible"),
        (lambda d: points_of(d)[0].update(ns_per_op="1"), "is not a number"),
        (lambda d: points_of(d)[0].update(low=11.0), "is not between"),
        (lambda d: points_of(d)[-1].update(threads=6), "6 threads, but order"),
        (lambda d: points_of(d)[-1].update(threads=0), "0 threads, but order"),
        (lambda d: points_of(d)[-1].pop("high"), "'high' is missing"),
        (lambda d: d["measured"][1].update(order=[1, 1]), "not all different"),
        (lambda d: d["measured"][1].pop("order"), "'order' is missing"),
        (lambda d: d["measured"][1].update(hold_ns=5.0), "has no hold time"),
        (lambda d: d.update(host=[]), "'host' is missing, or is not an object"),
        (lambda d: d.update(format="schedshard/validate/9"), "validate --out FILE"),
    ],
)
@pytest.mark.usefixtures("real")
def test_damaged_files(validated: Validated, tmp_path: Path, change: Change, words: str) -> None:
    data = unmeasured()
    change(data)
    assert_user_error(validated(data), "r.json", words)
    assert not (tmp_path / "o.json").exists()


@pytest.mark.slow(reason="it measures this host")
def test_the_file_names_nobody(
    cli: Cli, real: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Run the whole verb on this host and read its file; the times may be anything."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "ann-home"))
    monkeypatch.setattr("platform.release", lambda: "6.1.0-built-by-ann")
    monkeypatch.setattr("model.live.validate.MeasureRequest", partial(MeasureRequest, samples=2))
    out = tmp_path / "mine.json"
    first = cli("machine", "validate", "--limit", "4", "--out", out)
    assert first.status in (0, 4, 5), first.err
    assert "is measured first" in first.err
    assert host_path().is_file()
    text = out.read_text(encoding="utf-8")
    assert "ann" not in text.replace("cannot", "").replace("planned", "")
    assert len(platform.node()) < 3 or platform.node() not in text
    data = json.loads(text)
    assert data["host"]["kernel"] == "6.1.0"
    assert data["machine_file"] == host_path().read_text(encoding="utf-8")
    again = cli("machine", "validate", out, "--json")
    assert again.status == first.status
    assert again.json["verdict"] == data["verdict"]


def test_a_machine_file_of_another_shape_is_refused(real: Path) -> None:
    host_path().parent.mkdir(parents=True)
    host_path().write_text((MACHINES / f"{MACHINE}.toml").read_text(encoding="utf-8"))
    with pytest.raises(UserError, match="another topology than this host has: run"):
        known_machine(live_topology())
