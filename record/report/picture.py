# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draws the hottest object as memory: who reads and writes each byte, before and after an edit.

A byte has the letter of the one thread that uses it, a capital if the thread writes. '*': several
threads write the byte. '+': several threads use it, and at most one writes. '.': nobody uses it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase

from model.results.c2c import Recorded, RecordedLine

SIZE = 64
LEGEND = (
    "each byte has the letter of its thread, a capital if the thread writes; *: several threads "
    "write; +: several use it"
)
_MOST = 8  # lines after an edit


@dataclass(frozen=True)
class Picture:
    """A line: its bytes as letters, those after the best edit by line, and its fields.

    A field is its first byte, the byte behind its last one, and its name.
    """

    line: RecordedLine
    before: str
    after: list[str]
    fields: list[tuple[int, int, str]]


def letters(line: RecordedLine) -> str:
    """Return a letter for each byte of a line."""
    known = {thread: number for number, thread in enumerate(line.threads)}
    users: list[set[int]] = [set() for _ in range(SIZE)]
    writers: list[set[int]] = [set() for _ in range(SIZE)]
    for access in line.accesses:
        for at in range(access.offset, min(access.offset + access.size, SIZE)):
            users[at].update(access.threads)
            writers[at].update(access.threads if access.stores else ())
    return "".join(map(lambda all, write: _letter(all, write, known), users, writers))


def _letter(users: set[int], writers: set[int], known: dict[int, int]) -> str:
    if len(users) != 1:
        return "*" if len(writers) > 1 else "+" if users else "."
    letter = ascii_lowercase[known.get(min(users), 0) % len(ascii_lowercase)]
    return letter.upper() if writers else letter


def _after(before: str, moved: Sequence[tuple[int, int]]) -> list[str]:
    """Return a cache line's letters after an edit.

    First comes the line without the moved ranges, then each range on a line of its own. A line that
    nobody uses is left out.
    """
    stays, apart = list(before), []
    for low, high in moved:
        apart.append(before[low:high].ljust(SIZE, "."))
        stays[low:high] = "." * (high - low)
    return [line for line in ("".join(stays), *apart) if line.strip(".")][:_MOST]


def picture(report: Recorded) -> Picture | None:
    """Return the picture of the line that the best edit changes; without one, the hottest."""
    if not report.variants or not report.variants[0].lines:
        return None
    lines, moved = report.variants[0].lines, []
    line = lines[0]
    ranges = report.advice[0].moved if report.advice else []
    for candidate in lines if ranges else ():
        start = int(candidate.address or "0", 16)
        inside = [(max(low - start, 0), min(high - start, SIZE)) for low, high in ranges]
        moved = [(low, high) for low, high in inside if low < high]
        if moved:
            line = candidate
            break
    before = letters(line)
    fields = sorted({(a.offset, min(a.offset + a.size, SIZE), a.field) for a in line.accesses})
    return Picture(line, before, _after(before, moved) if moved else [], fields)
