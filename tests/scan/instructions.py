#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Instructions of accounting: visited CPUs beside Linux's record for every CPU.

Both add to the runtime of a run queue and of a process, later in an epoch. Linux finds its record
by the CPU's number and takes a lock. A set of visited CPUs must find the shard's block, and takes
no lock. The difference is the set's addition to the fair class's update: 14 instructions are 2% of
an update of 700. Counts are exact.
"""

from __future__ import annotations

import sys

from callgrind import each, need_valgrind

TIMES = 10_000
MORE = 14


def main() -> int:
    """Compare the two, and check the bound."""
    need_valgrind()
    full = each(sys.argv[1], "full", times=TIMES)
    visited = each(sys.argv[1], "visited", times=TIMES)
    print(f"instructions per update: full {full:.1f}, visited {visited:.1f}")
    assert full > 10, "nothing was counted"
    assert visited <= full + MORE
    return 0


if __name__ == "__main__":
    sys.exit(main())
