# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Chooses bytes of contended lines to move to other lines, and words the advice.

Every hot line is a candidate, whatever its kind of sharing: accesses to two words that are truly
shared still queue for one line. A replay with the bytes where an edit puts them shows what each
candidate gains. Of an array there are up to three candidates: lines for the whole array, a line for
each element, and one for each part of it. An object that the program's author did not write,
such as a mutex or a library's data, is never split.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from model.results.raw import Line
from record.lines.edits import Aligned, Edit
from record.names.memory import member_of
from record.names.things import Thing

LINE = 64
# A replay moves at most so many bytes as one range (record/plugin/feed_lines.c).
_SLOT = 4096
# Candidates that are replayed, by the cycles that their lines cost.
MOST_TRIED = 8
_MAX_MOVED = 131_072
_RAW = ("file", "mapped", "unknown")
# An access counts if it has more than this share of a line's accesses, or of the line's HITM.
_COLD = 0.005
# The least HITM of an object, or cycles of its stores, for advice. With fewer, a replay's gain may
# come from another order of threads.
_FEWEST = 10
# An edit in more places is not written out.
_MOST_EDITS = 3
_STORED = 10_000
# Edits for one object of which each is also tried alone.
_MOST_SINGLE = 4
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
    aligned: Aligned = "member"  # what an edit for the piece aligns

    @cached_property
    def edit(self) -> Edit:
        """Return the edit that aligns the piece."""
        return self.thing.edit(self.low - self.thing.address, self.aligned)


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
    rows = any(len({_element(p) for p in pieces if _row(p)}) > 1 for pieces in lines)
    return typed and beside and not rows


def _element(piece: _Piece) -> tuple[int, str] | None:
    """Return the array element that contains a piece: the object's address, and a path."""
    thing, offset = piece.thing, piece.low - piece.thing.address
    if thing.element is not None:
        return thing.address, str(offset // thing.element[1])
    row = thing.row(offset)
    number = re.match(r"\[\d+\]", thing.field(offset).removeprefix(row[2])) if row else None
    return (thing.address, f"{row[2]}{number[0]}") if row and number else None


def _row(piece: _Piece) -> tuple[str, int, str] | None:
    """Return the array member that contains a piece: element type, its size, the array's name."""
    row = piece.thing.row(piece.low - piece.thing.address)
    return (*row[:2], member_of(piece.thing, row[2])) if row is not None else None


def _array(piece: _Piece) -> tuple[str, int, str] | None:
    """Return the outermost array around a piece: element type, its size, the array's name."""
    of = piece.thing.element
    return (*of, piece.thing.name) if of is not None else _row(piece)


def _joined_by(
    pieces: Sequence[_Piece], key: Callable[[_Piece], object], aligned: Aligned
) -> list[_Piece]:
    """Return the pieces. Those with a key become ``aligned``, neighbours with one key joined."""
    joined: list[_Piece] = []
    keys: list[object] = []
    for piece in pieces:
        of = key(piece)
        if joined and of and of == keys[-1]:
            by = joined[-1].by | piece.by
            joined[-1] = replace(joined[-1], high=max(joined[-1].high, piece.high), by=by)
        else:
            joined.append(replace(piece, aligned=aligned) if of else piece)
            keys.append(of)
    return joined


def _levels(thing: Thing, lines: Sequence[Sequence[_Piece]]) -> list[list[list[_Piece]]]:
    """Return what may get a line of its own, in each line, at several levels, the simplest first.

    They are whole arrays, then their elements or allocated objects, then the members of these.
    """
    padded = _is_padded(thing, lines)

    def arrays(piece: _Piece) -> object:
        return (array := _array(piece)) and (piece.thing.address, array)

    def elements(piece: _Piece) -> object:
        return _is_of(piece, thing) and piece.thing.address if padded else _element(piece)

    def members(piece: _Piece) -> object:
        return (words := piece.edit.words) and (piece.thing.address, _element(piece), words)

    whole = [_joined_by(pieces, elements, "object" if padded else "element") for pieces in lines]
    levels = [whole] if padded else [[_joined_by(p, arrays, "array") for p in lines], whole]
    if any(len(pieces) > len(of) for pieces, of in zip(lines, whole, strict=True)):
        levels.append([_joined_by(pieces, members, "member") for pieces in lines])
    return levels


def _called(piece: _Piece) -> str:
    """Return the name of a piece in a sentence, without the index of an element."""
    array, row = _array(piece), _row(piece)
    if array is not None and piece.aligned != "member":
        return f"`{array[2]}`" if piece.aligned == "array" else f"each element of `{array[2]}`"
    name = re.sub(r"(\[\d+\])+$", "", piece.name)
    inside = re.sub(r"^(\[\d+\])+", "", name.removeprefix(row[2])) if row else ""
    return f"`{row[0]}{inside}`" if row and inside else f"`{name}`"


def _padded(of: str, size: int, row: str) -> str:
    what = f"`{of}`" if of != "element" else "each element"
    length = "1 byte" if size == 1 else f"{size} bytes"
    return f"pad {what} ({length}, an element of {row}{_PADDED}"


def _edits(away: Sequence[_Piece]) -> str:
    """Return the edits that align each of these pieces, or '' if they are many or unknown.

    An edit is left out if another edit begins all of its lines, and more.
    """
    edits = {edit.words: frozenset(edit.begins) for edit in (piece.edit for piece in away)}
    every = edits.values()
    needed = [words for words, begins in edits.items() if not any(begins < of for of in every)]
    return " and ".join(sorted(needed)) if len(needed) <= _MOST_EDITS and all(edits) else ""


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return " and ".join(names[:3]) + more


def _words(thing: Thing, pieces: Sequence[_Piece], away: Sequence[_Piece]) -> str:
    """Return the advice as text.

    ``pieces`` are those that the program can move, in lines from which some (``away``) are moved.
    """
    if away[0].aligned == "object":
        return f"pad `{thing.type}` ({thing.size} bytes, {thing.name}{_PADDED}"
    names, moved = (list(dict.fromkeys(map(_called, of))) for of in (pieces, away))
    array = _array(away[0]) if all(piece.aligned == "element" for piece in away) else None
    if array is not None and len(moved) == 1:
        return _padded(*array[:2], array[2] if away[0].thing.element else f"`{array[2]}`")
    stay = [name for name in names if name not in moved]
    if thing.element is not None and not thing.element[1] % LINE and stay:
        return f"move {_some(moved)} out of the line of {_some(stay)}"
    if not thing.area and any(name != f"`{thing.name}`" for name in names):
        single = len(names) == 1 and not names[0].startswith("each")
        return f"give {_some(names)} a line {'of its own' if single else 'each'}"
    return f"separate the words of {thing.name} that different threads use: a line each"


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


def _moved(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Return the pieces to move: all but the first, or all but those that cannot move.

    If an edit aligns elements or allocated objects, they leave the line to data of neither kind.
    """
    stays = [p for p in pieces if p.aligned not in ("element", "object")]
    if not any(piece.aligned == "object" for piece in pieces):
        stays = ([p for p in pieces if not p.ours] or stays)[:1]
    stays = stays or list(pieces[:1])
    return [p for p in pieces if p not in stays and p.ours]


def _behind(thing: Thing, lines: Collection[int]) -> list[_Piece]:
    """Return as pieces the first bytes of the object's lines that follow one of these lines."""
    starts = {line + LINE for line in lines} - {*lines}
    pieces = [
        _Piece(at, at + 1, member_of(thing, thing.field(at - thing.address)), True, thing,
               frozenset(), "array" if thing.element or thing.row(at - thing.address) else "member")
        for at in starts
        if at < thing.address + thing.size
    ]  # fmt: skip
    return [piece for piece in pieces if piece.edit.words]


def _laid_out(
    away: Sequence[_Piece], used: Sequence[_Piece], *, behind: bool | None
) -> tuple[list[_Piece], set[tuple[int, int]]]:
    """Return the pieces to align so that ``away`` leave their lines, and the bytes that move.

    Who aligns a member aligns its object, too, and all elements of an array around it. The members
    that follow move along, up to the next aligned one. So a member that had another line also needs
    an alignment, unless ``behind`` is None. If ``behind`` is true, so does a member that is not in
    ``used``, because at most one thread was seen to use it.
    """
    aligned, ranges = [*away], set()
    for thing in {piece.thing.address: piece.thing for piece in away}.values():
        mine = [piece for piece in used if piece.thing.address == thing.address]
        moved = [piece for piece in away if piece.thing.address == thing.address]
        edits = {piece.edit for piece in moved}
        if behind:
            mine += _behind(thing, {piece.low // LINE * LINE for piece in mine})
            mine.sort(key=lambda piece: piece.low)
        low, end = 0, thing.size
        # Bytes in which all elements can move, and not only those that are used.
        steps = (step for edit in edits for _, arrays in edit.begins for step, _ in arrays)
        farthest = _MAX_MOVED * min((_SLOT, *steps))
        if end > farthest:
            low, end = mine[0].low - thing.address, mine[-1].high - thing.address
        if not all(edit.begins for edit in edits) or end - low > farthest:
            ranges |= {(piece.low, piece.high) for piece in moved}
            continue
        starts = sorted(set().union(*(edit.starts(low, end) for edit in edits)))
        before = mine[0]
        for piece in mine:
            at, last = piece.low - thing.address, before.low - thing.address
            start = starts[bisect_right(starts, at) - 1]
            together = (
                behind is not None
                and start <= last
                and (at - start) // LINE == (last - start) // LINE
            )
            if together and piece.low // LINE != before.low // LINE:
                more = piece.edit.starts(low, end).difference(starts)
                starts = sorted({*starts, *more})
                aligned += [piece] if more else []
            before = piece
        for start, behind_it in pairwise([*starts, thing.size]):
            if (thing.address + start) % LINE or start:
                ranges |= {
                    (thing.address + at, thing.address + min(at + _SLOT, behind_it))
                    for at in range(start, min(end, behind_it), _SLOT)
                }
    return aligned, ranges


def _sorted(moved: Collection[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return ranges by address, without those of objects whose memory another object had before."""
    ranges: list[tuple[int, int]] = []
    for low, high in sorted(moved):
        if not ranges or low >= ranges[-1][1]:
            ranges.append((low, high))
    return tuple(ranges[:_MAX_MOVED])


def _move(
    thing: Thing, group: Sequence[tuple[Line, list[_Piece]]], *, behind: bool | None, only: str = ""
) -> Move | None:
    """Return the move that puts each piece of an object on a line of its own, or None.

    ``only``: with this edit alone, which also moves the pieces behind the aligned one.
    """
    meant: list[_Piece] = []
    every: list[_Piece] = []  # all that are moved
    along: list[_Piece] = []  # those and the ones behind them
    for _, pieces in group:
        away = _moved(pieces) if len(pieces) > 1 else []
        away = [piece for piece in away if only in ("", piece.edit.words)]
        every += away
        along += [p for p in pieces if p.ours and away and p.low >= away[0].low]
        meant += [piece for piece in pieces if away and piece.ours]
    if not every:
        return None
    cycles = sum(line.waited for line, _ in group)
    used = sorted((p for _, pieces in group for p in pieces if p.ours), key=lambda p: p.low)
    names = list(dict.fromkeys(map(_called, along)))
    every, moved = _laid_out(every, used, behind=behind)
    words = _words(thing, [*meant, *(piece for piece in every if piece not in meant)], every)
    if (only or behind is None) and not words.endswith(_PADDED):
        stay = [name for name in dict.fromkeys(map(_called, meant)) if name not in names]
        words = f"move {_some(names)} out of the line of {_some(stay)}" if stay else words
    return Move(thing.name, _sorted(moved), cycles, words, _edits(every))


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
        # A cold line is no reason to move an object, because the objects of one allocation site
        # have many cold lines.
        least = _COLD * max(line.heat for line, _ in group)
        words = [(line, _named_only(_pieces(line, at))) for line, _ in group if line.heat >= least]
        thing = group[0][1]
        tried: dict[tuple[tuple[int, int], ...], Move] = {}
        for level in _levels(thing, [pieces for _, pieces in words]):
            of = [(line, pieces) for (line, _), pieces in zip(words, level, strict=True)]
            edits = dict.fromkeys(p.edit.words for pieces in level for p in _moved(pieces))
            single = [only for only in edits if only][:_MOST_SINGLE] if len(edits) > 1 else []
            for only in (*single, ""):
                kept, joins, more = (
                    _move(thing, of, behind=behind, only=only) for behind in (False, None, True)
                )
                # The words of an edit that joins the lines of members differ.
                same = kept is not None and joins is not None and kept.ranges == joins.ranges
                for move in filter(None, (kept if same else joins, kept, more)):
                    if move.ranges:
                        tried.setdefault(move.ranges, move)
        choices.append(list(tried.values()))
    choices = sorted(filter(None, choices), key=lambda tried: -tried[0].cycles)[:most]
    return [move for tried in _with_one_edit(choices) for move in tried]


def _pads(move: Move) -> bool:
    return bool(move.edit) and move.words.endswith(_PADDED)


def _with_one_edit(choices: Sequence[Sequence[Move]]) -> list[Sequence[Move]]:
    """Join moves of several objects that the same edit makes, because it aligns their type."""
    by_edit: dict[str, Sequence[Move]] = {}
    for number, tried in enumerate(choices):
        pads = next(filter(_pads, tried), None)
        before = by_edit.setdefault(pads.edit if pads else f"{number}", tried)
        if pads is not None and before is not tried:
            kept = next(filter(_pads, before))
            words = f"{kept.words.removesuffix(_PADDED)}, and of {pads.name}{_PADDED}"
            ranges = _sorted({*kept.ranges, *pads.ranges})
            both = replace(kept, ranges=ranges, cycles=kept.cycles + pads.cycles, words=words)
            by_edit[pads.edit] = [both if move is kept else move for move in before]
    return list(by_edit.values())
