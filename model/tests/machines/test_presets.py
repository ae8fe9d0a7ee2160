# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The project's machine files have the right shapes and numbers, and a source for each number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from common.paths import MACHINES
from model.machines.making.topology import Regular, Topology, from_tool, regular_form
from model.machines.numbers import TIER_UNITS, number_nodes, range_of, source_of, value_of
from model.machines.presets import load_machine
from model.machines.topo import label

PRESETS = sorted(path.stem for path in MACHINES.glob("*.toml"))

# CPUs, packages, nodes, LLCs and cores; the level at which CPU 0's group is checked; that group.
SHAPES = {
    "altra-max-2s": ((256, 2, 2, 2, 256), "llc", "0-127"),
    "ampereone-192": ((192, 1, 1, 1, 192), "llc", "0-191"),
    "epyc-7742-2s": ((256, 2, 2, 32, 128), "llc", "0-3,128-131"),
    "epyc-7763-2s": ((256, 2, 2, 16, 128), "llc", "0-7,128-135"),
    "epyc-9454-2s": ((192, 2, 2, 16, 96), "llc", "0-5,96-101"),
    "epyc-9654-2s": ((384, 2, 4, 24, 192), "node", "0-47,192-239"),
    "epyc-9754-2s": ((512, 2, 2, 32, 256), "llc", "0-7,256-263"),
    "epyc-9755-2s": ((512, 2, 2, 32, 256), "llc", "0-7,256-263"),
    "epyc-9965-2s": ((768, 2, 2, 24, 384), "llc", "0-15,384-399"),
    "epyc-zen4-vm-83": ((166, 1, 1, 11, 83), "llc", "0-15"),
    "future-2048": ((2048, 2, 8, 64, 1024), "node", "0-127,1024-1151"),
    "grace-superchip": ((144, 2, 2, 2, 144), "package", "0-71"),
    "graviton3-64": ((64, 1, 1, 1, 64), "llc", "0-63"),
    "graviton4-2s": ((192, 2, 2, 2, 192), "package", "0-95"),
    "sierra-forest-192": ((192, 2, 2, 2, 192), "l2", "0-3"),
    "xeon-480": ((480, 2, 2, 2, 240), "llc", "0-119,240-359"),
    "xeon-480-snc": ((480, 2, 6, 6, 240), "node", "0-39,240-279"),
    "xeon-6972p-2s": ((384, 2, 6, 6, 192), "node", "0-31,192-223"),
    "xeon-6980p-2s": ((512, 2, 2, 2, 256), "llc", "0-127,256-383"),
    "xeon-8176-8s": ((448, 8, 8, 8, 224), "package", "0-27,224-251"),
    "xeon-8358-2s": ((128, 2, 2, 2, 64), "package", "0-31,64-95"),
    "xeon-8480-2s": ((224, 2, 2, 2, 112), "llc", "0-55,112-167"),
    "xeon-8592-2s": ((256, 2, 2, 2, 128), "llc", "0-63,128-191"),
}

# Medians published with the tables of these machines, in ns: smt, LLC, other LLC of the package,
# other package.
PUBLISHED: dict[str, dict[str, int | tuple[int, int]]] = {
    "epyc-7742-2s": {"smt": 8, "llc": 25, "node": 132, "remote": 267, "home_remote": 267},
    "epyc-7763-2s": {"smt": 10, "llc": 25, "node": (120, 127), "remote": 304},
    "epyc-9454-2s": {"smt": 10, "llc": 26, "node": 103, "remote": 198, "home_remote": 200},
    "epyc-9654-2s": {"llc": 27, "node": (89, 98), "package": (100, 103), "remote": 192},
    "epyc-9754-2s": {"smt": 13, "llc": 33, "node": 110, "remote": 203, "home_remote": 206},
    "graviton3-64": {"llc": 46},
    "xeon-8176-8s": {"smt": 7, "llc": (46, 49), "remote": (332, 342)},
    "xeon-8358-2s": {"smt": 8, "llc": (50, 53), "remote": (108, 111)},
}


def load(name: str) -> dict[str, Any]:
    return load_machine(name).data


def topology_of(name: str) -> Topology:
    return from_tool({"cpus": load_machine(name).cpus})


def numbers(machine: dict[str, Any]) -> Iterator[str]:
    yield from (f"topology.{key}" for key in machine["topology"])
    yield from (key for key, _ in number_nodes(machine))


def latencies(name: str) -> dict[str, float]:
    return {key: value_of(node, key) for key, node in load(name)["latency_ns"].items()}


def test_every_machine_is_tested() -> None:
    assert sorted(SHAPES) == PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_shape_and_numbering(name: str) -> None:
    counts, level, first = SHAPES[name]
    topology = topology_of(name)
    levels = ("package", "node", "llc", "core")
    assert (len(topology.cpus), *(topology.count(unit) for unit in levels)) == counts
    ids = topology.ids(level)
    cpus = [cpu for cpu, group in zip(topology.cpus, ids.tolist(), strict=True) if group == 0]
    assert label(cpus) == first


@pytest.mark.parametrize("name", PRESETS)
def test_regular_form_finds_the_keys_of_the_file(name: str) -> None:
    keys = load(name)["topology"]
    topology = topology_of(name)
    if "llc" in keys:
        assert regular_form(topology) is None
        assert topology.count("llc") == len(keys["llc"])
        return
    assert regular_form(topology) == Regular(
        keys["packages"],
        keys["nodes_per_package"],
        keys["nodes_per_package"] * keys["llcs_per_node"],
        keys["cores_per_llc"],
        keys["threads_per_core"],
        keys["cores_per_l2"],
        keys["numbering"],
    )


@pytest.mark.parametrize("name", PRESETS)
def test_every_number_has_a_source_and_guesses_say_so(name: str) -> None:
    machine = load(name)
    sources = machine["source"]
    guessed = False
    for number in numbers(machine):
        above = [number[: -len(tail)] if tail else number for tail in _tails(number)]
        covering = [key for key in above if key in sources]
        assert covering, f"{name}: {number} has no source"
        text = sources[covering[0]]
        assert len(text) > 20, f"{name}: {number}: a source is a sentence"
        guessed = guessed or (
            text.startswith("estimate") and not number.startswith(("op_cycles", "protocol"))
        )
    assert machine["name"] == name
    assert machine["kind"] in ("measured", "estimate", "hypothetical")
    if machine["kind"] != "measured":
        assert guessed


@pytest.mark.parametrize("name", PRESETS)
def test_a_guess_has_a_range_that_its_source_names(name: str) -> None:
    """A guess must have a range; a measured or stated number may have one."""
    machine = load(name)
    for key, node in number_nodes(machine):
        source = source_of(key, machine["source"])
        limits = range_of(node, key)
        if source.startswith(("estimate", "calibrated")):
            assert limits is not None, f"{name}: {key} is a guess without a range"
            assert limits.low < limits.high, f"{name}: {key}"
        if source.startswith("estimate"):
            match = re.match(r"estimate, ([0-9.]+) to ([0-9.]+): ", source)
            assert match, f"{name}: the source of {key} must begin 'estimate, LOW to HIGH: '"
            assert (float(match[1]), float(match[2])) == limits, f"{name}: {key}"
        if limits is not None:
            assert limits.low <= value_of(node, key) <= limits.high


# Groups of a machine's CPUs in one tier, and the latency of a line inside one.
TIERS = {
    "altra-max-2s": {"dsu": (128, 2, 83.0)},
    "epyc-9654-2s": {"quadrant": (8, 48, 90.2)},
    "xeon-8176-8s": {"board": (2, 224, 150.0)},
}


@pytest.mark.parametrize("name", PRESETS)
def test_tiers_lie_between_the_levels_around_them(name: str) -> None:
    machine = load(name)
    latency = latencies(name)
    sizes = {"cpus": len(load_machine(name).places)}
    topology = topology_of(name)
    sizes |= {f"{unit}s": topology.count(unit) for unit in ("core", "llc", "node", "package")}
    tiers = {}
    order = {"cores": ("smt", "llc"), "llcs": ("llc", "node"), "nodes": ("node", "package")}
    for tier in machine.get("tier", []):
        (unit,) = set(TIER_UNITS) & tier.keys()
        groups, ns = sizes[unit] // tier[unit], value_of(tier["ns"])
        tiers[tier["name"]] = (groups, sizes["cpus"] // groups, ns)
        near, far = order.get(unit, ("package", "remote"))
        assert latency.get(near, 0) <= ns <= latency[far], f"{name}: {tier['name']}"
        assert source_of(f"tier.{tier['name']}", machine["source"]) != "no source"
    assert tiers == TIERS.get(name, {})


def _tails(number: str) -> list[str]:
    """The ends of a dotted key which, cut off, leave the key itself and each table above it."""
    parts = number.split(".")
    return [number[len(".".join(parts[:count])) :] for count in range(len(parts), 0, -1)]


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_latencies_are_the_published_ones(name: str) -> None:
    latency = latencies(name)
    for key, want in PUBLISHED[name].items():
        low, high = want if isinstance(want, tuple) else (want, want)
        assert low - 1 <= latency[key] <= high + 1, f"{name}: {key}"


@pytest.mark.parametrize("name", PRESETS)
def test_farther_takes_longer(name: str) -> None:
    latency = latencies(name)
    present = [
        latency[key] for key in ("smt", "llc", "node", "package", "remote") if key in latency
    ]
    assert present == sorted(present)
    if "home_remote" in latency:
        assert latency["home_remote"] > latency.get("package", latency["node"])
