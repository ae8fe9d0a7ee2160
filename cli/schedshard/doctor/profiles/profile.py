# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A profile, whichever tool wrote it: shares of functions, and contended cache lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from schedshard.common.errors import UserError

_SUFFIX = re.compile(r"\.(isra|constprop|part|cold|llvm|lto_priv)\b.*$")
# Reports cut long symbols; a symbol shorter than this never matches the start of another one.
_CUT = 24
# Shares are rounded to two digits; a sum further above 1 than this was misread.
_ROUNDING = 0.01
_HALF = 0.00005
# One process with this share of the samples leaves nothing to say about the machine.
_ALONE = 0.9


@dataclass(frozen=True)
class Access:
    """One function's accesses at one offset of a line; shares are of the line's, 0 to 1.

    ``offset`` is None where the table has none.
    """

    offset: int | None
    symbol: str
    remote: float
    local: float
    store: float
    load_cycles: float
    records: int


@dataclass(frozen=True)
class CacheLine:
    """A contended line: its address, loads that hit modified lines (HITM), stores, accesses.

    On Arm ``remote`` counts the loads that another cache answered. An unknown address is 0.
    """

    address: int
    remote: int
    local: int
    stores: int
    accesses: tuple[Access, ...]


class Hit(NamedTuple):
    """Samples in one function: its weight, and what the text says about where it was.

    ``process`` identifies the process, "" if the text does not. ``kernel``: the function is one of
    the kernel. A function without a name has the symbol "".
    """

    symbol: str
    weight: float
    process: str = ""
    kernel: bool = False


@dataclass(frozen=True)
class Profile:
    """A profile: ``functions`` maps a name to its share of all samples, 0 to 1.

    ``kind`` describes the text in words. ``event`` is the event counted, empty if unknown.
    ``samples`` is their number, None if the text does not say. ``alone`` names the only process in
    it. ``everything``: the text says that all CPUs were sampled. ``nameless`` is the share of the
    kernel's functions that have no name, ``covered`` that of all rows. ``said`` tells what was
    chosen.
    """

    source: str
    kind: str
    event: str = ""
    functions: dict[str, float] = field(default_factory=dict)
    lines: tuple[CacheLine, ...] = ()
    samples: int | None = None
    alone: str = ""
    everything: bool = False
    nameless: float = 0.0
    covered: float = 1.0
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sampled:
    """What a parser found: ``hits`` weigh shares of 1, or samples of ``total``."""

    kind: str
    hits: tuple[Hit, ...]
    event: str = ""
    samples: int | None = None
    everything: bool = False
    said: tuple[str, ...] = ()
    total: float = 1.0


def base_name(symbol: str) -> str:
    """Return a symbol without the compiler's suffixes."""
    return _SUFFIX.sub("", symbol)


def same(symbol: str, function: str) -> bool:
    """Tell whether a reported symbol, perhaps cut short, is this function."""
    name = base_name(symbol)
    return name == function or (len(name) >= _CUT and function.startswith(name))


def profile_of(found: Sampled, source: str, lines: tuple[CacheLine, ...] = ()) -> Profile:
    """Return the profile of what a parser found; shares that sum up to more than 1 are an error."""
    functions: dict[str, float] = {}
    processes: dict[str, float] = {}
    nameless = 0.0
    for hit in found.hits:
        share = hit.weight / found.total
        processes[hit.process] = processes.get(hit.process, 0.0) + share
        if hit.symbol:
            name = base_name(hit.symbol)
            functions[name] = functions.get(name, 0.0) + share
        elif hit.kernel:
            nameless += share
    total = sum(processes.values())
    # Two decimals round a single sample of 6,000 up, 0.017% to 0.02%, in thousands of rows.
    if total > 1 + _ROUNDING + len(found.hits) * _HALF:
        raise UserError(
            f"profile {source} was misread: the shares of this {found.kind} sum up to {total:.1%}; "
            "give one table of the functions' own shares (perf report --stdio --no-children)"
        )
    alone = next(iter(processes)) if len(processes) == 1 and total >= _ALONE else ""
    return Profile(
        source, found.kind, found.event, functions, lines, found.samples, alone, found.everything,
        nameless, min(total, 1.0), found.said,
    )  # fmt: skip
