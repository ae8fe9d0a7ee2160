# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Which CPUs share which bytes of a line, and which bytes would have to lie elsewhere.

An access shares truly in two cases: another CPU writes one of its bytes, or other CPUs access a
byte that it writes. All other accesses of a contended line meet only because of the line.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedshard.c2c.naming.objects import Thing

LINE = 64
TRUE, FALSE, MIXED = "true", "false", "mixed"
# Below and above these shares of its HITM a line is of one kind.
_FEW, _MOST = 0.1, 0.9
_MAX_MOVED = 4096


def _overlap(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return bool(a["offset"] < b["offset"] + b["size"] and b["offset"] < a["offset"] + a["size"])


def hitm(entry: Mapping[str, Any]) -> int:
    """Modified lines found elsewhere, near and far."""
    return int(entry["hitm_remote"]) + int(entry["hitm_local"])


def shares_truly(access: Mapping[str, Any], accesses: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two CPUs or more meet at the access's bytes, and one of them writes."""
    return any(
        writer["stores"] and _overlap(access, writer) and len({*access["by"], *writer["by"]}) > 1
        for writer in accesses
    )


def _foreign(access: Mapping[str, Any], writer: Mapping[str, Any]) -> float:
    """How many of a writer's stores were by other CPUs, seen from a CPU that makes the access."""
    mine, its = {*access["by"]}, {*writer["by"]}
    if not mine or not its:
        return 0.0
    return float(writer["stores"]) * (1 - len(mine & its) / (len(mine) * len(its)))


def _false_part(access: Mapping[str, Any], accesses: Sequence[Mapping[str, Any]]) -> float:
    """The share of an access's HITM caused by bytes that it does not touch.

    The recording does not say whose store took the line away: each CPU's part of the others' stores
    stands for it.
    """
    if not shares_truly(access, accesses):
        return 1.0
    true = sum(_foreign(access, w) for w in accesses if _overlap(access, w))
    beside = sum(
        _foreign(access, w)
        for w in accesses
        # The same CPUs' accesses to their other bytes come with the bytes that they share.
        if not _overlap(access, w) and {*w["by"]}.isdisjoint(access["by"])
    )
    return beside / (true + beside) if true + beside else 0.0


def hitm_of_false_sharing(line: Mapping[str, Any]) -> int:
    """Modified lines that were fetched for bytes that others do not touch."""
    return round(sum(hitm(a) * _false_part(a, line["accesses"]) for a in line["accesses"]))


def kind_of(line: Mapping[str, Any]) -> str:
    """True sharing, false sharing, or both."""
    total = hitm(line)
    share = hitm_of_false_sharing(line) / total if total else 0.0
    return TRUE if share < _FEW else FALSE if share > _MOST else MIXED


@dataclass(frozen=True)
class Part:
    """Bytes of a line that are used together: from, to, and the CPUs that use them."""

    low: int
    high: int
    by: frozenset[int]
    written: bool


def joined(
    accesses: Sequence[Mapping[str, Any]], instruction: Callable[[int], object]
) -> list[dict[str, Any]]:
    """Accesses by one instruction of a file, which several programs executed, as one."""
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for access in accesses:
        key = (access["offset"], access["size"], access["kind"], instruction(int(access["pc"], 16)))
        if key not in found:
            found[key] = dict(access)
            continue
        one = found[key]
        loads = one["loads"] + access["loads"]
        waited = sum(a["avg_load_cycles"] * a["loads"] for a in (one, access))
        for name in ("records", "loads", "stores", "hitm_remote", "hitm_local"):
            one[name] += access[name]
        one["avg_load_cycles"] = waited / loads if loads else 0.0
        one["max_load_cycles"] = max(one["max_load_cycles"], access["max_load_cycles"])
        one["by"] = sorted({*one["by"], *access["by"]})
        one["cpus"] = len(one["by"])
    return list(found.values())


def parts(line: Mapping[str, Any]) -> list[Part]:
    """A line's bytes, cut wherever the set of CPUs changes."""
    found: list[Part] = []
    for access in sorted(line["accesses"], key=lambda a: (a["offset"], a["size"])):
        low, high = int(access["offset"]), min(int(access["offset"]) + int(access["size"]), LINE)
        by, written = frozenset(access["by"]), access["stores"] > 0
        if found and low < found[-1].high:
            last = found.pop()
            part = Part(last.low, max(high, last.high), last.by | by, last.written or written)
            found.append(part)
        else:
            found.append(Part(low, high, by, written))
    return _joined(found)


def _joined(found: Sequence[Part]) -> list[Part]:
    """Neighbouring bytes that only one CPU uses, or that no CPU writes, stay together."""
    kept: list[Part] = []
    for part in found:
        last = kept[-1] if kept else None
        alone = last is not None and last.by == part.by and len(part.by) == 1
        read = last is not None and not last.written and not part.written
        if last is not None and (alone or read):
            kept[-1] = Part(last.low, part.high, last.by | part.by, last.written or part.written)
        else:
            kept.append(part)
    return kept


@dataclass(frozen=True)
class Move:
    """What could lie elsewhere: the object, its bytes by address, and the sentence that says so."""

    name: str
    ranges: tuple[tuple[int, int], ...]
    hitm: int
    words: str


def _plain(path: str) -> str:
    """A field without the number of its element."""
    return re.sub(r"^\[\d+\]", "", path).removeprefix(".").removeprefix("+")


def _words(thing: Thing, fields: Sequence[str]) -> str:
    named = [name for name in dict.fromkeys(fields) if name]
    owner = thing.type.removesuffix("[]") or thing.name
    if thing.element is not None:
        of, size = thing.element
        what = f"`{of}`" if of != "element" else "each element"
        return f"pad {what} ({size} bytes, an element of {thing.name}) to a line"
    if named:
        which = " and ".join(f"`{owner}.{name}`" for name in named[:3])
        return f"give {which} a line {'each' if len(named) > 1 else 'of its own'}"
    return f"set the words of {thing.name} that different threads use apart, a line each"


def moves(lines: Sequence[tuple[Mapping[str, Any], Thing | None]], most: int = 3) -> list[Move]:
    """What to move, by how much false sharing it would end; at most ``most``."""
    by_thing: dict[tuple[str, str], list[tuple[Mapping[str, Any], Thing]]] = {}
    for line, thing in lines:
        if thing is not None and hitm_of_false_sharing(line) > 0:
            by_thing.setdefault((thing.kind, thing.name), []).append((line, thing))
    found = []
    for (_, name), group in by_thing.items():
        ranges: list[tuple[int, int]] = []
        fields: list[str] = []
        for line, thing in group:
            address = int(line["address"], 16)
            cut = parts(line)
            # The first part stays, and so a line of one part is left as it is.
            for part in cut[1:]:
                ranges.append((address + part.low, address + part.high))
            if len(cut) > 1:
                fields += [_plain(thing.field(address + p.low - thing.address)) for p in cut]
        total = sum(hitm_of_false_sharing(line) for line, _ in group)
        if ranges:
            words = _words(group[0][1], fields)
            found.append(Move(name, tuple(sorted(ranges)[:_MAX_MOVED]), total, words))
    return sorted(found, key=lambda move: -move.hitm)[:most]
