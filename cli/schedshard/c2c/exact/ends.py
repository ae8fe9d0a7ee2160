# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Why a program was stopped: all of its threads wait, or are in loops that cannot end."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from schedshard.c2c.naming.memory import Memory

_MOST = 6  # places that a sentence names


def _listed(places: Counter[str]) -> str:
    said = [f"{count} in {place}" for place, count in places.most_common(_MOST)]
    rest = len(places) - _MOST
    more = f", and {rest} other {'place' if rest == 1 else 'places'}" if rest > 0 else ""
    return ", ".join(said) + more


def _waiting(memory: Memory, meta: Mapping[str, Any]) -> Counter[str]:
    waits = [(str(what), int(pc)) for _, what, pc in meta["deadlock"]]
    frames = memory.frames({pc - 1 for _, pc in waits if pc})
    places: Counter[str] = Counter()
    for what, pc in waits:
        found = frames.get(pc - 1, ())
        where = f" at {found[0].source} ({found[0].function})" if found else ""
        places[f"{what}{where}"] += 1
    return places


def _looping(memory: Memory, meta: Mapping[str, Any]) -> Counter[str]:
    spins = [(int(number), int(pc), int(at)) for number, pc, at in meta["spins"]]
    frames = memory.frames({pc - 1 for _, pc, _ in spins if pc})
    memory.learn({at: frozenset({4}) for _, _, at in spins})
    places: Counter[str] = Counter()
    for number, pc, at in spins:
        found, thing = frames.get(pc - 1, ()), memory.at(at)
        where = f" at {found[0].source} ({found[0].function})" if found else ""
        field = thing.field(at - thing.address) if thing is not None else ""
        name = thing.name + field if thing is not None else "memory"
        who = f"thread {number}: " if len(spins) == 1 else ""
        places[f"{who}a loop{where} that reads {name} (0x{at:x})"] += 1
    return places


def why_stopped(meta: Mapping[str, Any]) -> str | None:
    """The sentence; None: it was not stopped."""
    if not meta["deadlock"] and not meta["spins"]:
        return None
    memory = Memory(meta)
    try:
        waiting = _waiting(memory, meta)
        if meta["spins"]:
            rest = f"; {waiting.total()} wait: {_listed(waiting)}" if waiting else ""
            looping = _looping(memory, meta)
            return (
                f"no thread can end its loop, for no other one can store: {_listed(looping)}{rest}"
            )
    finally:
        memory.close()
    count = waiting.total()
    all_of = "the only thread waits" if count == 1 else f"all {count} threads wait"
    return f"{all_of}: deadlock: {_listed(waiting)}"
