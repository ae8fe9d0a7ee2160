# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds entries of the catalogue in a profile, by hot functions and by offsets within lines."""

from __future__ import annotations

from dataclasses import dataclass

from doctor.judge.sampling import interval
from doctor.known.catalogue import Catalogue, Entry, KnownField, KnownLine
from doctor.profiles.profile import Access, CacheLine, Profile, same

# This share of a line's records must fit a known line, in two functions or fields at least.
_FIT = 0.6


@dataclass(frozen=True)
class HotSet:
    """The functions of a catalogue entry that occur in a profile.

    Shares are fractions of all the profile's samples.

    ``low`` and ``high`` are the ends of the interval of ``share``.
    """

    entry: Entry
    share: float
    low: float
    high: float
    functions: tuple[tuple[str, float], ...]
    helpers: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class KnownHotLine:
    """A contended line that matches a known one.

    ``fit`` is the share of the line's records that match, and ``fields`` splits it by field.
    ``cycles`` are the mean load cycles of the fastest and of the slowest access.
    """

    known: KnownLine
    line: CacheLine
    fit: float
    fields: tuple[tuple[str, float], ...]
    cycles: tuple[float, float]


def _found(profile: Profile, names: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    shares = []
    for name in names:
        share = sum(held for symbol, held in profile.functions.items() if same(symbol, name))
        if share > 0:
            shares.append((name, share))
    return tuple(sorted(shares, key=lambda pair: -pair[1]))


def hot_sets(profile: Profile, catalogue: Catalogue) -> list[HotSet]:
    """Return the entries whose functions reach the share that the entry asks for, hottest first."""
    sets = []
    for entry in catalogue.entries.values():
        functions = _found(profile, entry.functions)
        share = sum(function[1] for function in functions)
        if functions and share >= entry.share:
            low, high = interval(share, profile.samples)
            helpers = _found(profile, entry.helpers)
            sets.append(HotSet(entry, share, low, high, functions, helpers))
    return sorted(sets, key=lambda hot_set: -hot_set.share)


def _field(known: KnownLine, access: Access) -> KnownField | None:
    for field in known.fields:
        if access.offset in field.offsets and any(
            same(access.symbol, function) for function in field.functions
        ):
            return field
    return None


def _fitting(known: KnownLine, line: CacheLine) -> KnownHotLine | None:
    total = sum(record.records for record in line.accesses)
    weights: dict[str, int] = {}
    kinds = set()
    touched = [access.symbol for access in line.accesses]
    for access in line.accesses:
        field = _field(known, access)
        if field is None:
            continue
        weights[field.name] = weights.get(field.name, 0) + access.records
        kinds.add((field.name, access.symbol))
    fit = sum(weights.values()) / total if total else 0.0
    required = all(
        any(same(symbol, function) for symbol in touched for function in group)
        for group in known.require
    )
    if not required or fit < _FIT or len(kinds) < 2:
        return None
    cycles = [record.load_cycles for record in line.accesses if record.load_cycles > 0] or [0.0]
    shares = sorted(((name, held / total) for name, held in weights.items()), key=lambda x: -x[1])
    return KnownHotLine(known, line, fit, tuple(shares), (min(cycles), max(cycles)))


def known_lines(profile: Profile, catalogue: Catalogue) -> list[KnownHotLine]:
    """Return the lines of a profile that match a known line, each with the best match.

    Of two known lines that fit equally, the better one names fewer functions.
    """
    lines = []
    for line in profile.lines:
        fitting = [fit for known in catalogue.lines if (fit := _fitting(known, line)) is not None]
        if fitting:
            lines.append(
                max(
                    fitting,
                    key=lambda known: (
                        round(known.fit, 2),
                        -sum(len(field.functions) for field in known.known.fields),
                    ),
                )
            )
    return lines


def lines_by_functions(profile: Profile, catalogue: Catalogue) -> list[tuple[CacheLine, Entry]]:
    """Return the lines that one entry's functions access most, each with that entry.

    So an entry is also found where its lines have other offsets, as on other architectures.
    """
    pairs = []
    for line in profile.lines:
        total = sum(access.records for access in line.accesses)
        for entry in catalogue.entries.values():
            held = sum(
                access.records for access in line.accesses
                if any(same(access.symbol, function) for function in entry.functions)
            )  # fmt: skip
            if total and held >= _FIT * total:
                pairs.append((line, entry))
                break
    return pairs
