# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Count the instructions of each primitive that are not accesses to shared memory.

primitive_instructions.py BUILD   print each primitive's name and instructions per operation

callgrind counts the instructions of one thread, the simulator its accesses to shared memory. The
difference of two runs is the cost of an operation. model/experiments/primitives.toml uses the
numbers.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FEW, MANY = 1000, 3000


def executed(build: Path, name: str, operations: int) -> int:
    """Return all instructions of a process that does this many operations."""
    ran = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
         str(build / "tests/primitives/primitives-count"), name, str(operations)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = re.search(r"Collected : (\d+)", ran.stderr)
    if found is None:
        raise SystemExit(f"callgrind printed no count: {ran.stderr}")
    return int(found[1])


def accesses(build: Path, name: str, operations: int) -> int:
    """Return how often a simulated CPU accesses shared memory in this many operations."""
    nothing = ["hold_ns", "work_ns", "pause_cycles", "instructions"]
    nothing += ["syscall_ns", "futex_wait_ns", "futex_wake_ns", "schedule_ns", "context_switch_ns"]
    nothing += ["queue_ns", "wake_ns", "ipi_send_ns", "ipi_travel_ns", "irq_ns", "idle_exit_ns"]
    given = dict.fromkeys(nothing, 0) | {"warm_up_ops": 1, "measured_ops": operations}
    given |= {"instructions_per_cycle": 1, "lines": 1}
    argv = [str(build / "model/experiments/schedshard-sim"), "primitives", "--variant", name,
            "--machine", str(ROOT / "machines/xeon-8176-8s.toml"), "--cpus", "1"]  # fmt: skip
    for key, value in given.items():
        argv += ["--param", f"{key}={value}"]
    ran = subprocess.run(argv, capture_output=True, text=True, check=True)
    return int(json.loads(ran.stdout)["simulator"]["events"])


def main(arguments: Sequence[str]) -> int:
    """Print one line per primitive; return the exit status."""
    if len(arguments) != 1:
        print(__doc__)
        return 2
    build = Path(arguments[0])
    listed = subprocess.run(
        [str(build / "model/experiments/schedshard-sim"), "--list"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    of = next(one for one in json.loads(listed.stdout) if one["name"] == "primitives")
    for name in of["variants"]:
        all_ = executed(build, name, MANY) - executed(build, name, FEW)
        shared = accesses(build, name, MANY) - accesses(build, name, FEW)
        print(f"{name}: {(all_ - shared) / (MANY - FEW):.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
