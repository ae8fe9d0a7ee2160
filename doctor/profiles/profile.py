# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines a profile, from whichever tool, as shares of functions and contended cache lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from common.errors import UserError

_SUFFIX = re.compile(r"\.(isra|constprop|part|cold|llvm|lto_priv)\b.*$")
# Reports cut long symbols. A shorter symbol than this counts as complete.
_CUT = 24
# Percentages have two decimals. A sum that exceeds 1 by more than this was misread.
_ROUNDING = 0.01
_HALF = 0.00005
# If all rows are of one process, and cover at least this share of the samples, the profile is not
# of the whole machine. A name with a number is a process; one without may be many processes.
_ALONE = 0.9
_PROCESS = re.compile(r".*[-: ][0-9]+")
# If the rows cover less than this share of the samples, the verdict says so.
_WHOLE = 0.95


@dataclass(frozen=True)
class Access:
    """One function's accesses at one offset of a line, as fractions of the line's accesses.

    ``offset`` is None if the table does not contain it. ``load_cycles`` is the highest mean of its
    kinds of loads.
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

    ``remote`` also counts loads that another cache answered (on Arm). An unknown address is 0.
    """

    address: int
    remote: int
    local: int
    stores: int
    accesses: tuple[Access, ...]


class Hit(NamedTuple):
    """Samples in one function and process, with their weight.

    ``process`` is "" if the text does not contain it. ``kernel``: the function is in the kernel.
    ``guest``: it is in a guest, in its kernel or in a program. A function without a name has the
    symbol "".
    """

    symbol: str
    weight: float
    process: str = ""
    kernel: bool = False
    guest: bool = False


class Tally:
    """Sums the weights of equal hits.

    After MOST different hits, all others count as one hit without a name, to bound the memory.
    """

    MOST = 100_000

    def __init__(self) -> None:
        self._weights: dict[tuple[str, str, bool, bool], float] = {}

    def add(self, hit: Hit) -> None:
        """Add a hit."""
        key = (hit.symbol, hit.process, hit.kernel, hit.guest)
        if key not in self._weights and len(self._weights) >= self.MOST:
            key = ("", "", False, hit.guest)
        self._weights[key] = self._weights.get(key, 0.0) + hit.weight

    def hits(self) -> tuple[Hit, ...]:
        """Return the sums."""
        return tuple(
            Hit(symbol, weight, process, kernel, guest)
            for (symbol, process, kernel, guest), weight in self._weights.items()
        )


@dataclass(frozen=True)
class Profile:
    """A profile: ``functions`` maps a name to its share of all samples, 0 to 1.

    ``kind`` describes the format as text. ``event`` is the counted event, "" if unknown.
    ``samples`` is the number of samples, None if unknown. ``alone`` names the only process, ""
    if there are others. ``everything``: the text says that all CPUs were sampled. ``nameless`` is
    the share of kernel functions without a name, ``covered`` that of all rows. ``cut``: the text
    ends within a row. ``notes`` say what the parser chose.
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
    notes: tuple[str, ...] = ()
    cut: bool = False


@dataclass(frozen=True)
class Sampled:
    """What a parser found. The weights of ``hits`` are in units of ``total``."""

    kind: str
    hits: tuple[Hit, ...]
    event: str = ""
    samples: int | None = None
    everything: bool = False
    notes: tuple[str, ...] = ()
    total: float = 1.0


def base_name(symbol: str) -> str:
    """Return a symbol without the compiler's suffixes."""
    return _SUFFIX.sub("", symbol)


def same(symbol: str, function: str) -> bool:
    """Whether a reported symbol, which may be cut, is this function."""
    name = base_name(symbol)
    return name == function or (len(name) >= _CUT and function.startswith(name))


def profile_of(sampled: Sampled, source: str, lines: tuple[CacheLine, ...] = ()) -> Profile:
    """Return the profile of what a parser found, without the functions of guests.

    Shares that sum to more than 1, and a profile of guests alone, are a UserError.
    """
    functions: dict[str, float] = {}
    processes: dict[str, float] = {}
    nameless, guests = 0.0, 0.0
    for hit in sampled.hits:
        share = hit.weight / sampled.total
        processes[hit.process] = processes.get(hit.process, 0.0) + share
        if hit.guest:
            guests += share
        elif hit.symbol:
            name = base_name(hit.symbol)
            functions[name] = functions.get(name, 0.0) + share
        elif hit.kernel:
            nameless += share
    total = sum(processes.values())
    # Rounding to two decimals raises one sample of 6,000 from 0.017% to 0.02%, in every such row.
    if total > 1 + _ROUNDING + len(sampled.hits) * _HALF:
        raise UserError(
            f"profile {source} was misread: the shares of this {sampled.kind} sum up to "
            f"{total:.1%}; give one table of the functions' own shares "
            "(perf report --stdio --no-children)"
        )
    if sampled.hits and all(hit.guest for hit in sampled.hits):
        raise UserError(
            f"profile {source} shows guests only: record in the guest (perf record -a), and give "
            "that profile"
        )
    notes = sampled.notes
    if guests:
        notes += (
            f"{guests:.1%} of the samples in {source} are in guests, whose functions are not "
            "judged: record in the guest for these",
        )
    alone = next(iter(processes)) if len(processes) == 1 and total >= _ALONE else ""
    if alone and not sampled.everything and not _PROCESS.fullmatch(alone):
        notes += (
            f"all rows of {source} are of the command {alone}: the shares are of the machine only "
            "if all CPUs were sampled (perf record -a)",
        )
        alone = ""
    if sampled.hits and total < _WHOLE:
        notes += (f"the rows of {source} cover {total:.1%} of all samples",)
    return Profile(
        source, sampled.kind, sampled.event, functions, lines, sampled.samples, alone,
        sampled.everything, nameless, min(total, 1.0), notes,
    )  # fmt: skip
