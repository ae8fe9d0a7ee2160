# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Checks a machine file, and writes it in the flat form that the tools in C read (lib/machine.h).

A file that passes is complete and consistent: every CPU has a place, every distance that occurs has
a latency, and every number has a source. docs/machine-file.md describes the format.

As a program, with two arguments: a machine file, and the file to write.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.output import read_toml, write_atomic
from model.machines.cores import with_core
from model.machines.numbers import (
    TABLES,
    Rule,
    check_keys,
    checked,
    need,
    number_nodes,
)
from model.machines.places import (
    MAX_CPUS,
    UNITS,
    Place,
    Places,
    needed_latencies,
    places,
)

KINDS = ("measured", "estimate", "hypothetical")
LATENCIES = ("smt", "llc", "node", "package", "remote", "home_remote", "memory")
CYCLES = ("load_hit", "store", "locked", "fence", "timestamp", "store_buffer")
_TOP = (
    *("schema", "name", "title", "kind", "clock_ghz", "topology", "tier", "source"),
    *TABLES,
)
_NAME = re.compile(r"[a-z0-9-]{1,64}")
_NAME_RIGHT = "a string of a-z, 0-9 and -, at most 64 characters"
_NS = Rule(0, 1e6, "a number above 0 (nanoseconds, at most 1e6)", above=True)
_RULES = {
    "clock_ghz": Rule(0.05, 20, "the clock in GHz, 0.05 to 20"),
    "latency_ns": _NS,
    "tier": _NS,
    "op_cycles": Rule(0, 1e6, "a number of core cycles, 0 to 1e6"),
    "op_cycles.store_buffer": Rule(1, 4096, "a whole number of entries, 1 to 4096", whole=True),
    "protocol": Rule(0, 1e9, "a number from 0 to 1e9"),
}
_PARENTS = {"cores": "llc", "llcs": "node", "nodes": "package", "packages": "machine"}
_JOINED = Rule(2, MAX_CPUS, f"a whole number from 2 to {MAX_CPUS}", whole=True)


def flat_text(data: Mapping[str, Any], name: str) -> str:
    """Return the flat form of a machine file, or raise a UserError that begins with ``name``."""
    try:
        return "".join(f"{line}\n" for line in _lines(data))
    except UserError as error:
        raise UserError(f"{name}: {error}") from error


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    check_keys(data, "", _TOP)
    yield "schedshard-machine 1"
    yield from _identity(data)
    place_of = places(_table(data, "topology"))
    for table in ("latency_ns", "op_cycles", "source", "protocol"):
        if table != "protocol" or table in data:
            _table(data, table)
    _check_tables(data, place_of)
    tiers = list(_tiers(data, place_of))
    values = {key: _value(node, key) for key, node in number_nodes(data)}
    _check_sources(data, values)
    latency = {key: values[f"latency_ns.{key}"] for key in data["latency_ns"]}
    if "remote" in latency:
        latency.setdefault("home_remote", latency["remote"])
    yield f"clock_ghz {values['clock_ghz']!r}"
    yield from (f"latency_ns {key} {value!r}" for key, value in latency.items())
    for table in ("op_cycles", "protocol"):
        yield from (f"{table} {key} {values[f'{table}.{key}']!r}" for key in data.get(table, ()))
    yield from (f"cpu {cpu} {' '.join(map(str, place))}" for cpu, place in place_of.items())
    for tier, unit, count, groups in sorted(tiers, key=lambda row: (UNITS.index(row[1]), row[2])):
        listed = " ".join(map(str, groups))
        yield f"tier {tier} {unit} {count} {values[f'tier.{tier}']!r} {listed}"


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    if key not in data:
        raise UserError(f"table [{key}] is missing")
    table = data[key]
    if not isinstance(table, Mapping):
        raise UserError(f"{key} must be a table: [{key}]")
    return table


def _identity(data: Mapping[str, Any]) -> Iterator[str]:
    checked(need(data, "", "schema", "1"), "schema", Rule(1, 1, "1, the version", whole=True))
    name = need(data, "", "name", _NAME_RIGHT)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UserError(f"name is {name!r:.60}, it must be {_NAME_RIGHT}")
    right = "a line of text in quotes, at most 200 characters"
    title = need(data, "", "title", right)
    if not isinstance(title, str) or not title.isprintable() or not 0 < len(title) <= 200:
        raise UserError(f"title must be {right}")
    listed = ", ".join(f'"{kind}"' for kind in KINDS)
    if (kind := need(data, "", "kind", f"one of {listed}")) not in KINDS:
        raise UserError(f"kind is {kind!r:.60}, it must be one of {listed}")
    need(data, "", "clock_ghz", _RULES["clock_ghz"].right)
    yield f"name {name}"
    yield f"title {title}"


def _check_tables(data: Mapping[str, Any], place_of: Places) -> None:
    """Check the keys of the tables of numbers."""
    check_keys(data["latency_ns"], "latency_ns", LATENCIES)
    for key, reason in needed_latencies(place_of.values()).items():
        if key not in data["latency_ns"]:
            raise UserError(f"latency_ns.{key} is missing, but {reason}: it must be {_NS.right}")
    check_keys(data["op_cycles"], "op_cycles", CYCLES)
    for key in CYCLES:
        need(data["op_cycles"], "op_cycles", key, _rule(f"op_cycles.{key}").right)
    for key in data.get("protocol", ()):
        if not re.fullmatch(r"[a-z0-9_]{1,60}", key):
            raise UserError(
                f"protocol.{key[:60]} is not a key: it must be a-z, 0-9 and _, at most 60"
            )


def _rule(key: str) -> Rule:
    return _RULES.get(key) or _RULES[key.partition(".")[0]]


def _value(node: Any, key: str) -> float:
    """Return the value of a number, which may be a table with the range of the true number."""
    rule = _rule(key)
    if not isinstance(node, Mapping):
        return checked(node, key, rule)
    check_keys(node, key, ("value", "low", "high"))
    right = "{ value = .., low = .., high = .. }"
    value, low, high = (
        checked(need(node, key, part, f"in an uncertain number: {right}"), f"{key}.{part}", rule)
        for part in ("value", "low", "high")
    )
    if low > value:
        raise UserError(f"{key}.low must be at most {key}.value")
    if high < value:
        raise UserError(f"{key}.high must be at least {key}.value")
    return value


def _tiers(data: Mapping[str, Any], place_of: Places) -> Iterator[tuple[str, str, int, list[int]]]:
    """Yield name, unit, number of units and groups of each tier."""
    tables = data.get("tier", [])
    if not isinstance(tables, list) or not all(isinstance(entry, Mapping) for entry in tables):
        raise UserError("tier must be tables: [[tier]]")
    known: dict[str, tuple[str, int]] = {}
    for table in tables:
        check_keys(table, "tier", ("name", "ns", *UNITS))
        name = need(table, "tier", "name", _NAME_RIGHT)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise UserError(f"tier.name is {name!r:.60}, it must be {_NAME_RIGHT}")
        units = [unit for unit in UNITS if unit in table]
        if len(units) != 1:
            raise UserError(f"tier.{name} must have exactly one of {', '.join(UNITS)}")
        count = int(checked(table[units[0]], f"tier.{name}.{units[0]}", _JOINED))
        need(table, f"tier.{name}", "ns", _NS.right)
        _check_tier(known, name, units[0], count)
        groups = _groups(place_of.values(), name, units[0], count)
        known[name] = units[0], count
        yield name, units[0], count, groups


def _check_tier(known: Mapping[str, tuple[str, int]], name: str, unit: str, count: int) -> None:
    """Check a tier against those before it: a larger group consists of whole smaller ones."""
    if name in known:
        raise UserError(f"tier.{name} appears twice, each tier must have its own name")
    for other, (its_unit, its_count) in known.items():
        if its_unit == unit and its_count == count:
            raise UserError(f"tier.{name} joins as many {unit} as tier.{other}, remove one of them")
        if its_unit == unit and max(count, its_count) % min(count, its_count):
            raise UserError(
                f"tier.{name} joins {count} {unit} and tier.{other} {its_count}, one must be a "
                "multiple of the other"
            )


def _groups(placed: Iterable[Place], name: str, unit: str, count: int) -> list[int]:
    """Return the group of each unit.

    A tier joins consecutive units of one parent: cores of an LLC, LLCs of a node, nodes of a
    package, packages of the machine. If an LLC spans nodes, a tier joins LLCs of a package.
    """
    all_places = list(placed)
    parent = _PARENTS[unit]
    llcs = {place.llc for place in all_places}
    if unit == "llcs" and len({(place.llc, place.node) for place in all_places}) > len(llcs):
        parent = "package"
    pairs = sorted({(getattr(place, parent, 0), place.unit(unit)) for place in all_places})
    group_of: dict[int, int] = {}
    first = most = 0
    for _, members in groupby(pairs, key=lambda pair: pair[0]):
        units = [number for _, number in members]
        group_of |= {number: first + rank // count for rank, number in enumerate(units)}
        first += -(-len(units) // count)
        most = max(most, len(units))
    if count >= most:
        shown = parent.upper() if parent == "llc" else parent
        raise UserError(
            f"tier.{name}.{unit} is {count}, it must be less than the {unit} of the largest "
            f"{shown}, {most}"
        )
    return [group_of[number] for number in sorted(group_of)]


def _check_sources(data: Mapping[str, Any], values: Iterable[str]) -> None:
    """Check that each number has a source, and each source a number."""
    topology = data["topology"]
    numbers = [*values, *(f"topology.{key}" for key in topology if key != "numbering")]
    sources = data["source"]
    covering = {
        number: {number[: end.start()] for end in re.finditer(r"\.|$", number)} & sources.keys()
        for number in numbers
    }
    for number, covers in covering.items():
        if not covers:
            raise UserError(
                f"{number} has no source: [source] must have an entry for it, or for a table "
                "above it"
            )
    used = set().union(*covering.values())
    for key, text in sources.items():
        if not isinstance(text, str) or not text:
            raise UserError(
                f'source."{key[:60]}" must be a non-empty string that says where the figure is '
                "from (put the key in quotes if it contains dots)"
            )
        if key not in used:
            raise UserError(
                f'source."{key[:60]}" does not name a number in this file: keys are like '
                '"clock_ghz", "latency_ns" or "latency_ns.llc"'
            )


def main(source: str, target: str) -> None:
    """Write one machine file in its flat form."""
    path = Path(source)
    write_atomic(
        Path(target), flat_text(with_core(read_toml(path, "machine file"), source), source)
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
