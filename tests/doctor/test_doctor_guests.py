# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Verdicts from tar files that the collector wrote in guests (data/guests/README.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from test_doctor_verdict import judged

Capture = pytest.CaptureFixture[str]
GUESTS = Path(__file__).resolve().parent / "data/guests/16"
GROUPS = ["12-15", "4-7", "8-11"]


def domains(capsys: Capture, case: str) -> dict[str, dict[str, Any]]:
    """The root domains by their CPUs; both hosts are quiet enough for no finding."""
    outcome = judged(capsys, GUESTS / f"{case}.tar.gz")
    assert (outcome.status, outcome.json["findings"]) == (0, [])
    assert outcome.json["machine"]["release"] == "7.3.4-stock"
    # The collector saw the guest as it is: kernel threads, caches, the whole tree.
    assert (outcome.json["machine"]["cpus"], outcome.json["machine"]["llcs"]) == (16, 2)
    assert outcome.json["doubts"] == []
    return {each["cpus"]: each for each in outcome.json["root_domains"]}


def test_isolated_partitions_share_one(capsys: Capture) -> None:
    found = domains(capsys, "isolated")
    assert {cpus: each["default"] for cpus, each in found.items()} == {"0-3": False, "4-15": True}
    assert found["0-3"]["because"] == "the CPUs of no partition"
    groups = [each for each in found["4-15"]["groups"] if not each["roams"]]
    assert sorted(each["cpus"] for each in groups) == GROUPS
    assert all(each["threads"] == 4 and each["wakeups_per_second"] > 1000 for each in groups)
    assert all(each["cgroups"] == [f"/group-{each['cpus']}"] for each in groups)


def test_root_partitions_have_their_own(capsys: Capture) -> None:
    found = domains(capsys, "root")
    assert sorted(found) == ["0-3", *GROUPS]
    assert not any(each["default"] for each in found.values())
    for cpus in GROUPS:
        assert found[cpus]["wakeups_per_second"] > 10_000
        assert found[cpus]["because"] == f"partition /group-{cpus}"
