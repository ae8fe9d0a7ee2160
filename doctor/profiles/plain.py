# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Cleans texts as people paste them, quoted or coloured, and reads numbers in them."""

from __future__ import annotations

import re
from collections.abc import Iterator

# "> ", "> > " or ">>" before a line, as mails quote it.
_QUOTED = re.compile(r"^(?:\s{0,3}>)+ ?")
# Colours of a terminal. ESC may be written as two characters, ^[.
_COLOUR = re.compile(
    r"(?:\x1b|\^\[)\[[0-9;?]{0,24}[A-Za-z]|\x1b\][^\x07]{0,200}\x07|\x1b[()][A-Z0-9]"
)
_BLANKS = str.maketrans(
    {"\u00a0": " ", "\u202f": " ", "\u2007": " ", "\ufeff": "", "\u200b": "", "\r": ""}
)
_GROUPED = re.compile(r"[0-9]{1,3}(?:[.,' ][0-9]{3})+")
# Enough for both ends of a stack of thousands of frames.
_LONG = 16384

PERCENT = r"[0-9]{1,4}(?:[.,][0-9]{1,4})?\s?%"


def odd_rows(count: int, source: str) -> tuple[str, ...]:
    """Return the note on rows whose share or time is not a number, or none if there are none."""
    rows = f"{count} row{'s' if count > 1 else ''} of {source}"
    return (f"{rows} left out: the share or time is not a number",) if count else ()


def lines_of(text: str) -> Iterator[str]:
    """Yield the lines without quotation marks, colours and trailing blanks, with plain blanks.

    The middle of a very long line is left out.
    """
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end]
        start = end + 1
        if len(line) > _LONG:
            line = line[: _LONG // 2] + line[-_LONG // 2 :]
        line = _COLOUR.sub("", line).translate(_BLANKS)
        if ">" in line[:8]:
            line = _QUOTED.sub("", line)
        yield line.rstrip()


def share_of(text: str) -> float:
    """Return a percentage such as 1.5% or 1,5% as a share of 1."""
    return float(text.replace(",", ".").rstrip("% ")) / 100


def count_of(text: str) -> int | None:
    """Return a whole number that may have thousands separators, or None."""
    text = text.strip()
    if _GROUPED.fullmatch(text):
        text = re.sub(r"[.,' ]", "", text)
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


def rounded_count(text: str) -> int | None:
    """Return the value of a number as perf rounds it, such as 28, 15K or 2M, or None."""
    match = re.fullmatch(r"(.*[0-9])\s?([KMGkmg]?)", text.strip())
    value = count_of(match[1]) if match is not None else None
    if match is None or value is None:
        return None
    return value * {"": 1, "K": 1000, "M": 1_000_000, "G": 1_000_000_000}[match[2].upper()]
