# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows which last-level cache took a line from which.

The cache that had the line is that of the CPU that last wrote it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from model.machines.topo import ranges
from model.results.c2c import Cache, Transfer
from model.results.raw import Line

# A matrix with more caches is shown as its pairs with most transfers.
_WIDEST = 8
_PAIRS = 8


def caches(topology: Mapping[str, Any], cpus: Sequence[int]) -> list[Cache]:
    """Return the last-level caches of these CPUs: each with its number and those of its CPUs."""
    of = {int(each["cpu"]): int(each["llc"]) for each in topology["cpus"]}
    found: dict[int, list[int]] = {}
    for cpu in sorted(cpus):
        found.setdefault(of[cpu], []).append(cpu)
    return [Cache(cache=cache, cpus=those) for cache, those in sorted(found.items())]


def taken(line: Line) -> list[Transfer]:
    """Return the transfers of a line by pair of caches, the most frequent first."""
    pairs = [Transfer(source=source, to=to, hitm=hitm) for source, to, hitm in line.pairs]
    return sorted(pairs, key=lambda pair: (-pair.hitm, pair.source, pair.to))


def label(cache: Cache) -> str:
    """Return the name of a cache: its CPUs as ranges."""
    said = ranges(cache.cpus)
    return f"CPUs {said}" if len(cache.cpus) > 1 else f"CPU {said}"


def taken_table(
    pairs: Sequence[Transfer], known: Sequence[Cache]
) -> tuple[list[str], list[list[str]]] | None:
    """Return columns and rows of a line's transfers in shares of all; None below two caches."""
    used = sorted({end for pair in pairs for end in (pair.source, pair.to)})
    if len(used) < 2:
        return None
    total = sum(pair.hitm for pair in pairs)
    names = {each.cache: label(each) for each in known}
    if len(used) > _WIDEST:
        rows = [
            [names[pair.source], names[pair.to], f"{pair.hitm / total:.1%}"]
            for pair in pairs[:_PAIRS]
        ]
        return ["taken from", "by", "of all"], rows
    share = {(pair.source, pair.to): pair.hitm / total for pair in pairs}
    rows = [
        [names[one], *(f"{share[one, to]:.1%}" if (one, to) in share else "-" for to in used)]
        for one in used
    ]
    return ["taken from", *(f"by {names[to]}" for to in used)], rows
