# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The tables of `perf c2c report --stdio`, whole or as people cut them for a mail.

In both a table of one line starts with the counts of that line and its address. One row for each
function and offset follows:

        0      353       44       62        0        0  0xff14d42c400e3880
           34.56%   29.55%    0.00% ...               0x38     0       1  0xffffffff811a6b1c  25509
     353       44       62    0xff14d42c400e3880
    34.56%   29.55%    0.00%  0x38     25509   527     cpupri_find_fitness
"""

from __future__ import annotations

import re

from schedshard.doctor.profiles.profile import Access, CacheLine, base_name

_LINE = re.compile(r"^[>|\s]*((?:\d+\s+){2,8})(0x[0-9a-f]{8,16})((?:\s+\S+)*)\s*$")
_ROW = re.compile(r"^[>|\s]*((?:\d{1,3}\.\d+%\s+){2,8})(0x[0-9a-f]{1,3})\s+(.*\S)\s*$")
_SYMBOL = re.compile(r"\[[k.ugH]\]\s+([A-Za-z_.$][\w.$]*)")
_NAME = re.compile(r"[A-Za-z_][\w.$]*")
_CODE = re.compile(r"^0x[0-9a-f]{6,16}$")


def _numbers(words: list[str]) -> list[int]:
    return [int(word) for word in words if word.isdigit() and len(word) < 16]


def _whole(words: str) -> tuple[str, float, int] | None:
    """Return symbol, cycles of a load and records of a row as perf prints it."""
    symbol = _SYMBOL.search(words)
    if symbol is None:
        return None
    before = words[: symbol.start()].split()
    code = next((index for index, word in enumerate(before) if _CODE.match(word)), -1)
    # After the code address: cycles of remote, local and other loads, ..., records, CPUs.
    counts = _numbers(before[code + 1 :])
    if len(counts) < 5:
        return None
    return symbol[1], float(max(counts[:3])), counts[-2]


def _cut(words: str) -> tuple[str, float, int] | None:
    """Return the same of a row with the columns that people leave: cycles, records, symbol."""
    parts = words.split()
    counts = _numbers(parts[:2])
    if len(parts) != 3 or len(counts) != 2 or _NAME.fullmatch(parts[2]) is None:
        return None
    return parts[2], float(counts[0]), counts[1]


def _access(percents: str, offset: str, words: str) -> Access | None:
    found = _whole(words) or _cut(words)
    shares = [float(each.rstrip("%")) / 100 for each in percents.split()]
    if found is None or any(share > 1 for share in shares):
        return None
    symbol, cycles, records = found
    return Access(int(offset, 16), base_name(symbol), shares[0], shares[1], max([0.0, *shares[2:]]),
                  cycles, records)  # fmt: skip


def parse_c2c(text: str) -> tuple[CacheLine, ...] | None:
    """Return the lines that have a table of accesses, hottest first, or None without any.

    A line that occurs twice is taken once.
    """
    held: dict[tuple[int, int, int], list[Access]] = {}
    stores: dict[tuple[int, int, int], int] = {}
    current: tuple[int, int, int] | None = None
    for line in text.split("\n"):
        if row := _ROW.match(line):
            if current is not None and (access := _access(row[1], row[2], row[3])):
                held[current].append(access)
        elif head := _LINE.match(line):
            counts = _numbers(head[1].split())
            # perf numbers its lines; a mail leaves that column out. The list of all lines before
            # the tables has more columns after the address, and no rows below.
            if len(counts) > 3:
                counts = counts[1:]
            key = (int(head[2], 16), counts[0], counts[1] if len(counts) > 1 else 0)
            current = None if held.get(key) else key
            held.setdefault(key, [])
            stores[key] = sum(counts[2:])
    lines = [
        CacheLine(key[0], key[1], key[2], stores[key], tuple(accesses))
        for key, accesses in held.items()
        if accesses
    ]
    if not lines:
        return None
    return tuple(sorted(lines, key=lambda line: -(line.remote + line.local)))
