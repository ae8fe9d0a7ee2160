#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Instructions of our RT state beside those of Linux's layout, without contention.

The simulator counts cycles of waits for lines; this is the rest: a machine without contention must
not pay for one with it. Counts are exact. A search is compared in the most common case, a CPU of
level 0, and in the case in which Linux visits all levels.
"""

from __future__ import annotations

import sys

from callgrind import each, need_valgrind

TIMES = 200
MACHINES = ("1", "16", "64", "480")  # as count.c names them
OPERATIONS = ("level", "idle", "busy", "none", "any", "pinned", "overload", "ask")


def main() -> int:
    """Compare."""
    need_valgrind()
    for machine in MACHINES:
        for operation in OPERATIONS:
            stock = each(sys.argv[1], "stock", machine, operation, times=TIMES)
            shard = each(sys.argv[1], "shard", machine, operation, times=TIMES)
            print(f"{machine} CPUs, {operation}: stock {stock:.0f}, shard {shard:.0f}")
            assert stock > 10, "nothing was counted"
            if operation == "level":
                assert shard < stock / 2
            elif operation == "overload":
                assert shard <= stock + 10
            elif machine == "1" and operation != "ask":
                assert shard < stock / 3
            elif operation == "pinned" and machine == "480":
                assert shard <= 2 * stock  # four CPUs of an LLC's 240, looked up
            elif operation in ("idle", "pinned"):
                assert shard <= stock + (60 if machine == "480" else 0)  # eight words of a line
            elif operation == "any" or (operation == "none" and machine != "480"):
                assert shard <= stock
            elif operation == "none":
                assert shard <= 1.6 * stock  # 60 words of levels, Linux's 101 counters
    return 0


if __name__ == "__main__":
    sys.exit(main())
