#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests by litmus tests that the model 'weak' never does what Linux's memory model forbids.

Usage: explore_weak_litmus.py EXPLORER. A row names a test's outcome, the verdict of Linux's memory
model on the outcome, and whether our model shows the outcome. The verdict is that of the named test
in tools/memory-model/litmus-tests; without a name it follows from the rules. An outcome that is
"sometimes" and not shown is an ordering that the model omits, see check/explore/explore_weak.c.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

NEVER, SOMETIMES = "never", "sometimes"
SHOWN, HIDDEN = True, False


@dataclass
class Row:
    """One test."""

    name: str
    outcome: dict[str, int]
    linux: str
    shown: bool
    published: str = ""


MP = {"r0": 1, "r1": 0}
SB = {"r0": 0, "r1": 0}
LB = {"r0": 1, "r1": 1}
WRC = {"r0": 1, "r1": 1, "r2": 0}
IRIW = {"r0": 1, "r1": 0, "r2": 1, "r3": 0}
RWC = {"r0": 1, "r1": 0, "r2": 0}
Z6 = {"r0": 1, "r1": 0, "z": 2}
POAR = "poacquirerelease"

TABLE = [
    Row("mp-onces", MP, SOMETIMES, SHOWN, "MP+poonceonces"),
    Row("mp-wmb-rmb", MP, NEVER, HIDDEN, "MP+fencewmbonceonce+fencermbonceonce"),
    Row("mp-wmb", MP, SOMETIMES, SHOWN),
    Row("mp-rmb", MP, SOMETIMES, SHOWN),
    Row("mp-release", MP, SOMETIMES, SHOWN),
    Row("mp-acquire", MP, SOMETIMES, SHOWN),
    Row("mp-release-acquire", MP, NEVER, HIDDEN, "MP+pooncerelease+poacquireonce"),
    Row("mp-release-rmb", MP, NEVER, HIDDEN),
    Row("mp-rmb-wmb", MP, SOMETIMES, SHOWN),
    Row("mp-mbs", MP, NEVER, HIDDEN),
    Row("mp-mb-one", MP, SOMETIMES, SHOWN),
    Row("mp-wmb-control", MP, SOMETIMES, SHOWN),
    Row("mp-wmb-address", MP, NEVER, HIDDEN, "MP+onceassign+derefonce"),
    Row("mp-address", MP, SOMETIMES, SHOWN),
    Row("mp-wmb-index", MP, NEVER, HIDDEN),
    Row("mp-wmb-xchg", MP, NEVER, HIDDEN),
    Row("mp-wmb-cmpxchg-fails", MP, SOMETIMES, SHOWN),
    Row("mp-atomic", MP, SOMETIMES, SHOWN),
    Row("sb-onces", SB, SOMETIMES, SHOWN, "SB+poonceonces"),
    Row("sb-mbs", SB, NEVER, HIDDEN, "SB+fencembonceonces"),
    Row("sb-mb", SB, SOMETIMES, SHOWN),
    Row("sb-wmbs", SB, SOMETIMES, SHOWN),
    Row("sb-rmbs", SB, SOMETIMES, SHOWN),
    Row("sb-xchgs", SB, NEVER, HIDDEN),
    Row("sb-cmpxchg-fails", SB, SOMETIMES, SHOWN),
    Row("sb-atomics", SB, SOMETIMES, SHOWN),
    Row("sb-atomics-mb", SB, NEVER, HIDDEN),
    Row("lb-onces", LB, SOMETIMES, HIDDEN, "LB+poonceonces"),
    Row("lb-acquire-release", LB, NEVER, HIDDEN, "LB+poacquireonce+pooncerelease"),
    Row("lb-mb-control", LB, NEVER, HIDDEN, "LB+fencembonceonce+ctrlonceonce"),
    Row("wrc-onces", WRC, SOMETIMES, SHOWN, "WRC+poonceonces+Once"),
    Row("wrc-release-rmb", WRC, NEVER, HIDDEN, "WRC+pooncerelease+fencermbonceonce+Once"),
    Row("wrc-acquire-acquire", WRC, SOMETIMES, SHOWN),
    Row("iriw-onces", IRIW, SOMETIMES, SHOWN, "IRIW+poonceonces+OnceOnce"),
    Row("iriw-acquires", IRIW, SOMETIMES, SHOWN),
    Row("iriw-rmbs", IRIW, SOMETIMES, SHOWN),
    Row("iriw-mbs", IRIW, NEVER, HIDDEN, "IRIW+fencembonceonces+OnceOnce"),
    Row("rwc-onces", RWC, SOMETIMES, SHOWN),
    Row("rwc-rmb-mb", RWC, SOMETIMES, SHOWN),
    Row("rwc-mbs", RWC, NEVER, HIDDEN),
    Row("w+rwc-release-mbs", RWC, NEVER, HIDDEN),
    Row("w+rwc-release-rmb-mb", RWC, SOMETIMES, SHOWN),
    Row("isa2-onces", WRC, SOMETIMES, SHOWN, "ISA2+poonceonces"),
    Row("isa2-release-acquire", WRC, NEVER, HIDDEN, f"ISA2+pooncerelease+{POAR}+poacquireonce"),
    Row("r-onces", {"y": 2, "r0": 0}, SOMETIMES, SHOWN, "R+poonceonces"),
    Row("r-mbs", {"y": 2, "r0": 0}, NEVER, HIDDEN, "R+fencembonceonces"),
    Row("r-mb", {"y": 2, "r0": 0}, SOMETIMES, SHOWN),
    Row("s-onces", {"r0": 1, "x": 2}, SOMETIMES, HIDDEN, "S+poonceonces"),
    Row("s-wmb-acquire", {"r0": 1, "x": 2}, NEVER, HIDDEN, "S+fencewmbonceonce+poacquireonce"),
    Row("s-wmb-control", {"r0": 1, "x": 2}, NEVER, HIDDEN),
    Row("2+2w-onces", {"x": 1, "y": 1}, SOMETIMES, HIDDEN),
    Row("2+2w-mbs", {"x": 1, "y": 1}, NEVER, HIDDEN),
    Row("z6.0-releases-mb", Z6, SOMETIMES, HIDDEN, f"Z6.0+pooncerelease+{POAR}+fencembonceonce"),
    Row("z6.0-mbs", Z6, NEVER, HIDDEN),
    Row("by-way-of-old", {"r0": 1, "r1": 1, "r2": 1, "r3": 0, "y": 2}, NEVER, HIDDEN),
    Row("corr", {"r0": 1, "r1": 0}, NEVER, HIDDEN, "CoRR+poonceonce+Once"),
    Row("cowr", {"r0": 0}, NEVER, HIDDEN),
    Row("cowr", {"x": 1, "r0": 2}, NEVER, HIDDEN, "CoWR+poonceonce+Once"),
    Row("corw", {"x": 2, "r0": 2}, NEVER, HIDDEN, "CoRW+poonceonce+Once"),
    Row("coww", {"x": 1}, NEVER, HIDDEN, "CoWW+poonceonce"),
    Row("lock", {"r0": 1, "r1": 1}, NEVER, HIDDEN),
    Row("publish-release", {"r0": 0}, NEVER, HIDDEN),
]

RACES = ["publish-once"]


def explore(explorer: str, name: str, search: str) -> tuple[list[dict[str, int]], str]:
    """Return outcomes and verdict of one search, which must be complete."""
    command = [explorer, f"weak-{name}", "--model", "weak", "--search", search]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(run.stdout)
    assert report["complete"] is True, name
    assert run.returncode == (1 if report["verdict"] == "violation" else 0), name
    outcomes: list[dict[str, int]] = [o["results"] for o in report["outcomes"]]
    return outcomes, report["verdict"]


def main() -> None:
    """Check all."""
    explorer = sys.argv[1]
    listed = json.loads(
        subprocess.run([explorer, "--list"], capture_output=True, text=True, check=True).stdout
    )
    there = {c["name"].removeprefix("weak-") for c in listed if c["kind"] == "litmus-weak"}
    assert there == {row.name for row in TABLE} | set(RACES), there
    for row in TABLE:
        assert not (row.linux == NEVER and row.shown), f"{row.name}: the table itself is wrong"
        outcomes, verdict = explore(explorer, row.name, "states")
        brute, _ = explore(explorer, row.name, "brute")
        assert verdict == "clean", f"{row.name}: {verdict}"
        assert outcomes == brute, f"{row.name}: two searches differ"
        shown = any(row.outcome.items() <= o.items() for o in outcomes)
        print(f"{row.name}: Linux {row.linux}, here {'shown' if shown else 'not shown'}")
        assert shown == row.shown, f"{row.name}: {row.outcome} {outcomes}"
        # Other outcomes occur as well.
        assert any(not row.outcome.items() <= o.items() for o in outcomes), row.name
    for name in RACES:
        assert explore(explorer, name, "states")[1] == "violation", name


main()
