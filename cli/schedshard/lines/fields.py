# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Numbers the lines of a result as reports do, and names the fields on them.

The simulator counts lines from 0 and gives offsets. Published reports count lines from 1 and name
fields. A result contains both when it is made, because only its own simulator knows the fields.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from schedshard.common.paths import is_elf, sim_binary
from schedshard.lines.dwarf import Layouts

LINE_BYTES = 64


def layouts_of(raws: Iterable[Any]) -> Layouts | None:
    """Return the types of all lines that the simulator printed, or None if it is not ours."""
    binary = sim_binary()
    if not is_elf(binary):
        return None
    types = {
        str(line.get("type") or "")
        for raw in raws
        for line in (raw.get("lines", ()) if isinstance(raw, dict) else ())
        if isinstance(line, dict)
    }
    return Layouts(binary, types)


def numbered(lines: Sequence[dict[str, Any]], layouts: Layouts | None) -> list[dict[str, Any]]:
    """Return the lines with numbers from 1, their offsets in the object, and their fields."""
    return [
        {
            **line,
            "line": int(line["line"]) + 1,
            "offset": int(line["line"]) * LINE_BYTES,
            "fields": _fields(line, layouts),
        }
        for line in lines
    ]


def _fields(line: Mapping[str, Any], layouts: Layouts | None) -> list[dict[str, Any]]:
    """Return the accessed fields of a line, hottest first. A field without a name has its offset.

    Accesses to one field from several places in the code form one entry.
    """
    found: dict[str, dict[str, Any]] = {}
    for access in line["accesses"]:
        offset = int(access["offset"])
        name = ""
        if layouts is not None and line.get("type"):
            name = layouts.field(str(line["type"]), int(line["line"]) * LINE_BYTES + offset)
        name = name or f"{offset:#x}"
        entry = found.setdefault(
            name,
            {
                "field": name,
                "offset": offset,
                "size": access["size"],
                "records": 0,
                "loads": 0,
                "stores": 0,
                "hitm_remote": 0,
                "hitm_local": 0,
                "avg_load_cycles": 0.0,
                "max_load_cycles": 0.0,
            },
        )
        loads = access.get("loads", access["records"])
        time = entry["avg_load_cycles"] * entry["loads"] + access["avg_load_cycles"] * loads
        for key in ("records", "stores", "hitm_remote", "hitm_local"):
            entry[key] += access[key]
        entry["loads"] += loads
        entry["avg_load_cycles"] = time / entry["loads"] if entry["loads"] else 0.0
        entry["max_load_cycles"] = max(entry["max_load_cycles"], access["max_load_cycles"])
        entry["offset"] = min(entry["offset"], offset)
    return sorted(
        found.values(),
        key=lambda entry: (-entry["avg_load_cycles"] * entry["loads"], entry["offset"]),
    )


def layout_tables(
    variants: Iterable[Mapping[str, Any]], layouts: Layouts | None
) -> dict[str, dict[str, Any]]:
    """Return for each type on the lines its size and the layout of its fields."""
    if layouts is None:
        return {}
    tables: dict[str, dict[str, Any]] = {}
    for variant in variants:
        for line in variant.get("lines", ()):
            name = str(line.get("type") or "")
            if not name or name in tables:
                continue
            leaves = layouts.leaves(name)
            if leaves:
                tables[name] = {
                    "size": layouts.size(name),
                    "fields": [
                        {"field": leaf.path, "offset": leaf.offset, "size": leaf.size}
                        for leaf in leaves
                    ],
                }
    return tables
