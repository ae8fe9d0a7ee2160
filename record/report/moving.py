# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Chooses bytes of contended lines to move to other lines, and words the advice.

Every hot line is a candidate, whatever its kind of sharing: accesses to two words that are truly
shared still queue for one line. A replay with the bytes at their new places shows what each
candidate gains. If different threads use parts of one element, there are two candidates: a line for
each element, and one for each part. An object that the program's author did not write, such as a
mutex or a library's data, is never split.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from model.results.raw import Line
from record.names.memory import member_of
from record.names.things import Thing

LINE = 64
# A replay moves at most so many bytes as one range (record/plugin/feed_lines.c).
_SLOT = 4096
# Candidates that are replayed, by the cycles that their lines cost.
MOST_TRIED = 8
_MAX_MOVED = 131_072
# An object with so many lines may have more than a result contains.
_MANY_LINES = 512
_RAW = ("file", "mapped", "unknown")
# An access counts if it causes more than this share of a line's accesses, or of its HITM.
_COLD = 0.005
# The least HITM of an object, or cycles of its stores, for advice. With fewer, a replay's gain may
# come from another order of threads.
_FEWEST = 10
# An edit in more places is not written out.
_MOST_EDITS = 3
_STORED = 10_000
_PADDED = ") to a line"


@dataclass(frozen=True)
class Part:
    """Bytes of a line that are used together: offsets from and to, and the CPUs that use them."""

    low: int
    high: int
    by: frozenset[int]
    written: bool


def parts(line: Line) -> list[Part]:
    """Return a line's bytes in use, cut wherever the set of CPUs that use them changes.

    Bytes that any one access covers stay together, even if that access is rare. But a rare access
    does not make its CPU a user. Parts that are seldom used are left out, because they are no
    reason to move anything.
    """
    every = line.accesses
    least = _COLD * sum(a.records for a in every), _COLD * sum(a.hitm for a in every)
    spans: list[tuple[Part, int, int]] = []
    for access in sorted(every, key=lambda a: (a.offset, a.size)):
        low, high = access.offset, min(access.offset + access.size, LINE)
        often = access.records > least[0] or access.hitm > least[1]
        part = Part(low, high, frozenset(access.by if often else ()), access.stores > 0)
        records, hitms = access.records, access.hitm
        if spans and low < spans[-1][0].high:
            last, before, hitms_before = spans.pop()
            by, written = last.by | part.by, last.written or part.written
            part = Part(last.low, max(high, last.high), by, written)
            records, hitms = records + before, hitms + hitms_before
        spans.append((part, records, hitms))
    return _joined(
        [part for part, *counts in spans if counts[0] > least[0] or counts[1] > least[1]]
    )


def _joined(spans: Sequence[Part]) -> list[Part]:
    """Join neighbouring parts that the same single CPU uses, or that no CPU writes."""
    kept: list[Part] = []
    for part in spans:
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
        path = thing.field(low - thing.address).removesuffix(".(padding)")
        return _Piece(low, high, member_of(thing, path), not thing.foreign, thing, part.by)
    start, size, path = whole
    begin = thing.address + start
    return _Piece(
        min(low, begin), max(high, begin + size), member_of(thing, path), not thing.foreign, thing,
        part.by,
    )  # fmt: skip


def _pieces(line: Line, at: Callable[[int], Thing | None]) -> list[_Piece]:
    """Return a line's bytes, cut where both the program's accesses and its types allow it."""
    address = line.start
    pieces: list[_Piece] = []
    for part in parts(line):
        thing = at(address + part.low)
        if thing is None:
            continue
        piece = _piece(address, part, thing)
        last = pieces[-1] if pieces else None
        together = last is not None and (
            piece.low < last.high or (not piece.ours and not last.ours)
        )
        if last is not None and together:
            pieces[-1] = replace(last, high=max(last.high, piece.high), by=last.by | piece.by)
        else:
            pieces.append(piece)
    # An object may begin before the line or end after it: keep only its bytes in this line.
    return [replace(p, low=max(p.low, address), high=min(p.high, address + LINE)) for p in pieces]


def _is_of(piece: _Piece, thing: Thing) -> bool:
    """Whether a piece belongs to an allocated object of the same place and type."""
    of = piece.thing
    return of.kind == "heap" and (of.name, of.type) == (thing.name, thing.type)


def _is_padded(thing: Thing, lines: Sequence[Sequence[_Piece]]) -> bool:
    """Whether to pad all allocated objects of the type of ``thing``, which has pieces in ``lines``.

    True if ``thing`` shares a line with other objects and no array's elements are padded instead.
    """
    typed = thing.kind == "heap" and bool(thing.field(0)) and thing.element is None
    beside = any(len({(p.thing.kind, p.thing.address) for p in pieces}) > 1 for pieces in lines)
    return typed and beside and not any(map(_rows, lines))


def _element(piece: _Piece) -> tuple[int, str] | None:
    """Return the array element that contains a piece: the object's address, and a path."""
    thing, offset = piece.thing, piece.low - piece.thing.address
    if thing.element is not None:
        return thing.address, str(offset // thing.element[1])
    row = thing.row(offset)
    number = re.match(r"\[\d+\]", thing.field(offset).removeprefix(row[2])) if row else None
    return (thing.address, f"{row[2]}{number[0]}") if row and number else None


def _whole_elements(pieces: Sequence[_Piece], *, padded: bool) -> list[_Piece]:
    """Return the pieces with those of one array element, or of one padded object, joined."""
    joined: list[_Piece] = []
    keys: list[tuple[int, str] | None] = []
    for piece in pieces:
        whole = padded and piece.thing.kind == "heap"
        key = (piece.thing.address, "") if whole else _element(piece)
        if joined and key is not None and key == keys[-1]:
            by = joined[-1].by | piece.by
            joined[-1] = replace(joined[-1], high=max(joined[-1].high, piece.high), by=by)
        else:
            joined.append(piece)
            keys.append(key)
    return joined


def _row(piece: _Piece) -> tuple[str, int, str] | None:
    """Return the array member that contains a piece: element type, its size, the array's name."""
    row = piece.thing.row(piece.low - piece.thing.address)
    return (*row[:2], member_of(piece.thing, row[2])) if row is not None else None


def _rows(pieces: Sequence[_Piece]) -> set[str]:
    """Return the arrays of which the pieces belong to several elements."""
    by_row: dict[str, set[tuple[int, str] | None]] = {}
    for piece in pieces:
        row = _row(piece)
        if row is not None:
            by_row.setdefault(row[2], set()).add(_element(piece))
    return {row for row, elements in by_row.items() if len(elements) > 1}


def _called(piece: _Piece, rows: Collection[str]) -> str:
    """Return the name of a piece in a sentence; one of several elements has its array's name."""
    row = _row(piece)
    return f"each element of `{row[2]}`" if row and row[2] in rows else f"`{piece.name}`"


def _padded(of: str, size: int, row: str) -> str:
    what = f"`{of}`" if of != "element" else "each element"
    length = "1 byte" if size == 1 else f"{size} bytes"
    return f"pad {what} ({length}, an element of {row}{_PADDED}"


def _edits(away: Sequence[_Piece]) -> str:
    """Return the edits that align each of these pieces, or '' if they are many or unknown."""
    edits = {p.thing.edit(p.low - p.thing.address, objects=False) for p in away}
    return " and ".join(sorted(edits)) if len(edits) <= _MOST_EDITS and "" not in edits else ""


def _words(
    thing: Thing, pieces: Sequence[_Piece], away: Sequence[_Piece], padded: bool, within: bool
) -> tuple[str, str]:
    """Return the advice as text, and the edit.

    ``pieces`` are those that the program can move, in lines from which some (``away``) are moved.
    """
    rows = set() if within else _rows(pieces)
    names = list(dict.fromkeys(_called(piece, rows) for piece in pieces))
    first, offset = away[0].thing, away[0].low - away[0].thing.address
    if padded:
        words = f"pad `{thing.type}` ({thing.size} bytes, {thing.name}{_PADDED}"
        return words, first.edit(offset, objects=True)
    moved = list(dict.fromkeys(f"`{piece.name}`" for piece in away))
    edit = _edits(away)
    if thing.element is not None and not within and thing.element[1] % LINE:
        return _padded(*thing.element, thing.name), first.edit(offset, objects=True)
    if thing.element is not None and not thing.element[1] % LINE:
        stay = [name for name in names if name not in moved]
        if moved and stay:
            return f"move {' and '.join(moved)} out of the line of {' and '.join(stay)}", edit
    row = _row(away[0])
    if row is not None and row[2] in rows and {_row(piece) for piece in away} == {row}:
        return _padded(*row[:2], f"`{row[2]}`"), first.edit(offset, objects=True)
    if not thing.area and any(name != f"`{thing.name}`" for name in names):
        which = " and ".join(names[:3])
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        single = len(names) == 1 and not names[0].startswith("each")
        return f"give {which}{more} a line {'of its own' if single else 'each'}", edit
    return f"separate the words of {thing.name} that different threads use: a line each", ""


@dataclass(frozen=True)
class Move:
    """One piece of advice: the object, the bytes to move by address, the sentence, the edit."""

    name: str
    ranges: tuple[tuple[int, int], ...]
    cycles: float
    words: str
    edit: str = ""


def _named_only(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Mark bytes outside of objects as not movable: a linker's tables, an allocator's records."""
    if not any(piece.ours and piece.thing.kind not in _RAW for piece in pieces):
        return list(pieces)
    return [replace(piece, ours=piece.ours and piece.thing.kind not in _RAW) for piece in pieces]


def _moved(pieces: Sequence[_Piece], thing: Thing | None) -> list[_Piece]:
    """Return the pieces to move: all but the first, or all but those that cannot move.

    If ``thing`` is given, only allocated objects of its kind move.
    """
    stays = [p for p in pieces if thing is not None and not _is_of(p, thing)]
    stays = stays or [next((p for p in pieces if not p.ours), pieces[0])]
    return [p for p in pieces if p not in stays and p.ours]


def _start(piece: _Piece) -> int:
    """Return the first byte of the member that an edit aligns for a piece."""
    thing, at = piece.thing, piece.low - piece.thing.address
    edit = thing.edit(at, objects=False)
    return thing.address + bisect_left(
        range(at), True, key=lambda offset: thing.edit(offset, objects=False) == edit
    )


def _behind(thing: Thing, lines: Collection[int]) -> list[_Piece]:
    """Return the first byte of each line of an object behind one of these lines, as a piece."""
    starts = {line + LINE for line in lines} - {*lines}
    return [
        _Piece(
            at, at + 1, member_of(thing, thing.field(at - thing.address)), True, thing, frozenset()
        )
        for at in starts
        if at < thing.address + thing.size and thing.edit(at - thing.address, objects=False)
    ]


def _laid_out(
    away: Sequence[_Piece], used: Sequence[_Piece], *, behind: bool
) -> tuple[list[_Piece], set[tuple[int, int]]]:
    """Return the pieces to align so that ``away`` leave their lines, and the bytes that move.

    Who aligns a member aligns its object, too. The members that follow move along, up to the next
    aligned one. So a member that had another line also needs an alignment. ``behind``: also one
    that is not in ``used``, because at most one thread was seen to use it.
    """
    aligned, ranges = [*away], set()
    for thing in {piece.thing.address: piece.thing for piece in away}.values():
        mine = [piece for piece in used if piece.thing.address == thing.address]
        moved = [piece for piece in away if piece.thing.address == thing.address]
        if not all(p.thing.edit(p.low - thing.address, objects=False) for p in moved) or any(
            thing.element or _row(piece) for piece in mine
        ):
            ranges |= {(piece.low, piece.high) for piece in moved}
            continue
        if behind:
            mine += _behind(thing, {piece.low // LINE * LINE for piece in mine})
            mine.sort(key=lambda piece: piece.low)
        starts, before = [thing.address], mine[0]
        for piece in mine:
            together = (piece.low - starts[-1]) // LINE == (before.low - starts[-1]) // LINE
            if piece in moved or (together and piece.low // LINE != before.low // LINE):
                starts += [start for start in (_start(piece),) if start > starts[-1]]
                aligned += [piece] if piece not in aligned else []
            before = piece
        for start, end in pairwise([*starts, thing.address + thing.size]):
            if start % LINE or start != thing.address:
                ranges |= {(at, min(at + _SLOT, end)) for at in range(start, end, _SLOT)}
    return aligned, ranges


def _move(
    thing: Thing, group: Sequence[tuple[Line, list[_Piece]]], *, padded: bool, within: bool,
    behind: bool = False,
) -> Move | None:  # fmt: skip
    """Return the move that puts each piece of an object on a line of its own, or None."""
    meant: list[_Piece] = []
    every: list[_Piece] = []  # all that are moved
    for _, pieces in group:
        away = _moved(pieces, thing if padded else None) if len(pieces) > 1 else []
        every += away
        meant += [piece for piece in pieces if away and piece.ours]
    if not every:
        return None
    cycles = sum(line.waited for line, _ in group)
    used = sorted((p for _, pieces in group for p in pieces if p.ours), key=lambda p: p.low)
    moved = {(piece.low, piece.high) for piece in every}
    if not padded:
        every, moved = _laid_out(every, used, behind=behind)
    meant += [piece for piece in every if piece not in meant]
    words, edit = _words(thing, meant, every, padded, within)
    ranges = sorted(moved)
    single = {piece.thing.address for piece in every} == {thing.address}
    if thing.element is not None and single and not within and len(group) >= _MANY_LINES:
        size = thing.element[1]
        end = thing.address + thing.size // size * size
        ranges = [(at, at + size) for at in range(thing.address, end, size)]
    return Move(thing.name, tuple(ranges[:_MAX_MOVED]), cycles, words, edit)


def _programs_own(line: Line, thing: Thing, at: Callable[[int], Thing | None]) -> Thing:
    """Return the object of a line's hottest byte that the program can move, or else ``thing``."""
    if not thing.foreign:
        return thing
    hot = sorted(line.accesses, key=lambda access: -access.heat)
    things = (at(line.start + access.offset) for access in hot)
    own = (other for other in things if other and not other.foreign and not other.area)
    return next(own, thing)


def moves(
    lines: Sequence[tuple[Line, Thing | None]],
    at: Callable[[int], Thing | None],
    most: int = MOST_TRIED,
) -> list[Move]:
    """Return the moves to try for at most ``most`` objects, the most expensive ones first.

    ``lines`` contains each line with the object of its hottest byte. ``at`` returns the object of
    any byte. Moves with one name are alternatives, the simplest edit first.
    """
    by_thing: dict[tuple[str, str], list[tuple[Line, Thing]]] = {}
    for line, named in lines:
        if named is not None and (line.hitm or line.store_cycles):
            thing = _programs_own(line, named, at)
            if not (thing.area and thing.foreign):  # nobody can edit a runtime's own data
                by_thing.setdefault((thing.kind, thing.name), []).append((line, thing))
    choices = []
    for group in by_thing.values():
        few = sum(line.hitm for line, _ in group) < _FEWEST
        if few and sum(line.store_cycles for line, _ in group) < _STORED:
            continue
        # A cold line is not a reason to move an object either, because objects of one allocation
        # site have many cold lines.
        least = _COLD * max(line.heat for line, _ in group)
        words = [(line, _named_only(_pieces(line, at))) for line, _ in group if line.heat >= least]
        thing = group[0][1]
        padded = _is_padded(thing, [pieces for _, pieces in words])
        elements = [(line, _whole_elements(pieces, padded=padded)) for line, pieces in words]
        tried = [_move(thing, elements, padded=padded, within=False)]
        more = _move(thing, elements, padded=padded, within=False, behind=True)
        if more != tried[0]:
            tried.append(more)
        if elements != words:
            tried.append(_move(thing, words, padded=False, within=True))
        choices.append([move for move in tried if move is not None])
    choices = sorted(filter(None, choices), key=lambda tried: -tried[0].cycles)[:most]
    return [move for tried in _with_one_edit(choices) for move in tried]


def _with_one_edit(choices: Sequence[Sequence[Move]]) -> list[Sequence[Move]]:
    """Join moves of several objects that the same edit makes, because it aligns their type."""
    by_edit: dict[str, Sequence[Move]] = {}
    for number, tried in enumerate(choices):
        first = tried[0]
        joins = first.edit and first.words.endswith(_PADDED)
        before = by_edit.setdefault(first.edit if joins else f"{number}", tried)
        if before is not tried:
            kept = before[0]
            words = f"{kept.words.removesuffix(_PADDED)}, and of {first.name}{_PADDED}"
            ranges = tuple(sorted({*kept.ranges, *first.ranges}))[:_MAX_MOVED]
            both = replace(kept, ranges=ranges, cycles=kept.cycles + first.cycles, words=words)
            by_edit[first.edit] = [both, *before[1:]]
    return list(by_edit.values())
