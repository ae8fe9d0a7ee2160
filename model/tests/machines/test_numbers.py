# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests numbers of a machine file, alone and with a range, in tables and in tiers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from common.errors import UserError
from model.machines.machine_list import describe
from model.machines.numbers import Range, number_node, number_nodes, range_of, set_number, value_of
from model.machines.presets import load_machine
from model.run.uncertain.draws import sampled_machine

MACHINE = """
schema = 1
name = "tiered"
title = "A machine with tiers"
kind = "estimate"
clock_ghz = { value = 2.5, low = 2.0, high = 3.0 }

[topology]
packages = 8
nodes_per_package = 1
llcs_per_node = 6
cores_per_llc = 8
threads_per_core = 1
cores_per_l2 = 1
numbering = "threads-last"

[latency_ns]
llc = 27.0
node = { value = 100, low = 90, high = 120.5 }
remote = 300.0
memory = 110.0

[[tier]]
name = "quadrant"
llcs = 3
ns = 90.0

[[tier]]
name = "board"
packages = 4
ns = { value = 150.0, low = 140.0, high = 160.0 }

[[tier]]
name = "cluster"
cores = 4
ns = 20.0

[op_cycles]
load_hit = 4
store = 1
locked = 20
fence = 20
store_buffer = { value = 64, low = 50, high = 72 }
timestamp = 37

[source]
clock_ghz = "estimate: made up"
topology = "made up"
latency_ns = "made up"
op_cycles = "made up"
tier = "made up"
"tier.board" = "estimate: made up for the board"
"""


def uncertain(data: Mapping[str, Any]) -> dict[str, Range]:
    """Every number that has a range."""
    ranges = ((key, range_of(node, key)) for key, node in number_nodes(data))
    return {key: limits for key, limits in ranges if limits is not None}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "tiered.toml"
    made.write_text(MACHINE, encoding="ascii")
    return made


def test_a_number_alone_and_with_a_range() -> None:
    node = {"value": 70, "low": 55.0, "high": 90}
    assert value_of(node) == 70.0
    assert range_of(node) == Range(55.0, 90.0)
    assert value_of(3) == 3.0
    assert range_of(3) is None
    both = tomlkit.parse("a = { value = 1.5, low = 1, high = 2 }\nb = 4")
    assert (value_of(both["a"]), range_of(both["a"])) == (1.5, (1.0, 2.0))
    assert value_of(both["b"]) == 4


@pytest.mark.parametrize("node", ["3", True, None, [1], {"value": 3}, {"low": 1, "high": 2}])
def test_what_is_no_number(node: Any) -> None:
    with pytest.raises(UserError, match=r"latency_ns\.llc is "):
        value_of(node, "latency_ns.llc")


def test_every_number_of_a_file() -> None:
    data = tomllib.loads(MACHINE)
    keys = [key for key, _ in number_nodes(data)]
    assert keys[0] == "clock_ghz"
    assert len(keys) == len(set(keys)) == 1 + 4 + 3 + 6
    assert value_of(number_node(data, "tier.quadrant")) == 90
    assert number_node(data, "tier.none") is None
    assert uncertain(data) == {
        "clock_ghz": (2, 3),
        "latency_ns.node": (90, 120.5),
        "tier.board": (140, 160),
        "op_cycles.store_buffer": (50, 72),
    }


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [
        ("clock_ghz", 2.25, 2.25),
        ("latency_ns.node", 119.25, 119.25),
        ("op_cycles.store_buffer", 55.7, 56),
        ("protocol.data_leg", 0.25, 0.25),
        ("tier.board", 155.5, 155.5),
    ],
)
def test_a_changed_number_is_what_the_tools_read(
    path: Path, key: str, value: float, kept: float
) -> None:
    before = load_machine(str(path))
    changed = sampled_machine(before, {key: value})
    assert changed.data["source"][key].startswith("drawn")
    assert value_of(number_node(changed.data, key)) == kept
    name = key.replace(".", " ")
    line = next(row for row in changed.flat_text.splitlines() if row.startswith(f"{name} "))
    assert repr(float(kept)) in line.split(" ")
    assert set(uncertain(changed.data)) == set(uncertain(before.data)) - {key}


def test_a_tier_that_is_not_there() -> None:
    with pytest.raises(UserError, match="no tier 'x'"):
        set_number(tomllib.loads(MACHINE), "tier.x", 1.0, "changed")


def test_show_says_tiers_and_ranges(path: Path) -> None:
    rows = {row["key"]: row for row in describe(load_machine(str(path)))["numbers"]}
    assert rows["tier.board"] == {
        "key": "tier.board", "value": 150.0, "low": 140.0, "high": 160.0, "joins": "4 packages",
        "source": "estimate: made up for the board",
    }  # fmt: skip
    assert rows["tier.quadrant"]["joins"] == "3 llcs"
    assert rows["tier.quadrant"]["source"] == "made up"
    assert "low" not in rows["latency_ns.llc"]
    assert rows["topology.packages"]["value"] == 8
