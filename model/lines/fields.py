# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Numbers the lines of a result as reports do, and names the fields on them.

The simulator counts lines from 0 and gives offsets. Published reports count lines from 1 and name
fields. A result contains both from the start, because only the simulator that made it knows the
fields.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import convert

from common.paths import is_elf, sim_binary
from model.lines.dwarf import Layouts
from model.results.lines import LINE_BYTES, CacheLine, Field


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
    return Layouts(binary, types, indexed=True)


def numbered(lines: Sequence[dict[str, Any]], layouts: Layouts | None) -> list[CacheLine]:
    """Return the lines with numbers from 1, their offsets in the object, and their fields."""
    made = []
    for line in lines:
        number = int(line["line"])
        whole = {**line, "line": number + 1, "offset": number * LINE_BYTES, "fields": []}
        made.append(convert(whole, CacheLine))
        made[-1].fields = _fields(made[-1], layouts)
    return made


def _fields(line: CacheLine, layouts: Layouts | None) -> list[Field]:
    """Return the accessed fields of a line, hottest first. A field without a name has its offset.

    Accesses to one field from several places in the code form one entry.
    """
    fields: dict[str, Field] = {}
    for access in line.accesses:
        name = ""
        if layouts is not None and line.type:
            name = layouts.field(line.type, line.offset + access.offset)
        name = name or f"{access.offset:#x}"
        if name in fields:
            fields[name].add(access)
            fields[name].offset = min(fields[name].offset, access.offset)
        else:
            fields[name] = Field.made_from(access, field=name)
    return sorted(fields.values(), key=lambda entry: (-entry.waited, entry.offset))
