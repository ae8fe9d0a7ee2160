#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Bounds of instructions: of the library's operations, and of the simulator's accesses.

check_instructions.py COUNT SIM    the paths of primitives-count and schedshard-sim

Counts repeat exactly with one compiler. The simulator's counts include start and report. Under
meson malloc() fills memory, which adds up to 140 instructions per access. All bounds are about a
tenth above the counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from callgrind import collected, each, need_valgrind

from model.machines.presets import load_machine
from model.run.common_entries import read_experiment

ROOT = Path(__file__).resolve().parents[2]
TIMES = 1000
# Instructions of one operation by one thread, with its call.
OPERATIONS = {"set-clear": 22, "claim-pool": 37, "claim-slots": 51, "cpu-counter": 13}
# Runs of the simulator: experiment, variant, changed parameters, and instructions per access.
RUNS = (
    ("cpumask-yield", "global", {"measured_ops": 800.0}, 380),
    ("cpumask-yield", "sbm", {"measured_ops": 800.0}, 860),
    ("ffmpeg-rt", "stock", {"warm_up_us": 1000.0, "measured_us": 800.0, "extra_finds": 0.0}, 985),
)


def run_of(simulator: str, experiment: str, variant: str, changed: dict[str, float]) -> list[str]:
    """Return the command line of a short run on the experiment's own machine."""
    declared = read_experiment(ROOT / "model" / "experiments" / f"{experiment}.toml")
    argv = [simulator, experiment, "--variant", variant, "--seed", "1"]
    argv += ["--machine", str(load_machine(declared["machine"]).flat)]
    for param in declared["param"]:
        argv.append(f"--param={param['name']}={changed.get(param['name'], param['value'])}")
    return argv


def main() -> int:
    """Count instructions, and compare them with the bounds; return the number of faults."""
    need_valgrind()
    count, simulator = sys.argv[1:]
    failed = 0
    for name, bound in OPERATIONS.items():
        cost = each(count, name, times=TIMES)
        print(f"{name}: {cost:.1f} instructions, at most {bound}")
        failed += cost > bound
    for experiment, variant, changed, bound in RUNS:
        argv = run_of(simulator, experiment, variant, changed)
        done = subprocess.run(argv, check=True, capture_output=True, text=True)
        events = json.loads(done.stdout)["simulator"]["events"]
        assert events > 100000, f"{experiment}: only {events} accesses"
        cost = collected(*argv) / events
        print(f"{experiment} {variant}: {cost:.1f} instructions per access, at most {bound}")
        failed += cost > bound
    return failed


if __name__ == "__main__":
    sys.exit(main())
