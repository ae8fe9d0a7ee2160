#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measure the simulator's speed: accesses to simulated memory per second of processor time.

PYTHONPATH=cli tests/bench/sim_speed.py BUILD [BASE]

With BASE, the build directory of another version, the two take turns, so that other load of the
host affects both. The program prints the ratio of the medians. --instructions counts instructions
with valgrind instead, on shorter runs: these repeat exactly. --cachegrind prints how many data
references per second cachegrind simulates with the simulator as its program: its cache simulation
knows one CPU and no coherence. --results compares the output of the two for every experiment and
variant.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

from callgrind import collected, need_valgrind
from sim_results import compare
from sim_runs import Run, simulator, workloads

COUNTED_SHARE = 0.1  # part of the usual length that runs under valgrind


def speed(run: Run, binary: Path) -> float:
    """Return million accesses per second."""
    cost = run.result(binary)["simulator"]
    return float(cost["events"] / cost["seconds"] / 1e6)


def instructions(run: Run, binary: Path) -> float:
    """Return the simulator's instructions per access."""
    return collected(*run.argv(binary)) / float(run.result(binary)["simulator"]["events"])


def referenced(run: Run, binary: Path) -> float:
    """Return million data references per second that cachegrind simulates."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(
        ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null",
         *run.argv(binary)], capture_output=True, text=True, check=True,
    )  # fmt: skip
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    found = re.search(r"D +refs: +([0-9,]+)", done.stderr)
    assert found, done.stderr
    return int(found[1].replace(",", "")) / seconds / 1e6


def beside_cachegrind(binary: Path, repeats: int) -> None:
    """Print accesses per second beside cachegrind's data references; the two take turns."""
    need_valgrind()
    short = workloads(COUNTED_SHARE)
    for name, run in workloads(1.0).items():
        seen = [(speed(run, binary), referenced(short[name], binary)) for _ in range(repeats)]
        ours, theirs = (median(values) for values in zip(*seen, strict=True))
        print(f"{name}: {ours:.1f} M accesses/s, {theirs:.1f} M data references/s, "
              f"ratio {ours / theirs:.2f}", flush=True)  # fmt: skip


def time(binaries: list[Path], share: float, repeats: int) -> None:
    """Print accesses per second."""
    for name, run in workloads(share).items():
        seen: list[list[float]] = [[] for _ in binaries]
        for _ in range(repeats):
            for values, binary in zip(seen, binaries, strict=True):
                values.append(speed(run, binary))
        middle = [median(values) for values in seen]
        spread = ", ".join(f"{min(v):.1f} to {max(v):.1f}" for v in seen)
        ratio = f", {middle[0] / middle[1]:.2f} times the base" if len(middle) > 1 else ""
        shown = ", ".join(f"{value:.1f}" for value in middle)
        print(f"{name}: {shown} M accesses/s ({spread}){ratio}", flush=True)


def count(binaries: list[Path]) -> None:
    """Print instructions per access."""
    need_valgrind()
    for name, run in workloads(COUNTED_SHARE).items():
        seen = [instructions(run, binary) for binary in binaries]
        ratio = f", base / this = {seen[1] / seen[0]:.2f}" if len(seen) > 1 else ""
        shown = ", ".join(f"{value:.1f}" for value in seen)
        print(f"{name}: {shown} instructions per access{ratio}", flush=True)


def main() -> int:
    """Run the request of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("build", type=Path, help="build directory")
    parser.add_argument("base", type=Path, nargs="?", help="build directory to compare with")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each (default: 5)")
    parser.add_argument("--share", type=float, default=1.0, help="of the usual length (default: 1)")
    parser.add_argument("--instructions", action="store_true", help="count instructions, not time")
    parser.add_argument("--cachegrind", action="store_true", help="compare with cachegrind")
    parser.add_argument("--results", action="store_true", help="compare what both builds print")
    options = parser.parse_args()
    binaries = [simulator(build) for build in (options.build, options.base) if build]
    for binary in binaries:
        if not binary.is_file():
            parser.error(f"there is no {binary}: give a directory that scripts/build made")
    if options.repeats < 1 or options.share <= 0:
        parser.error("--repeats must be at least 1, --share more than 0")
    if options.results:
        if len(binaries) < 2:
            parser.error("--results compares two builds: give the second one")
        return compare(binaries[0], binaries[1])
    if options.cachegrind:
        beside_cachegrind(binaries[0], options.repeats)
    elif options.instructions:
        count(binaries)
    else:
        time(binaries, options.share, options.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
