# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Experiments with several published figures: file, result, tables, page."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli, assert_user_error


def test_json_has_the_promised_shape(cli: Cli, figures: Path) -> None:
    data = cli("run", "figures", "--json").json
    stock, pad, shard = data["variants"]
    assert stock["name"] == "stock"
    assert (stock["fps_relative"], stock["kernel_share"], stock["map_bytes"]) == (1.0, 0.21, 1664)
    assert stock["published"] == {"fps_relative": 1.0, "kernel_share": 0.20}
    assert pad["fps_relative"] == pytest.approx(1.02)
    assert shard["published"] == {}
    assert shard["error"] == {}
    assert [m["name"] for m in data["metrics"]] == [
        "fps_relative", "kernel_share", "map_bytes", "cycles_per_set",
    ]  # fmt: skip
    first, second = sorted(stock["lines"], key=lambda line: line["line"])
    assert (first["line"], first["offset"], second["line"], second["offset"]) == (1, 0, 2, 64)
    promised = {"object", "line", "avg_load_cycles", "max_load_cycles", "hitm_remote", "hitm_local"}
    assert promised < set(first)
    field = first["fields"][0]
    assert field["field"] == "0x8"
    assert field["avg_load_cycles"] == 900.5


def test_errors_are_points_for_shares_and_relative_for_the_rest(cli: Cli, figures: Path) -> None:
    stock, pad, _ = cli("run", "figures", "--json").json["variants"]
    assert pad["error"]["kernel_share"] == pytest.approx(0.01)
    assert pad["error"]["fps_relative"] == pytest.approx(-0.09)
    assert pad["error"]["cycles_per_set"] == pytest.approx(-0.25)
    assert pad["accept"] == {"fps_relative": 0.04, "kernel_share": 0.03}
    assert pad["accepted"] is False  # frames are 9 points off, 4 are allowed
    assert pad["lacks"] == "No <prefetcher>."
    assert stock["accepted"] is True
    assert "lacks" not in stock


def test_a_calibrated_figure_outside_its_band_is_no_agreement(cli: Cli, figures: Path) -> None:
    text = figures.read_text()
    figures.write_text(text.replace("{ kernel_share = 0.03 }", "{ kernel_share = 0.001 }"))
    out = cli("run", "figures").out
    stock = next(line for line in out.splitlines() if line.split()[:1] == ["stock"])
    assert "+1.0" in stock
    assert "calibrated" not in stock


def test_cap_reaches_the_simulator_and_the_result(cli: Cli, figures: Path) -> None:
    data = cli("run", "cpumask-yield", "--cap", "8", "--json", "--variant", "llc").json
    assert data["cap"] == 8
    other = cli("run", "cpumask-yield", "--json", "--variant", "llc").json
    assert other["cap"] is None
    assert data["variants"][0]["cycles_per_op"] != other["variants"][0]["cycles_per_op"]
    assert_user_error(cli("run", "figures", "--cap", "65"), "--cap", "range")


def test_a_figure_that_the_simulator_does_not_report(cli: Cli, figures: Path) -> None:
    figures.write_text(figures.read_text().replace('from = "fps"', 'from = "frames"'))
    assert_user_error(cli("run", "figures"), "printed no 'frames' for stock", status=1)
