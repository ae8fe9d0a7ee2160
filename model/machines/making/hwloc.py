# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads topologies from the XML files of hwloc (`lstopo FILE.xml`), of its versions 1 and 2."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from common.errors import UserError

_LEVELS = {"Package": "package", "Socket": "package", "NUMANode": "node", "Core": "core"}


def hwloc_records(text: str, name: str, right: str) -> list[dict[str, int]]:
    """Return for each CPU its number and the ids of its groups, without levels that are unknown.

    ``right`` ends each message on a wrong file: what would be right.
    """
    try:
        root = ET.fromstring(text)  # noqa: S314: expat fetches nothing, and limits expansion
    except (ET.ParseError, ValueError) as error:
        raise UserError(f"{name}: not XML ({error}): give {right}") from error
    if root.tag != "topology":
        raise UserError(f"{name}: XML, but not of hwloc: give {right}")
    records = []
    number = 0
    todo: list[tuple[ET.Element, dict[str, int]]] = [(root, {})]
    while todo:
        element, groups = todo.pop()
        number += 1
        if level := _level(element):
            groups = groups | {level: number}
        # hwloc 2 puts the memory of an object's CPUs beside these CPUs, not above them.
        if any(child.get("type") == "NUMANode" for child in element):
            groups = groups | {"node": number}
        if element.get("type") == "PU":
            records.append(groups | {"cpu": _cpu(element, name, right)})
        todo += [(child, groups) for child in element if child.tag == "object"]
    if not records:
        raise UserError(f"{name}: names no CPU: give {right}")
    return records


def _level(element: ET.Element) -> str | None:
    """Return the level to which an object belongs; l2 and l3 are caches."""
    kind = element.get("type", "")
    depth = element.get("depth", "")
    if kind == "Cache" and element.get("cache_type") in ("0", "1"):  # hwloc 1
        kind = f"L{depth}Cache"
    return kind[:2].lower() if kind in ("L2Cache", "L3Cache") else _LEVELS.get(kind)


def _cpu(element: ET.Element, name: str, right: str) -> int:
    """Return the number that the kernel gave a CPU."""
    index = element.get("os_index", "")
    if not (index.isascii() and index.isdigit() and len(index) < 6):
        raise UserError(f"{name}: a CPU (PU) has no number (os_index): give {right}")
    return int(index)
