# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A profile, whichever tool wrote it: shares of functions, and contended cache lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_SUFFIX = re.compile(r"\.(isra|constprop|part|cold|llvm|lto_priv)\b.*$")
# Reports cut long symbols; a shorter one than this is never taken for the start of another.
_CUT = 24


@dataclass(frozen=True)
class Access:
    """What one function does at one offset of a line; shares are of the line's, 0 to 1."""

    offset: int
    symbol: str
    remote: float
    local: float
    store: float
    load_cycles: float
    records: int


@dataclass(frozen=True)
class CacheLine:
    """A contended line: its address, loads that hit modified lines (HITM), stores, accesses."""

    address: int
    remote: int
    local: int
    stores: int
    accesses: tuple[Access, ...]


@dataclass(frozen=True)
class Profile:
    """What was read: ``functions`` maps a name to its share of all samples, 0 to 1.

    ``kind`` says in words what the text was. ``event`` is the event counted, empty if unknown.
    """

    source: str
    kind: str
    event: str = ""
    functions: dict[str, float] = field(default_factory=dict)
    lines: tuple[CacheLine, ...] = ()


def base_name(symbol: str) -> str:
    """Return a symbol without what the compiler appended."""
    return _SUFFIX.sub("", symbol)


def same(symbol: str, function: str) -> bool:
    """Tell whether a reported symbol, perhaps cut short, is this function."""
    name = base_name(symbol)
    return name == function or (len(name) >= _CUT and function.startswith(name))
