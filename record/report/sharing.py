# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Decides whether CPUs share the bytes of a line, or only the line.

record/plugin/feed_bytes.h says when a transfer is true or false sharing. To compare only which CPUs
write would not suffice: a task that changes threads writes the same bytes from many CPUs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from model.results.raw import Access, Line, Way

# An access with less than this share of a line's stores does not influence the line's kind.
_SELDOM = 0.005
TRUE, FALSE, MIXED = "true", "false", "mixed"
# A line with less false sharing than the first is TRUE, with more than the second FALSE.
_FEW, _MOST = 0.25, 0.75


def _overlap(a: Access, b: Access) -> bool:
    return a.offset < b.offset + b.size and b.offset < a.offset + a.size


def shares_truly(access: Access, accesses: Sequence[Access]) -> bool:
    """Whether two CPUs or more access the access's bytes, and one of them writes."""
    return any(
        writer.stores and _overlap(access, writer) and len({*access.by, *writer.by}) > 1
        for writer in accesses
    )


def hitm_of_false_sharing(line: Line) -> int:
    """Return the HITM of accesses to bytes that no other CPU had written meanwhile.

    The replay counts the others as ``hitm_true``: another CPU wrote one of the bytes since this CPU
    last accessed it.
    """
    return sum(access.hitm - access.hitm_true for access in line.accesses)


def _false_share(line: Line) -> float:
    """Return the share of false sharing in HITM, or in stalls if stores took most of the time."""
    if 2 * line.store_cycles <= line.waited:
        return hitm_of_false_sharing(line) / line.hitm if line.hitm else 0.0
    # A main() that clears a counter once does not make it shared.
    least = _SELDOM * sum(access.stores for access in line.accesses)
    often = [access for access in line.accesses if access.stores > least]
    return (
        sum(access.store_cycles for access in often if not shares_truly(access, often))
        / line.store_cycles
    )


def kind_of(line: Line) -> str:
    """Return the kind of a line's sharing: TRUE, FALSE or MIXED."""
    share = _false_share(line)
    return TRUE if share < _FEW else FALSE if share > _MOST else MIXED


def _added(
    ways: Mapping[Way, tuple[int, float]], more: Mapping[Way, tuple[int, float]]
) -> dict[Way, tuple[int, float]]:
    """Return the cost of each way to an access (callers.py), summed over both arguments."""
    costs = dict(ways)
    for way, (count, cycles) in more.items():
        known = costs.get(way, (0, 0.0))
        costs[way] = (known[0] + count, known[1] + cycles)
    return costs


def joined(accesses: Iterable[Access], instruction: Callable[[int], object]) -> list[Access]:
    """Return the accesses, merged where place, kind and instruction are the same.

    ``instruction`` returns equal values for two addresses of one instruction of a file, which
    several programs may have mapped.
    """
    merged: dict[tuple[object, ...], Access] = {}
    for access in accesses:
        key = (access.offset, access.size, access.kind, instruction(access.instruction))
        if key not in merged:
            merged[key] = replace(access)
            continue
        kept = merged[key]
        kept.add(access)
        kept.hitm_true += access.hitm_true
        kept.by = sorted({*kept.by, *access.by})
        kept.cpus = len(kept.by)
        if kept.ways is not None and access.ways is not None:
            kept.ways = _added(kept.ways, access.ways)
    return list(merged.values())
