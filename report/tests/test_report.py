# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the verbs report and reproduce, and the numbers that they show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from common.progress import Ticker
from common.show.format import compact, nanoseconds, percent, signed_percent, significant, times
from conftest import Cli
from html_page import read_page
from model.run.run import RunPlan, execute


@pytest.mark.slow(reason="all experiments")
def test_reproduce_quick(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    outcome = cli("reproduce", "--quick", "--out", out)
    assert outcome.status == 0, outcome.err
    for words in ("calibration", "32.9%", "xeon-480"):
        assert words in outcome.out
    headline = " ".join(outcome.out.split("The contended counter")[0].split())
    assert "Others measured 77x on the real machine" in headline
    read_page(out / "report.html")
    assert {p.name for p in out.iterdir()} >= {
        "report.html",
        "atomic-inc-xeon-8176-8s.json",
        "cpumask-yield-epyc-7763-2s.json",
    }


@pytest.mark.slow(reason="20 samples of all experiments")
def test_reproduce_keeps_what_is_there(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def interrupted(plan: RunPlan, tick: Ticker) -> list[Any]:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(f"{plan.request.experiment.name}-{plan.request.machine.name}.json")
        return execute(plan, tick)

    monkeypatch.setattr("report.reproduce.execute", interrupted)
    outcome = cli("reproduce", "--quick", "--out", tmp_path)
    assert outcome.status == 130
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {*done}
    assert json.loads((tmp_path / done[1]).read_text())["format"] == "schedshard/run/2"


@pytest.mark.long
def test_reproduce_shows_intervals(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("report.reproduce.preset_names", lambda: ["epyc-7763-2s", "xeon-480"])
    monkeypatch.setattr("report.reproduce.SAMPLES", {"cpumask-yield": 20})
    outcome = cli("reproduce", "--out", tmp_path)
    assert outcome.status == 0, outcome.err
    assert "The RT scheduler's global state" in outcome.out
    assert "Cache-aware scheduling" in outcome.out
    assert "Median (90% interval) of 20 samples" in outcome.out
    assert "192 redis-like servers" in (tmp_path / "report.html").read_text(encoding="utf-8")
    ffmpeg = json.loads((tmp_path / "ffmpeg-rt-xeon-480.json").read_text())
    assert ffmpeg["variants"][0]["published"] == {"fps_relative": 1.0, "kernel_share": 0.2}
    assert ffmpeg["params"]["push_ipi"] == 1
    default = json.loads((tmp_path / "ffmpeg-rt-xeon-480-push_ipi-0.json").read_text())
    assert default["params"]["push_ipi"] == 0
    assert [variant["name"] for variant in default["variants"]] == ["stock", "partition", "shard"]
    assert "published" not in default
    text = " ".join(outcome.out.split())
    assert text.index("RT_PUSH_IPI off (Linux's default)") < text.index(
        "RT_PUSH_IPI on (as on the published machine)"
    )
    data = json.loads((tmp_path / "cpumask-yield-epyc-7763-2s.json").read_text())
    assert data["uncertainty"]["samples"] == 20
    assert "param.yield_ns" in {input_["name"] for input_ in data["uncertainty"]["inputs"]}
    other = json.loads((tmp_path / "cpumask-yield-xeon-480.json").read_text())
    assert "uncertainty" not in other


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (1.0, "1.00"), (0.4930, "0.493"), (9.999, "10.0"), (99.96, "100"),
        (1234.5, "1,230"), (14820.1, "14,800"), (0.00123456, "0.00123"),
    ],
)  # fmt: skip
def test_significant(value: float, text: str) -> None:
    assert significant(value) == text


def test_other_numbers() -> None:
    assert percent(1.0) == "100%"
    assert percent(0.329209) == "32.9%"
    assert percent(0.00493) == "0.493%"
    assert signed_percent(0.042) == "+4.2%"
    assert signed_percent(-0.3) == "-30.0%"
    assert signed_percent(1.5) == "2.5x"
    assert signed_percent(-0.75) == "1/4.0x"
    assert times(77.06) == "77x"
    assert times(3.04) == "3.0x"
    assert [compact(v) for v in (10, 1000, 20000, 3e6)] == ["10", "1k", "20k", "3M"]
    assert nanoseconds(56.5) == "56.5 ns"
    assert nanoseconds(4780) == "4.78 us"
    assert nanoseconds(2.5e9) == "2.50 s"
