# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads and changes the numbers of a machine file, which may have ranges.

A number is ``70.0`` or ``{ value = 70.0, low = 55.0, high = 90.0 }``. Its key is dotted:
``clock_ghz``, ``latency_ns.llc``, ``op_cycles.locked``, ``protocol.data_leg``, and ``tier.NAME``
for the ``ns`` of a ``[[tier]]``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from common.errors import UserError

TABLES = ("latency_ns", "op_cycles", "protocol")
TIER_UNITS = ("cores", "llcs", "nodes", "packages")
# Keys whose value the loader takes as a whole number only.
WHOLE = frozenset({"op_cycles.store_buffer"})


class Rule(NamedTuple):
    """Which numbers a key takes. ``right`` says it in a message."""

    low: float
    high: float
    right: str
    whole: bool = False
    above: bool = False  # the number must be above low


def check_keys(table: Mapping[str, Any], path: str, known: Collection[str]) -> None:
    """Raise a UserError for an unknown key: if it is misspelt, a default would stay in force."""
    for key in table:
        if key not in known:
            name = f"{path}.{key[:60]}".lstrip(".")
            near = get_close_matches(key[:60], known, 1, 0) or list(known)
            meant = f"{path}.{near[0]}".lstrip(".")
            raise UserError(f"{name} is not a known key, did you mean {meant}?")


def need(table: Mapping[str, Any], path: str, key: str, right: str) -> Any:
    """Return the value of a key, or raise a UserError that says what it must be."""
    if key not in table:
        raise UserError(f"{path}.{key} is missing, it must be {right}".lstrip("."))
    return table[key]


def checked(node: Any, name: str, rule: Rule) -> float:
    """Return a plain number that obeys a rule. Not-a-number obeys none."""
    if isinstance(node, bool) or not isinstance(node, int if rule.whole else (int, float)):
        raise UserError(f"{name} has the wrong type, it must be {rule.right}")
    if not (node > rule.low if rule.above else node >= rule.low) or not node <= rule.high:
        raise UserError(f"{name} is {node:g}, it must be {rule.right}")
    return float(node)


class Range(NamedTuple):
    """The range in which the true value of an uncertain number lies."""

    low: float
    high: float


def value_of(node: Any, key: str = "a number") -> float:
    """Return the value that the simulator uses. Errors call the number ``key``."""
    return _float(node["value"] if _is_uncertain(node, key) else node, key)


def range_of(node: Any, key: str = "a number") -> Range | None:
    """Return the range of a number, or None if it has none."""
    if not _is_uncertain(node, key):
        return None
    return Range(_float(node["low"], key), _float(node["high"], key))


def _is_uncertain(node: Any, key: str) -> bool:
    if isinstance(node, Mapping) and not {"value", "low", "high"} <= node.keys():
        raise UserError(
            f"{key} is not a number: give 70.0 or {{ value = 70.0, low = 55.0, high = 90.0 }}"
        )
    return isinstance(node, Mapping)


def _float(node: Any, key: str) -> float:
    if isinstance(node, bool) or not isinstance(node, (int, float)):
        raise UserError(f"{key} is {node!r}, which is not a number")
    return float(node)


def number_nodes(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield key and node of every number that may have a range, in the order of the file."""
    for name, content in data.items():
        if name == "clock_ghz":
            yield name, content
        elif name in TABLES and isinstance(content, Mapping):
            yield from ((f"{name}.{key}", node) for key, node in content.items())
        elif name == "tier" and isinstance(content, list):
            for tier in content:
                yield f"tier.{tier['name']}", tier["ns"]


def number_node(data: Mapping[str, Any], key: str) -> Any:
    """Return the node of a dotted key, or None if the file lacks it."""
    return next((node for name, node in number_nodes(data) if name == key), None)


def set_number(document: Any, key: str, value: float, source: str) -> None:
    """Set a number and its source, in a dict or a document of tomlkit.

    The range is removed. A constant of [protocol] that the file lacks is added.
    """
    new: int | float = round(value) if key in WHOLE else value
    table, _, name = key.partition(".")
    if table == "tier":
        tier = next((entry for entry in document.get("tier", []) if entry["name"] == name), None)
        if tier is None:
            raise UserError(f"the machine has no tier '{name}'")
        tier["ns"] = new
    elif name:
        if table not in document:
            document[table] = {}
        document[table][name] = new
    else:
        document[table] = new
    document["source"][key] = source


def source_of(key: str, sources: Mapping[str, Any]) -> str:
    """Return the source of a dotted key: its own, or that of the nearest table above it."""
    while key:
        if key in sources:
            return str(sources[key])
        key = key.rpartition(".")[0]
    return "no source"
