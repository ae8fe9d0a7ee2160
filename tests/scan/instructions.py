#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What accounting costs in instructions: visited CPUs beside Linux's record for every CPU.

Both add to a run queue's runtime and to the process's, later in an epoch. Linux finds its record by
the CPU's number and takes a lock; a set of visited CPUs has to find the shard's block, and takes
none. The difference is what the set adds to the fair class's update, whatever else that
does: 14 instructions are 2% of one of 700. Counts are exact.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

SKIPPED = 77
TIMES = 10_000
MORE = 14


def collected(binary: str, way: str, times: int) -> int:
    """Instructions of one run under callgrind."""
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", binary, way, str(times)],
        check=True,
        capture_output=True,
        text=True,
    )
    found = re.search(r"Collected : (\d+)", run.stderr)
    assert found, run.stderr
    return int(found[1])


def each(binary: str, way: str) -> float:
    """Instructions of one update, over ten epochs."""
    return (collected(binary, way, 2 * TIMES) - collected(binary, way, TIMES)) / TIMES


def main() -> int:
    """Compare."""
    if not shutil.which("valgrind"):
        print("valgrind is not installed", file=sys.stderr)
        return SKIPPED
    full, visited = each(sys.argv[1], "full"), each(sys.argv[1], "visited")
    print(f"instructions an update: full {full:.1f}, visited {visited:.1f}")
    assert full > 10, "nothing was counted"
    assert visited <= full + MORE
    return 0


if __name__ == "__main__":
    sys.exit(main())
