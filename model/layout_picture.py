# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draws objects as pahole lists them: one row per cache line, its fields side by side.

A row's colour shows how many cycles a load of the line takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from common.show.format import significant
from common.show.theme import light_text
from model.results.lines import LINE_BYTES, CacheLine, Field, FieldAccess, Layout

# Loads that hit take a few cycles; the slowest published ones take 59,000.
COOLEST, HOTTEST = 10.0, 60_000.0
_SCALE = ((255, 255, 255), (255, 236, 179), (242, 153, 74), (166, 30, 34))
LONE_LINES = 6
FOLD_FROM = 3


@dataclass(frozen=True)
class Box:
    """One field, or the part of it that lies on one line. Offset and size are in bytes."""

    name: str
    offset: int
    size: int
    used: bool
    hint: str


@dataclass(frozen=True)
class Row:
    """One line, or several lines without loads, which have neither boxes nor a colour."""

    label: str
    cycles: str
    colour: str
    light: bool
    boxes: tuple[Box, ...]
    said: str = ""


@dataclass(frozen=True)
class Picture:
    """The rows of one object, with a title."""

    title: str
    rows: tuple[Row, ...]


def heat(cycles: float) -> float:
    """Return a load's cost on a logarithmic scale: 0 for a hit, 1 for the slowest published."""
    if cycles <= COOLEST:
        return 0.0
    return min(1.0, math.log(cycles / COOLEST) / math.log(HOTTEST / COOLEST))


def colour(value: float) -> str:
    """Return a colour of the scale from white over yellow to red, for a value from 0 to 1."""
    place = value * (len(_SCALE) - 1)
    index = min(int(place), len(_SCALE) - 2)
    low, high = _SCALE[index], _SCALE[index + 1]
    mixed = (round(a + (b - a) * (place - index)) for a, b in zip(low, high))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def legend() -> tuple[tuple[str, str, bool], ...]:
    """Return a few places of the scale as (colour, cycles, whether its text is light)."""
    steps = (10.0, 100.0, 1_000.0, 10_000.0, 60_000.0)
    return tuple((colour(heat(c)), f"{c:,.0f}", light_text(colour(heat(c)))) for c in steps)


def _boxes(
    fields: Iterable[Field], line: int, size: int, accessed: Iterable[FieldAccess]
) -> tuple[Box, ...]:
    """Return the fields of a type on one line (from 0), with the holes between them.

    ``fields`` are those of one element of ``size`` bytes. An object that is an array repeats them.
    """
    start, end = line * LINE_BYTES, (line + 1) * LINE_BYTES
    parts = []
    first = start // size
    for element in range(first, (end - 1) // size + 1):
        for entry in fields:
            begin = element * size + entry.offset
            low, high = max(begin, start), min(begin + entry.size, end)
            if low < high:
                name = entry.field if element == 0 else f"[{element}].{entry.field}"
                parts.append((low - start, high - low, name))
    boxes = []
    at = 0
    for offset, length, name in [*sorted(parts), (LINE_BYTES, 0, "")]:
        if offset > at:
            boxes.append(Box("", at, offset - at, False, f"{offset - at} bytes free"))
        if length and offset >= at:
            boxes.append(_box(name, offset, length, accessed))
        at = max(at, offset + length)
    return tuple(boxes)


def _box(name: str, offset: int, size: int, accessed: Iterable[FieldAccess]) -> Box:
    here = [entry for entry in accessed if offset <= entry.offset < offset + size]
    loads = sum(entry.loads for entry in here)
    stores = sum(entry.stores for entry in here)
    hint = f"{name}: offset {offset:#x} of the line, {size} bytes"
    if here:
        time = sum(entry.waited for entry in here)
        hint += f"; {loads:,} loads"
        hint += f" of {significant(time / loads)} cycles" if loads else ""
        hint += f", {stores:,} stores"
    return Box(name, offset, size, bool(here), hint)


def _row(layout: Layout, number: int, line: CacheLine | None) -> Row:
    accessed = line.fields if line is not None else ()
    boxes = _boxes(layout.fields, number - 1, layout.size, accessed)
    if line is None:
        return Row(f"line {number}", "", "", False, boxes)
    value = colour(heat(line.avg_load_cycles))
    cycles = f"{significant(line.avg_load_cycles)}" if line.loads else "stores only"
    return Row(f"line {number}", cycles, value, light_text(value), boxes)


def _folded(layout: Layout, first: int, last: int) -> Row:
    """Return one row for adjacent lines without loads."""
    low, high = (first - 1) * LINE_BYTES, last * LINE_BYTES
    names = [e.field for e in layout.fields if low <= e.offset < high]
    said = f"{names[0]} ... {names[-1]}" if len(names) > 1 else "".join(names)
    return Row(f"lines {first}-{last}", "", "", False, (), said)


def _whole(layout: Layout, lines: Mapping[int, CacheLine]) -> list[Row]:
    """Return rows for all lines of a structure. One row stands for a long stretch without loads."""
    count = max(-(-layout.size // LINE_BYTES), *lines)
    rows: list[Row] = []
    number = 1
    while number <= count:
        last = number
        while last <= count and last not in lines:
            last += 1
        if last - number >= FOLD_FROM:
            rows.append(_folded(layout, number, last - 1))
            number = last
            continue
        rows.append(_row(layout, number, lines.get(number)))
        number += 1
    return rows


def pictures(found: Iterable[CacheLine], layouts: Mapping[str, Layout]) -> list[Picture]:
    """Return pictures of the objects whose types are known, the one with the slowest line first.

    Of several large objects with one name and type, only the hottest is drawn. Of small objects,
    their hottest lines are drawn.
    """
    objects: dict[tuple[str, str], dict[int, dict[int, CacheLine]]] = {}
    for line in found:
        if line.type is not None and line.type in layouts:
            base = int(line.address, 16) - line.offset
            same = objects.setdefault((line.object, line.type), {})
            same.setdefault(base, {})[line.line] = line

    def hottest(lines: Iterable[CacheLine]) -> float:
        return max(line.avg_load_cycles for line in lines)

    drawn = []
    for (name, kind), places in objects.items():
        layout = layouts[kind]
        every = [line for lines in places.values() for line in lines.values()]
        if layout.size > LINE_BYTES:
            chosen = max(places.values(), key=lambda lines: hottest(lines.values()))
            rows = _whole(layout, chosen)
            count = -(-layout.size // LINE_BYTES)
            title = f"{name}: {kind}, {layout.size:,} bytes, {count} lines"
        else:
            every.sort(key=lambda line: (-line.avg_load_cycles, line.address))
            rows = [_row(layout, line.line, line) for line in every[:LONE_LINES]]
            title = f"{name}: {kind}, the {len(rows)} slowest of its {len(every)} lines"
        drawn.append((hottest(every), Picture(title, tuple(rows))))
    drawn.sort(key=lambda entry: -entry[0])
    return [picture for _, picture in drawn]
