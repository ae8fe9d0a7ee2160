#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests by litmus tests that each model allows exactly the outcomes that it is known to allow.

Usage: explore_litmus.py EXPLORER. Outcomes are the values of the results that KNOWN names, or of
all results. Both searches must find the same set.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

Outcomes = set[tuple[int, ...]]

ALL_PAIRS: Outcomes = set(itertools.product((0, 1), repeat=2))
NOT_BOTH_OLD = ALL_PAIRS - {(0, 0)}

# IRIW: CPUs 2 and 3 each load x and y, in opposite orders; they must not disagree on which was
# written first.
IRIW = set(itertools.product((0, 1), repeat=4)) - {(1, 0, 1, 0)}

# Three loads: r0 of x by CPU 1; r1 of y, then r2 of x, by CPU 2. CPU 1 writes y in any case.
WRC = set(itertools.product((0, 1), repeat=3)) - {(1, 1, 0)}

# name -> results, outcomes under sc, outcomes under tso
KNOWN: dict[str, tuple[str, Outcomes, Outcomes]] = {
    "weak-sb-onces": ("r0 r1", NOT_BOTH_OLD, ALL_PAIRS),
    "weak-sb-mbs": ("r0 r1", NOT_BOTH_OLD, NOT_BOTH_OLD),
    "weak-sb-mb": ("r0 r1", NOT_BOTH_OLD, ALL_PAIRS),
    "weak-sb-atomics": ("r0 r1", NOT_BOTH_OLD, NOT_BOTH_OLD),
    "litmus-sb-forward": (
        "own0 r0 own1 r1",
        {(1, a, 1, b) for a, b in NOT_BOTH_OLD},
        {(1, a, 1, b) for a, b in ALL_PAIRS},
    ),
    "weak-mp-release-acquire": ("r0 r1", ALL_PAIRS - {(1, 0)}, ALL_PAIRS - {(1, 0)}),
    "weak-lb-onces": ("r0 r1", ALL_PAIRS - {(1, 1)}, ALL_PAIRS - {(1, 1)}),
    "weak-iriw-onces": ("r0 r1 r2 r3", IRIW, IRIW),
    "weak-2+2w-onces": ("x y", {(1, 2), (2, 1), (2, 2)}, {(1, 2), (2, 1), (2, 2)}),
    # CPU 1's load of x after its store y = 2.
    "weak-r-onces": ("y r0", {(1, 0), (1, 1), (2, 1)}, {(1, 0), (1, 1), (2, 1), (2, 0)}),
    # CPU 1's load of y before its store x = 1.
    "weak-s-onces": ("x r0", {(1, 0), (2, 0), (1, 1)}, {(1, 0), (2, 0), (1, 1)}),
    "weak-wrc-onces": ("r0 r1 r2", WRC, WRC),
    "litmus-race": ("r0", {(0,), (1,)}, {(0,), (1,)}),
    "litmus-no-race": ("r0", {(0,), (1,)}, {(0,), (1,)}),
}

# The number of outcomes, which is the same for all models.
COUNTS = {"litmus-increments": 30, "litmus-elect": 3}


def coherent(outcome: tuple[int, ...]) -> bool:
    """Both readers of x load twice, and agree on one order of the stores 1 and 2."""
    final, _, *loads = outcome
    order = [0, 3 - final, final]
    first, second = loads[:2], loads[2:]
    return all(order.index(a) <= order.index(b) for a, b in (first, second))


def explore(explorer: str, name: str, model: str, search: str) -> tuple[Outcomes, str, int]:
    """Return outcomes, verdict and number of executions of one search."""
    run = subprocess.run(
        [explorer, name, "--model", model, "--search", search],
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(run.stdout)
    assert report["complete"] is True
    assert run.returncode == (1 if report["verdict"] == "violation" else 0)
    results = KNOWN[name][0].split() if name in KNOWN else report["outcomes"][0]["results"]
    outcomes = {tuple(o["results"][result] for result in results) for o in report["outcomes"]}
    assert len(outcomes) == report["distinct_outcomes"]
    return outcomes, report["verdict"], report["executions"]


def check(explorer: str, name: str, model: str) -> None:
    """Check one test under one model, in all searches."""
    brute, verdict, brute_executions = explore(explorer, name, model, "brute")
    states, states_verdict, states_executions = explore(explorer, name, model, "states")
    print(
        f"{name} {model}: {len(brute)} outcomes; "
        f"{brute_executions} executions, {states_executions} with states"
    )
    assert brute == states, f"{name} {model}: {brute} {states}"
    assert verdict == states_verdict == ("violation" if name == "litmus-race" else "clean"), (
        f"{name} {model}"
    )
    assert states_executions <= brute_executions
    if model == "posted":
        # This model buffers operations that are locked on x86: SB occurs again.
        if name == "weak-sb-atomics":
            assert brute == ALL_PAIRS
        return
    if name in KNOWN:
        _, ordered, delayed = KNOWN[name]
        known = delayed if model == "tso" else ordered
        assert brute == known, f"{name} {model}: {brute ^ known}"
    if name in COUNTS:
        assert len(brute) == COUNTS[name], f"{name} {model}: {len(brute)}"
    if name == "litmus-coherence":
        assert all(coherent(o) for o in brute), name
    if name == "litmus-increments":
        assert all(o[0] == 6 and len(set(o[2:])) == 3 for o in brute), name
    if name == "litmus-bytes":
        # Each CPU sees its own byte. Under sc the last to load sees all three.
        assert all(o[cpu] >> (8 * cpu) & 1 for o in brute for cpu in range(3))
        everything = 0x010101
        assert all(everything in o for o in brute) == (model == "sc")


def main() -> None:
    """Check all litmus tests that there are."""
    explorer = sys.argv[1]
    listed = json.loads(
        subprocess.run([explorer, "--list"], capture_output=True, text=True, check=True).stdout
    )
    names = set(KNOWN) | set(COUNTS) | {"litmus-coherence", "litmus-bytes"}
    assert names >= {c["name"] for c in listed if c["kind"] == "litmus"}, names
    for name in sorted(names):
        for model in ("sc", "tso", "posted"):
            check(explorer, name, model)


main()
