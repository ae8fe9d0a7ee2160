# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The cost of a finding: the observed shape, and the machine file that stands for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doctor_predictions import RATES

from doctor_cli import assert_refused, call
from doctor_tree import Machine, Task
from schedshard.common.paths import sim_binary
from schedshard.doctor.facts.archive import read_tar
from schedshard.doctor.facts.domains import root_domains
from schedshard.doctor.facts.facts import Facts, read_facts
from schedshard.doctor.facts.load import domain_loads
from schedshard.doctor.predict.nearest import distance, nearest
from schedshard.doctor.predict.predict import predict_on
from schedshard.doctor.predict.prediction import Prediction, Shape, Unpredicted, shape_of
from schedshard.doctor.predict.stored import load_stored, stored
from test_doctor_verdict import DATA, groups, judged, tar

pytestmark = pytest.mark.slow(reason="predictions for whole machines")

Capture = pytest.CaptureFixture[str]
needs_sim = pytest.mark.skipif(not sim_binary().is_file(), reason="the simulator is not built")


def big(cpu: str = "AMD EPYC 9654 96-Core Processor", **changes: Any) -> Machine:
    """256 CPUs of 16 a cache in two packages, with 15 groups of 8 that wake up often."""
    tasks = [
        Task(
            1000 + n, "rt", allowed=f"{8 + n // 8 * 8}-{15 + n // 8 * 8}", voluntary=2000,
            priority=40 + n % 2, tgid=1000 + n // 8,
        )
        for n in range(120)
    ]  # fmt: skip
    files = {"proc/cpuinfo": f"vendor_id\t: AuthenticAMD\nmodel name\t: {cpu}\n"}
    kept = {"cpus": 256, "llc_cpus": 16, "node_cpus": 128, "tasks": tasks, "files": files}
    return Machine(**{**kept, **changes})


def facts_of(tmp_path: Path, machine: Machine) -> Facts:
    return read_facts(read_tar(tar(tmp_path, machine)), "host")


def test_the_shape_that_was_observed(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, big())
    [load] = domain_loads(facts, root_domains(facts))
    shape = shape_of(load)
    assert shape is not None
    assert (shape.groups, shape.cpus_per_group, shape.level, shape.levels) == (15, 8, 41, 2)
    assert shape.rate == pytest.approx(120_000, rel=0.01)
    values = dict(shape.params(20_000))
    assert values["sleep_us"] + values["work_us"] == pytest.approx(1000 - 3, abs=1)
    assert values["measured_us"] == pytest.approx(20_000 / 120_000 * 1e6, rel=0.01)


@needs_sim
def test_the_nearest_machine(tmp_path: Path) -> None:
    cases: dict[str, tuple[Machine, str | None]] = {
        "model": (big(), "epyc-9654-2s"),
        "shape": (big("AMD EPYC Something"), "epyc-7763-2s"),
        "none": (Machine(tasks=groups(5), llc_cpus=16, node_cpus=16), None),
        "small": (Machine(cpus=8, node_cpus=8, llc_cpus=1), None),
    }
    for name, (machine, expected) in cases.items():
        (tmp_path / name).mkdir()
        found = nearest(facts_of(tmp_path / name, machine), live=False)
        assert found.name == expected, (name, found)
        assert found.why


def test_distance_is_in_doublings() -> None:
    row = {"cpus": 256, "llcs": 16, "packages": 2, "nodes": 2, "title": "2 x AMD EPYC 7763"}
    same = {"cpus": 256, "llcs": 16, "packages": 2, "nodes": 2}
    assert distance(same, "amd", row) == 0
    assert distance(same, "intel", row) == 1
    assert distance({**same, "packages": 1}, "amd", row) == 1
    assert distance({**same, "cpus": 128, "llcs": 8}, "amd", row) == 0.5


def test_the_stored_table_is_whole() -> None:
    machines, rows = load_stored()
    assert len(rows) == len(machines) * len(RATES)
    for row in rows:
        for name, (value, low, high) in row["cycles"].items():
            assert 0 < low <= value <= high, (row["machine"], name)
        for name in ("partition", "shard"):
            assert row["cycles"][name][0] < row["cycles"]["stock"][0]
            assert row["of_stock"][name][2] < 1


def test_findings_quote_the_table(capsys: Capture, tmp_path: Path) -> None:
    host = tar(tmp_path, big("AMD EPYC 7763 64-Core Processor"))
    outcome = judged(capsys, host)
    [finding] = outcome.json["findings"]
    predicted = finding["predicted"]
    assert (predicted["machine"], predicted["samples"]) == ("epyc-7763-2s", 20)
    assert predicted["source"].startswith("stored table")
    assert predicted["variants"][0]["variant"] == "stock"
    assert finding["unpredicted"] is None
    text = " ".join(call(capsys, "doctor", host).out.split())
    assert "a partition of type root for each group: " in text
    assert "predicted on machine file epyc-7763-2s" in text


def test_a_machine_unlike_any_other(capsys: Capture, tmp_path: Path) -> None:
    outcome = judged(capsys, tar(tmp_path, Machine(tasks=groups(1_000_000))))
    [finding] = outcome.json["findings"]
    assert finding["predicted"] is None
    assert "doublings away" in finding["unpredicted"]
    assert "cannot tell what it costs here" in call(capsys, "doctor", tmp_path / "host.tar").out


def test_a_rate_far_from_the_table(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, big())
    found = stored(facts, Shape(15, 8, 50, 1, 0.5 * 120))
    assert isinstance(found, Unpredicted)
    assert "--predict" in found.why
    near = stored(facts, Shape(15, 8, 50, 1, 900.0 * 120))
    assert isinstance(near, Prediction)
    assert near.shape.rate / near.shape.cpus == 1000


@needs_sim
def test_predicting_now(capsys: Capture, tmp_path: Path) -> None:
    host = tar(tmp_path, big())
    outcome = call(capsys, "doctor", host, "--predict", "--limit", "5", "--json")
    assert outcome.status == 4
    predicted = outcome.json["findings"][0]["predicted"]
    assert (predicted["groups"], predicted["cpus_per_group"]) == (15, 8)
    assert predicted["machine"] == "epyc-9654-2s"
    cycles = {row["variant"]: row["cycles_per_wakeup"]["value"] for row in predicted["variants"]}
    assert set(cycles) == {"stock", "partition", "series", "shard"}
    assert cycles["shard"] < cycles["partition"] < cycles["stock"]


@needs_sim
def test_one_group_has_no_partition_to_gain_from() -> None:
    found = predict_on(Shape(1, 4, 50, 1, 4000.0), "epyc-7763-2s", "", 0.001)
    assert found.samples == 0
    assert [row.variant for row in found.rows] == ["stock", "series", "shard"]
    assert all("low" not in row.of_stock for row in found.rows)


@needs_sim
def test_more_cpus_than_the_machine_has() -> None:
    found = predict_on(Shape(100, 8, 50, 1, 80_000.0), "epyc-7763-2s", "", 0.001)
    assert found.shape.groups == 32
    assert found.shape.rate == pytest.approx(25_600)


def test_predict_needs_a_machine(capsys: Capture) -> None:
    outcome = call(capsys, "doctor", "--perf", DATA / "robot-mail.txt", "--predict")
    assert_refused(outcome, "--predict", "HOST.tar")
