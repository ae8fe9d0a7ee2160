# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Chooses bytes of contended lines to move to other lines, and words the advice.

Every hot line is a candidate, whatever its kind of sharing: accesses to two words that are truly
shared still queue for one line. A replay shows what each candidate gains. An object that the
program's author did not write, such as a mutex or a library's data, is never split.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from model.results.raw import Line
from record.names.memory import member_of
from record.names.things import Thing

LINE = 64
# Candidates that are replayed, by the cycles that their lines cost.
MOST_TRIED = 8
_MAX_MOVED = 4096
_RAW = ("file", "mapped", "unknown")
# An access counts if it makes more than this share of a line's accesses, or of its HITM.
_COLD = 0.005
# The least HITM of an object, or cycles of its stores, for advice. With fewer, a replay's gain may
# come from another order of threads.
_FEWEST = 10
_STORED = 10_000


@dataclass(frozen=True)
class Part:
    """Bytes of a line that are used together: offsets from and to, and the CPUs that use them."""

    low: int
    high: int
    by: frozenset[int]
    written: bool


def parts(line: Line) -> list[Part]:
    """Return a line's bytes in use, cut wherever the set of CPUs that use them changes.

    Bytes that any one access covers stay together, even if that access is rare. Parts that are
    seldom used are left out, because they are no reason to move anything.
    """
    every = line.accesses
    found: list[tuple[Part, int, int]] = []
    for access in sorted(every, key=lambda a: (a.offset, a.size)):
        low, high = access.offset, min(access.offset + access.size, LINE)
        part = Part(low, high, frozenset(access.by), access.stores > 0)
        records, hitms = access.records, access.hitm
        if found and low < found[-1][0].high:
            last, before, hitms_before = found.pop()
            by, written = last.by | part.by, last.written or part.written
            part = Part(last.low, max(high, last.high), by, written)
            records, hitms = records + before, hitms + hitms_before
        found.append((part, records, hitms))
    least = _COLD * sum(a.records for a in every), _COLD * sum(a.hitm for a in every)
    return _joined(
        [part for part, *counts in found if counts[0] > least[0] or counts[1] > least[1]]
    )


def _joined(found: Sequence[Part]) -> list[Part]:
    """Join neighbouring parts that the same single CPU uses, or that no CPU writes."""
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
class _Piece:
    """Bytes of a line that stay together, and the name of the object or member there."""

    low: int
    high: int
    name: str
    ours: bool  # the program can move them
    thing: Thing
    by: frozenset[int]  # the CPUs that use them


def _piece(address: int, part: Part, thing: Thing) -> _Piece:
    """Return the piece for a part: its bytes, or the whole object there if it cannot be split."""
    low, high = address + part.low, address + part.high
    whole = thing.whole(low - thing.address)
    if whole is None:
        name = member_of(thing, thing.field(low - thing.address))
        return _Piece(low, high, name, not thing.foreign, thing, part.by)
    start, size, path = whole
    begin = thing.address + start
    return _Piece(
        min(low, begin), max(high, begin + size), member_of(thing, path), not thing.foreign, thing,
        part.by,
    )  # fmt: skip


def _pieces(line: Line, at: Callable[[int], Thing | None]) -> list[_Piece]:
    """Return a line's bytes, cut where both the program's accesses and its types allow it."""
    address = line.start
    found: list[_Piece] = []
    for part in parts(line):
        thing = at(address + part.low)
        if thing is None:
            continue
        piece = _piece(address, part, thing)
        last = found[-1] if found else None
        together = last is not None and (
            piece.low < last.high or (not piece.ours and not last.ours)
        )
        if last is not None and together:
            found[-1] = replace(last, high=max(last.high, piece.high), by=last.by | piece.by)
        else:
            found.append(piece)
    # An object may begin before the line or end after it: keep only its bytes in this line.
    return [replace(p, low=max(p.low, address), high=min(p.high, address + LINE)) for p in found]


def _several(pieces: Sequence[_Piece]) -> bool:
    """Whether each piece belongs to another allocated object, all of one type."""
    if not all(each.thing.kind == "heap" and each.thing.field(0) for each in pieces):
        return False
    begins = {piece.thing.address for piece in pieces}
    types = {(piece.thing.type, piece.thing.size) for piece in pieces}
    return len(begins) == len(pieces) > 1 and len(types) == 1


def _element(piece: _Piece) -> tuple[int, str] | None:
    """Return the array element that contains a piece: the object's address, and a path."""
    thing, offset = piece.thing, piece.low - piece.thing.address
    if thing.element is not None:
        return thing.address, str(offset // thing.element[1])
    row = thing.row(offset)
    number = re.match(r"\[\d+\]", thing.field(offset).removeprefix(row[2])) if row else None
    return (thing.address, f"{row[2]}{number[0]}") if row and number else None


def _within(pieces: Sequence[_Piece]) -> bool:
    """Whether different CPUs use parts of one element, so that padding elements would not help."""
    users: dict[tuple[int, str], list[frozenset[int]]] = {}
    for piece in pieces:
        element = _element(piece)
        if element is not None:
            users.setdefault(element, []).append(piece.by)
    return any(not one & other for by in users.values() for one, other in pairwise(by))


def _row(piece: _Piece) -> tuple[str, int, str] | None:
    """Return the array member that contains a piece: element type, its size, the array's name."""
    found = piece.thing.row(piece.low - piece.thing.address)
    return (*found[:2], member_of(piece.thing, found[2])) if found is not None else None


def _rows(pieces: Sequence[_Piece]) -> set[str]:
    """Return the arrays of which the pieces belong to several elements."""
    found: dict[str, set[tuple[int, str] | None]] = {}
    for piece in pieces:
        row = _row(piece)
        if row is not None:
            found.setdefault(row[2], set()).add(_element(piece))
    return {row for row, elements in found.items() if len(elements) > 1}


def _called(piece: _Piece, rows: Collection[str]) -> str:
    """Return the name of a piece in a sentence; one of several elements has its array's name."""
    row = _row(piece)
    return f"each element of `{row[2]}`" if row and row[2] in rows else f"`{piece.name}`"


def _padded(of: str, size: int, row: str) -> str:
    what = f"`{of}`" if of != "element" else "each element"
    length = "1 byte" if size == 1 else f"{size} bytes"
    return f"pad {what} ({length}, an element of {row}) to a line"


def _words(
    thing: Thing, pieces: Sequence[_Piece], away: Sequence[_Piece], several: bool, within: bool
) -> str:
    """Return the advice as text.

    ``pieces`` are those that the program can move, in lines from which some (``away``) are moved.
    """
    rows = set() if within else _rows(pieces)
    names = list(dict.fromkeys(_called(piece, rows) for piece in pieces))
    if several and thing.element is None:
        return f"pad `{thing.type}` ({thing.size} bytes, {thing.name}) to a line"
    if thing.element is not None and not within:
        if thing.element[1] % LINE:
            return _padded(*thing.element, thing.name)
        moved = list(dict.fromkeys(f"`{piece.name}`" for piece in away))
        stay = [name for name in names if name not in moved]
        if moved and stay:
            return f"move {' and '.join(moved)} out of the line of {' and '.join(stay)}"
    row = _row(away[0])
    if row is not None and row[2] in rows and {_row(piece) for piece in away} == {row}:
        return _padded(*row[:2], f"`{row[2]}`")
    if not thing.area and any(name != f"`{thing.name}`" for name in names):
        which = " and ".join(names[:3])
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        one = len(names) == 1 and not names[0].startswith("each")
        return f"give {which}{more} a line {'of its own' if one else 'each'}"
    return f"separate the words of {thing.name} that different threads use: a line each"


@dataclass(frozen=True)
class Move:
    """One piece of advice: the object, the bytes to move by address, and the sentence."""

    name: str
    ranges: tuple[tuple[int, int], ...]
    cycles: float
    words: str


def _named_only(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Mark bytes outside of objects as not movable: a linker's tables, an allocator's records."""
    if not any(piece.ours and piece.thing.kind not in _RAW for piece in pieces):
        return list(pieces)
    return [replace(piece, ours=piece.ours and piece.thing.kind not in _RAW) for piece in pieces]


def _moved(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Return the pieces to move: all but the first, or all but those that cannot move."""
    stays = next((p for p in pieces if not p.ours), pieces[0])
    return [p for p in pieces if p is not stays and p.ours]


def moves(
    lines: Sequence[tuple[Line, Thing | None]],
    at: Callable[[int], Thing | None],
    most: int = MOST_TRIED,
) -> list[Move]:
    """Return at most ``most`` moves to try, those of the most expensive lines first.

    ``lines`` contains each line with the object of its hottest byte. ``at`` returns the object of
    any byte.
    """
    by_thing: dict[tuple[str, str], list[tuple[Line, Thing]]] = {}
    for line, thing in lines:
        if thing is not None and (line.hitm or line.stored):
            by_thing.setdefault((thing.kind, thing.name), []).append((line, thing))
    found = []
    for (_, name), group in by_thing.items():
        few = sum(line.hitm for line, _ in group) < _FEWEST
        if few and sum(line.stored for line, _ in group) < _STORED:
            continue
        ranges: list[tuple[int, int]] = []
        meant: list[_Piece] = []
        every: list[_Piece] = []  # all that are moved
        several, within = True, False
        # A cold line is no reason to move either: objects of one allocation site have many.
        least = _COLD * max(line.heat for line, _ in group)
        for line, _ in group:
            if line.heat < least:
                continue
            pieces = _named_only(_pieces(line, at))
            away = _moved(pieces) if len(pieces) > 1 else []
            several = several and (not away or _several(pieces))
            within = within or (bool(away) and _within(pieces))
            ranges += [(piece.low, piece.high) for piece in away]
            every += away
            meant += [piece for piece in pieces if away and piece.ours]
        if ranges:
            cycles = sum(line.waited for line, _ in group)
            words = _words(group[0][1], meant, every, several, within)
            found.append(Move(name, tuple(sorted(set(ranges))[:_MAX_MOVED]), cycles, words))
    return sorted(found, key=lambda move: -move.cycles)[:most]
