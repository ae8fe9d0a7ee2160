# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the verbs machine list and machine show."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli
from model.machines.numbers import source_of
from model.machines.presets import preset_names
from model.machines.topo import ranges


def test_ranges() -> None:
    texts = {"": [], "3": [3], "0-2,8": [0, 1, 2, 8], "0,2,4": [0, 2, 4], "5-6,0-1": [5, 6, 0, 1]}
    assert {text: ranges(cpus) for text, cpus in texts.items()} == {text: text for text in texts}


def test_machines_lists_all_presets(cli: Cli) -> None:
    rows = cli("machine", "list", "--json").json["machines"]
    assert [row["name"] for row in rows] == preset_names()
    milan = next(row for row in rows if row["name"] == "epyc-7763-2s")
    assert (milan["cpus"], milan["packages"], milan["nodes"], milan["llcs"]) == (256, 2, 2, 16)
    assert "Milan" in cli("machine", "list").out


def test_a_broken_machine_file_is_a_row_of_the_list(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bad.toml").write_text("x = [")
    monkeypatch.setattr("model.machines.presets.MACHINES", tmp_path)
    outcome = cli("machine", "list")
    assert outcome.status == 0
    assert "broken" in outcome.out
    assert "is not TOML" in cli("machine", "list", "--json").json["machines"][0]["error"]


def test_show_gives_every_number_its_source(cli: Cli) -> None:
    data = cli("machine", "show", "epyc-7763-2s", "--json").json
    numbers = {number["key"]: number for number in data["numbers"]}
    assert numbers["latency_ns.llc"]["source"].startswith("medians over the pairs")
    assert numbers["latency_ns.memory"]["source"].startswith("estimate")
    assert all(number["source"] != "no source" for number in data["numbers"])
    assert "latency_ns.home_remote" in cli("machine", "show", "epyc-7763-2s").out


def test_source_of_the_nearest_table() -> None:
    sources = {"a": "1", "a.b.c": "2"}
    assert source_of("a.b.c", sources) == "2"
    assert source_of("a.b.d", sources) == "1"
    assert source_of("z", sources) == "no source"
