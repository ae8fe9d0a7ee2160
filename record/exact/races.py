# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The data races of a run: unordered accesses of two threads to the same bytes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from record.names.memory import Memory

OFF, SHARED, ALL = 0, 1, 2  # which lines are checked (record/exact/races.h)
_WRITES, _ATOMIC = 1, 2
_MOST = 5  # races in the notes of a report


def _kind(how: int) -> str:
    """Return the kind of an access as text."""
    return f"{'atomic or volatile ' if how & _ATOMIC else ''}{'write' if how & _WRITES else 'read'}"


def _merged(told: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge races of the same two source lines, which may be several: `x++` reads and writes."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for race in told:
        first, second = race["accesses"]
        places = sorted(f"{each['source']} {each['function']}" for each in (first, second))
        key = (race["object"], *places)
        known = found.setdefault(key, race)
        if known is race:
            continue
        known["times"] += race["times"]
        if known["accesses"][0]["source"] != first["source"]:
            first, second = second, first
        for into, each in zip(known["accesses"], (first, second), strict=True):
            into["kinds"] = sorted({*into["kinds"], *each["kinds"]})
    return list(found.values())


def races(meta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one race per pair of source lines, the most frequent first."""
    found = meta["races"]
    if not found:
        return []
    memory = Memory(meta)
    try:
        frames = memory.frames({int(pc) - 1 for row in found for pc in (row[3], row[6])})
        memory.learn({int(row[0]): frozenset({int(row[1])}) for row in found})
        told = []
        for at, size, first, pc, how, second, other_pc, other_how, times in found:
            thing = memory.name_of(at)
            field = thing.field(at - thing.address) if thing is not None else ""
            accesses = []
            for thread, place, did in ((first, pc, how), (second, other_pc, other_how)):
                where = frames.get(place - 1, ())
                accesses.append({
                    "thread": thread,
                    "kinds": [_kind(did)],
                    "source": where[0].source if where else "?",
                    "function": where[0].function if where else f"{place - 1:#x}",
                })  # fmt: skip
            told.append({
                "object": thing.name + field if thing is not None else "memory",
                "address": f"{at:#x}", "bytes": size, "times": times, "accesses": accesses,
            })  # fmt: skip
    finally:
        memory.close()
    return sorted(_merged(told), key=lambda race: -int(race["times"]))


def _sentence(race: Mapping[str, Any]) -> str:
    first, second = (
        f"{' and '.join(each['kinds'])} by thread {each['thread']} at {each['source']}"
        f" ({each['function']})"
        for each in race["accesses"]
    )
    count = "once" if race["times"] == 1 else f"{race['times']:,} times"
    return f"data race on {race['object']}, seen {count}: {first}, {second}"


def notes(found: Sequence[Mapping[str, Any]], meta: Mapping[str, Any]) -> list[str]:
    """Return the report's sentences on data races."""
    said = [_sentence(race) for race in found[:_MOST]]
    if len(found) > _MOST:
        more = len(found) - _MOST
        said.append(f"{more} other data race{'s' if more > 1 else ''}: --json has them")
    if meta["races_stopped"]:
        said.append("more than 1,024 threads: races after the last of those are not reported")
    return said
