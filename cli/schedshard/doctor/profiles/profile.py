# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A profile, whichever tool wrote it: shares of functions, and contended cache lines."""

import re
from dataclasses import dataclass, field

_SUFFIX = re.compile(r"\.(isra|constprop|part|cold|llvm|lto_priv)\b.*$")
# Reports cut long symbols; a symbol shorter than this never matches the start of another one.
_CUT = 24


@dataclass(frozen=True)
class Access:
    """One function's accesses at one offset of a line; shares are of the line's, 0 to 1."""

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
    """A profile: ``functions`` maps a name to its share of all samples, 0 to 1.

    ``kind`` describes the text in words. ``event`` is the event counted, empty if unknown.
    """

    source: str
    kind: str
    event: str = ""
    functions: dict[str, float] = field(default_factory=dict)
    lines: tuple[CacheLine, ...] = ()


def base_name(symbol: str) -> str:
    """Return a symbol without the compiler's suffixes."""
    return _SUFFIX.sub("", symbol)


def same(symbol: str, function: str) -> bool:
    """Tell whether a reported symbol, perhaps cut short, is this function."""
    name = base_name(symbol)
    return name == function or (len(name) >= _CUT and function.startswith(name))
