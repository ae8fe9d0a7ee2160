#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Bounds of the simulator's cost: instructions per access, including start and report.

Counts repeat exactly with one compiler. Under meson malloc() fills memory, which adds up to 140.
The bounds are a tenth above counts with that. Before hits and waiting fetches had short paths, and
copies of constant lines were read at once, counts without it were 582, 782 and 1,115. A set reads
the address and the position of a CPU as one word, so "cpumask-yield sbm" has fewer cheap accesses,
and more instructions per access.
"""

from __future__ import annotations

import sys
from pathlib import Path

from callgrind import collected, need_valgrind
from sim_runs import workloads

MOST = {"cpumask-yield global": 380, "cpumask-yield sbm": 860, "ffmpeg-rt stock": 985}


def main() -> int:
    """Count instructions, and compare them with the bounds."""
    need_valgrind()
    binary = Path(sys.argv[1])
    failed = 0
    for name, run in workloads(0.1).items():
        events = run.result(binary)["simulator"]["events"]
        assert events > 100000, f"{name}: only {events} accesses"
        cost = collected(*run.argv(binary)) / events
        print(f"{name}: {cost:.1f} instructions per access, at most {MOST[name]}")
        failed += cost > MOST[name]
    return failed


if __name__ == "__main__":
    sys.exit(main())
