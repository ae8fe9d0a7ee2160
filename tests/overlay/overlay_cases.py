#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The overlay's files in every interleaving: verdicts on x86-TSO and under the model weak.

Usage: overlay_cases.py EXPLORER.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "explore"))

from explore_cases import BOUNDED, Explorer

# name, is there a violation on x86, is there one under the model weak
TABLE = [
    ("rt-wake-far", False, False),
    ("rt-wake-near", False, False),
    ("rt-wake-behind", False, False),
    ("rt-choose", False, False),
    ("rt-two-fall", False, False),
    ("rt-two-far", False, False),
    ("rt-widen", False, False),
    ("rt-plug", False, False),
    ("rt-plug-wake", False, False),
    ("dl-wait", False, False),
    ("planted-rt-pull", True, True),
    ("planted-rt-push", True, True),
    ("planted-rt-round", True, True),
    ("nohz-enter", False, False),
    ("nohz-leave", False, False),
    ("nohz-stay", False, False),
    ("nohz-plug", False, False),
]


def check(explorer: Explorer, name: str, bad: bool, *options: str) -> None:
    """One case in one model."""
    report, status = explorer.run(name, *options)
    label = " ".join((name, *options))
    print(f"{label}: {report['verdict']}, {report['executions']} executions")
    assert report["verdict"] == ("violation" if bad else "clean"), label
    assert status == (1 if bad else 0), label
    assert report["complete"] is True, f"{label}: not complete"
    assert report["executions"] > 1, f"{label}: a single interleaving proves nothing"
    if bad:
        assert report["violation"]["schedule"], f"{label}: a violation without a schedule"


def main() -> None:
    """Check all cases with 2 and 3 CPUs."""
    explorer = Explorer(sys.argv[1])
    assert {case["name"] for case in explorer.cases()} == {name for name, _, _ in TABLE}
    for name, bad, bad_when_weak in TABLE:
        for cpus in (2, 3):
            check(explorer, name, bad, "--cpus", str(cpus))
            bound = BOUNDED if cpus == 3 else ("--preemptions", "4")
            check(explorer, name, bad_when_weak, "--cpus", str(cpus), "--model", "weak", *bound)


main()
