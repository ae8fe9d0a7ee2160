#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compares the instructions of our RT state with those of Linux's layout, without contention.

The simulator counts the cycles of waits for lines; instructions are the rest. Counts are exact. A
search is compared in the most common case, a CPU of level 0, and where Linux visits all levels.

The series (layout "shard") reads one byte for each CPU that a task may use, up to eight at once.
If a CPU of the caller's cache runs no RT task, the search ends there. Without contention a search
of hundreds of CPUs still costs more than Linux's. The bounds here keep that from growing.
"""

from __future__ import annotations

import sys

from callgrind import need_valgrind, per_operation

TIMES = 200
MACHINES = ("1", "16", "64", "480")  # as count.c names them
OPERATIONS = (
    *("level", "idle", "busy", "none", "any", "pinned", "ask"),
    *("overload", "overload-few", "overload-many"),
)


# Bounds of one search of the series: per CPU that the task may use (52 byte by byte), and fixed.
PER_CPU, BESIDES = 13, 500
# CPUs that share a cache, by machine.
CACHE = {"1": 1, "16": 8, "64": 8, "480": 240}


def judge(machine: str, operation: str, stock: float, ours: float) -> None:
    """A store costs less than Linux's; a search is bounded by the CPUs that it reads."""
    if operation == "level":
        assert ours < stock
    elif operation == "overload":
        assert ours <= 120
    elif operation == "overload-few":
        assert ours <= 450  # four other shards count the queue
    elif operation == "overload-many":
        assert ours <= 230  # one counter does
    elif operation == "ask":
        assert ours <= 230  # on any number of CPUs: a line of bytes and a line of counters
    elif operation in ("idle", "any"):
        assert ours <= PER_CPU * CACHE[machine] + BESIDES
    else:
        assert ours <= PER_CPU * int(machine) + BESIDES


def main() -> int:
    """Count all operations on all machines, and check the bounds."""
    need_valgrind()
    for machine in MACHINES:
        for operation in OPERATIONS:
            stock, series = (
                per_operation(sys.argv[1], layout, machine, operation, times=TIMES)
                for layout in ("stock", "shard")
            )
            print(f"{machine} CPUs, {operation}: stock {stock:.0f}, series {series:.0f}")
            assert stock > 10, "nothing was counted"
            judge(machine, operation, stock, series)
    return 0


if __name__ == "__main__":
    sys.exit(main())
