# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests file, result, tables and page of experiments with several published figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli, assert_user_error


def test_json_has_the_promised_shape(cli: Cli, figures: Path) -> None:
    data = cli("run", "figures", "--json").json
    stock, pad, shard = data["variants"]
    assert (stock["fps_relative"], stock["kernel_share"], stock["map_bytes"]) == (1.0, 0.21, 1664)
    assert stock["published"] == {"fps_relative": 1.0, "kernel_share": 0.20}
    assert (shard["published"], shard["error"]) == ({}, {})
    # Errors are points for shares, and relative for the rest.
    errors = {"kernel_share": 0.01, "fps_relative": -0.09, "cycles_per_set": -0.25}
    assert pad["error"] == pytest.approx(errors, rel=0.05)
    assert pad["accept"] == {"fps_relative": 0.04, "kernel_share": 0.03}
    assert (stock["accepted"], pad["accepted"]) == (True, False)
    assert (stock.get("lacks"), pad["lacks"]) == (None, "No <prefetcher>.")
    first, second = sorted(stock["lines"], key=lambda line: line["line"])
    assert (first["line"], first["offset"], second["line"], second["offset"]) == (1, 0, 2, 64)
    assert (first["fields"][0]["field"], first["fields"][0]["avg_load_cycles"]) == ("0x8", 900.5)


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
