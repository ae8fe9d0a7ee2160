# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Decides whether CPUs share the bytes of a line, or only the line.

A transfer is true sharing if another CPU wrote one of the access's bytes since this CPU last
accessed it. Any other transfer of the line is false sharing, caused by neighbouring bytes. A set of
writing CPUs would not suffice: a task that changes threads writes the same bytes from many CPUs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

# Cycles of waiting stores that rank as high as one HITM, which takes at least as long.
_AS_LONG = 100
# An access with a smaller share of a line's stores does not decide the line's kind.
_SELDOM = 0.005
TRUE, FALSE, MIXED = "true", "false", "mixed"
# Below or above these shares of false sharing a line is of one kind, between them mixed.
_FEW, _MOST = 0.25, 0.75


def _overlap(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return bool(a["offset"] < b["offset"] + b["size"] and b["offset"] < a["offset"] + a["size"])


def hitm(entry: Mapping[str, Any]) -> int:
    """Return how often a load or locked operation found the line modified in another cache."""
    return int(entry["hitm_remote"]) + int(entry["hitm_local"])


def stored(entry: Mapping[str, Any]) -> float:
    """Return the cycles in which CPUs stalled on these stores because a store buffer was full."""
    return float(entry.get("store_cycles", 0.0))


def waited(entry: Mapping[str, Any]) -> float:
    """Return the cycles of a line or an access: all those of loads, and stalls on stores."""
    return float(entry["avg_load_cycles"]) * int(entry["loads"]) + stored(entry)


def heat(entry: Mapping[str, Any]) -> float:
    """Return the rank of a line or an access: HITM, plus stalls on stores in units of HITM."""
    return hitm(entry) + stored(entry) / _AS_LONG


def shares_truly(access: Mapping[str, Any], accesses: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two CPUs or more access the access's bytes, and one of them writes."""
    return any(
        writer["stores"] and _overlap(access, writer) and len({*access["by"], *writer["by"]}) > 1
        for writer in accesses
    )


def hitm_of_false_sharing(line: Mapping[str, Any]) -> int:
    """Return the HITM of accesses to bytes that no other CPU had written meanwhile.

    The replay counts the others as ``hitm_true``: another CPU wrote one of the bytes since this CPU
    last accessed it.
    """
    return sum(hitm(access) - int(access["hitm_true"]) for access in line["accesses"])


def _false_share(line: Mapping[str, Any]) -> float:
    """Return the share of false sharing in HITM, or in stalls if stores took most of the time."""
    total, stores = hitm(line), stored(line)
    if 2 * stores <= waited(line):
        return hitm_of_false_sharing(line) / total if total else 0.0
    # A main() that clears a counter once does not make it shared.
    least = _SELDOM * sum(access["stores"] for access in line["accesses"])
    often = [access for access in line["accesses"] if access["stores"] > least]
    return sum(stored(access) for access in often if not shares_truly(access, often)) / stores


def kind_of(line: Mapping[str, Any]) -> str:
    """Return the kind of a line's sharing: TRUE, FALSE or MIXED."""
    share = _false_share(line)
    return TRUE if share < _FEW else FALSE if share > _MOST else MIXED


def _added(
    ways: Mapping[object, tuple[int, float]], more: Mapping[object, tuple[int, float]]
) -> dict[object, tuple[int, float]]:
    """Return the cost of each way to an access (callers.py), summed over both arguments."""
    found = dict(ways)
    for way, (count, cycles) in more.items():
        known = found.get(way, (0, 0.0))
        found[way] = (known[0] + count, known[1] + cycles)
    return found


def joined(
    accesses: Iterable[Mapping[str, Any]], instruction: Callable[[int], object]
) -> list[dict[str, Any]]:
    """Return the accesses, merged where place, kind and instruction are the same.

    ``instruction`` returns the same for two addresses of one instruction of a file, which several
    programs may have mapped.
    """
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for access in accesses:
        key = (access["offset"], access["size"], access["kind"], instruction(int(access["pc"], 16)))
        if key not in found:
            found[key] = dict(access)
            continue
        one = found[key]
        loads = one["loads"] + access["loads"]
        loaded = sum(a["avg_load_cycles"] * a["loads"] for a in (one, access))
        one["store_cycles"] = stored(one) + stored(access)
        for name in ("records", "loads", "stores", "hitm_remote", "hitm_local", "hitm_true"):
            one[name] += access[name]
        one["avg_load_cycles"] = loaded / loads if loads else 0.0
        one["max_load_cycles"] = max(one["max_load_cycles"], access["max_load_cycles"])
        one["by"] = sorted({*one["by"], *access["by"]})
        one["cpus"] = len(one["by"])
        if "ways" in one:
            one["ways"] = _added(one["ways"], access["ways"])
    return list(found.values())
