# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Says why the recorder stopped a program: all of its threads wait, or loop without end."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.paths import typed
from record.names.memory import Memory
from record.names.modules import Modules

_MOST = 6  # places that a sentence names


def _listed(places: Counter[str]) -> str:
    counts = [f"{count} in {place}" for place, count in places.most_common(_MOST)]
    rest = len(places) - _MOST
    more = f", and {rest} other {'place' if rest == 1 else 'places'}" if rest > 0 else ""
    return ", ".join(counts) + more


def _placed(waits: Sequence[tuple[str, int]], memory: Memory | Modules) -> Counter[str]:
    frames = memory.frames({pc - 1 for _, pc in waits if pc})
    places: Counter[str] = Counter()
    for what, pc in waits:
        stack = frames.get(pc - 1, ())
        where = f" at {stack[0].source} ({stack[0].function})" if stack else ""
        places[f"{what}{where}"] += 1
    return places


def _looping(memory: Memory, meta: Mapping[str, Any]) -> Counter[str]:
    spins = [(int(number), int(pc), int(at)) for number, pc, at in meta["spins"]]
    frames = memory.frames({pc - 1 for _, pc, _ in spins if pc})
    memory.learn({at: frozenset({4}) for _, _, at in spins if at})
    places: Counter[str] = Counter()
    for number, pc, at in spins:
        stack, thing = frames.get(pc - 1, ()), memory.name_of(at) if at else None
        where = f" at {stack[0].source} ({stack[0].function})" if stack else ""
        field = thing.field(at - thing.address) if thing is not None else ""
        name = thing.name + field if thing is not None else "memory"
        who = f"thread {number}: " if len(spins) == 1 else ""
        does = f"that reads {name} (0x{at:x})" if at else "without instrumentation"
        places[f"{who}a loop{where} {does}"] += 1
    return places


def turns(meta: Mapping[str, Any]) -> str | None:
    """Return the sentence on interruptions of code without instrumentation, or None."""
    counts = {int(pc): int(times) for pc, times in meta["turns"]}
    if not counts:
        return None
    memory = Memory(meta)
    try:
        frames = memory.frames(counts)
    finally:
        memory.close()
    places: Counter[str] = Counter()
    for pc, times in counts.items():
        stack = frames.get(pc, ())
        places[f"{stack[0].function} ({stack[0].source})" if stack else f"0x{pc:x}"] += times
    return (
        "code without instrumentation ran for long, and was interrupted for other threads: "
        f"{_listed(places)}; the host's clock decides when, so runs differ: compile that code with "
        f"'{typed('cc')}', or leave --exact out"
    )


def waits_now(path: Path, process: int) -> str:
    """Return the sentence on a running program none of whose threads can run."""
    rows = [line.split(" ", 1) for line in path.read_text(encoding="utf-8").splitlines()]
    maps = [
        (*(int(bound, 16) for bound in parts[0].split("-")), int(parts[2], 16), parts[5])
        for parts in (
            line.split(maxsplit=5)
            for line in Path(f"/proc/{process}/maps").read_text(encoding="utf-8").splitlines()
        )
        if len(parts) == 6 and parts[5].startswith("/")
    ]
    places = _placed([(what, int(pc, 16)) for pc, what in rows], Modules(maps))
    return f"no thread has run for 10 seconds: {_listed(places)}"


def why_stopped(meta: Mapping[str, Any]) -> str | None:
    """Return the sentence on why a program was stopped, or None if it was not."""
    if not meta["deadlock"] and not meta["spins"]:
        return None
    memory = Memory(meta)
    try:
        waiting = _placed([(str(what), int(pc)) for _, what, pc in meta["deadlock"]], memory)
        if meta["spins"]:
            rest = f"; {waiting.total()} wait: {_listed(waiting)}" if waiting else ""
            looping = _looping(memory, meta)
            return f"no thread can end its loop, because none can store: {_listed(looping)}{rest}"
    finally:
        memory.close()
    count = waiting.total()
    all_of = "the only thread waits" if count == 1 else f"all {count} threads wait"
    return f"{all_of}: deadlock: {_listed(waiting)}"
