# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Parses counted stacks, which are folded stacks or maps that bpftrace prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from common.errors import UserError
from doctor.facts.values import clean
from doctor.profiles.plain import count_of
from doctor.profiles.profile import Hit, Sampled, Tally

_FOLDED = re.compile(
    r"^(?P<stack>\S.*?)\s+(?P<count>[0-9]{1,18}(?:\.[0-9]+)?)"
    r"(?:\s+(?P<after>[0-9]+(?:\.[0-9]+)?))?$"
)
_FLAG = re.compile(r"_\[([kji])\]$")
_ADDRESS = re.compile(r"^[0-9a-f]{8,16}\s+(?=\S)")
_OFFSET = re.compile(r"\+(?:0x[0-9a-f]+|[0-9]+)$")
_NUMBERS = re.compile(r"(-[0-9]+)/[0-9]+$|-\?/[0-9]+$")
_FUNCTION = re.compile(r"[a-z_][a-z0-9]*_[a-z0-9_.]*")
_NAMELESS = re.compile(r"(?:0x)?[0-9a-f]{6,16}$|\[+(?:unknown|kernel[\w.]*|vmlinux)\]+$")
_MAP = re.compile(r"^@(?P<name>\w*)\[(?P<rest>.*)$")
_MAP_END = re.compile(r"^(?P<last>.*?),?\s*\]:\s*(?P<count>[0-9.,' ]+)$")
# Root frames of flame graphs that contain no processes.
_ROOTS = ("all", "root", "main", "_start", "__libc_start_main", "[unknown]")
# At least this percentage of the lines that are not empty must be folded stacks.
_MOST = 60


def _leaf(symbol: str, weight: float, process: str) -> Hit:
    """Return the hit of a stack's innermost frame."""
    flag = _FLAG.search(symbol)
    name = clean(_OFFSET.sub("", _FLAG.sub("", _ADDRESS.sub("", symbol.strip()))))
    kernel = name.startswith("[[kernel") or (flag is not None and flag[1] == "k")
    return Hit("" if _NAMELESS.match(name) else name, weight, process, kernel)


def parse_folded(lines: Iterable[str], source: str) -> Sampled | None:
    """Return the hits of folded stacks, one per line: PROCESS;FRAME;...;FRAME COUNT."""
    tally, lines_read, total = Tally(), 0, 0.0
    nonempty, stacks, twice, bare = 0, 0, False, 0
    for line in lines:
        if not line.strip() or line[:1] == "#":
            continue
        nonempty += 1
        match = _FOLDED.match(line.strip())
        bare += match is None and line.count(";") > 2 and " " not in line.strip()
        if match is None:
            continue
        frames = match["stack"].split(";")
        stacks += len(frames) > 1
        twice |= match["after"] is not None
        process = _NUMBERS.sub(r"\1", frames[0]) if len(frames) > 1 else ""
        process = "" if process in _ROOTS else clean(process)
        frames = [frame for frame in frames if frame not in ("-", "--")] or [""]
        tally.add(_leaf(frames[-1], float(match["count"]), process))
        lines_read, total = lines_read + 1, total + float(match["count"])
    if bare and bare * 100 >= nonempty * _MOST:
        raise UserError(
            f"profile {source} looks like folded stacks, but has no column of counts: "
            "each line must end with a blank and a number"
        )
    if not stacks or lines_read * 100 < nonempty * _MOST:
        return None
    notes = (f"two counts per stack in {source}: the first one is judged",) if twice else ()
    return _counted("folded stacks", tally.hits(), total, notes=notes)


def _counted(
    kind: str, hits: Sequence[Hit], total: float, notes: tuple[str, ...] = ()
) -> Sampled | None:
    if not hits or total <= 0:
        return None
    return Sampled(kind, tuple(hits), "", round(total), False, notes, total)


def _maps(lines: Iterable[str]) -> Iterator[tuple[str, list[str], float]]:
    """Yield each entry of each map: the map's name, the lines of the entry's key, and its count."""
    name = ""
    parts: list[str] | None = None
    for line in lines:
        start = _MAP.match(line.strip())
        if start is not None:
            name, parts, line = start["name"], [], start["rest"]
        if parts is None:
            continue
        end = _MAP_END.match(line)
        parts.append(end["last"] if end is not None else line)
        if end is not None:
            count = count_of(end["count"])
            if count is not None:
                yield name, parts, float(count)
            parts = None
        elif len(parts) > 400:
            parts = None


def _entry(parts: list[str], count: float) -> tuple[list[str], list[str], float]:
    """Return an entry's frames, its other keys, and the count.

    A frame is alone in its line. Other keys are separated by commas.
    """
    frames, keys = [], []
    for number, part in enumerate(parts):
        alone = number > 0 and part[:1] in " \t" and part.strip() not in ("", ",")
        if alone and "," not in part:
            frames.append(part.strip())
        else:
            keys += [key.strip() for key in part.split(",") if key.strip()]
    return frames, keys, count


def _column(entries: list[tuple[list[str], list[str], float]]) -> int:
    """Return the index of the key that looks most like a function.

    bpftrace does not say what a key is. Names of processes rarely contain an underscore.
    """
    votes: dict[int, float] = {}
    for _, keys, count in entries:
        for at, key in enumerate(keys):
            like = 2 if _OFFSET.search(key) else 1 if _FUNCTION.fullmatch(key) else 0
            votes[at] = votes.get(at, 0.0) + like * count
    return max(votes, key=lambda at: (votes[at], at), default=0)


def _map_hits(entries: list[tuple[list[str], list[str], float]]) -> list[Hit]:
    column = _column(entries)
    hits = []
    for frames, keys, count in entries:
        others = keys
        if not frames and keys:
            at = min(column, len(keys) - 1)
            frames, others = [keys[at]], keys[:at] + keys[at + 1 :]
        # A stack is empty if the sample hit user space, or an idle CPU without a kernel stack.
        process = " ".join(clean(key) for key in others)
        hits.append(_leaf(frames[0].split(" (")[0] if frames else "", count, process))
    return hits


def parse_bpftrace(lines: Iterable[str], source: str) -> Sampled | None:
    """Return the hits of the first map of stacks or functions that bpftrace printed."""
    maps: dict[str, list[tuple[list[str], list[str], float]]] = {}
    for name, parts, count in _maps(lines):
        maps.setdefault(name, []).append(_entry(parts, count))
    if not any(frames or keys for entries in maps.values() for frames, keys, _ in entries):
        return None
    name, entries = next(iter(maps.items()))
    hits = _map_hits(entries)
    notes = ["bpftrace does not print what it counted: samples of time are assumed"]
    if len(maps) > 1:
        notes.append(f"{len(maps)} maps in {source}: the first one (@{clean(name)}) is judged")
    return _counted("map of bpftrace", hits, sum(hit.weight for hit in hits), notes=tuple(notes))
