#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Record programs modelled on published cases, before and after the published change.

    python3 record/tests/program/published/published.py [NAME...]

It prints the best advice for the original program, and what the changed program takes when it is
recorded too. docs/record.md contains the published figures. Not in make check-all: it takes
minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
BUILD = ROOT / "build" / "record-published"
MACHINE = "xeon-8358-2s"
CASES = {
    "linear_regression.cc": ("8", "5000"),
    "spinlock_pool.cc": ("8", "2000"),
    "streamcluster.cc": ("8", "2000"),
    "pi.c": ("8", "40000"),
}


def record(source: str, arguments: tuple[str, ...], *more: str) -> dict[str, Any]:
    """Compile a program, record it and return the report."""
    compiler = ("gcc", "-fopenmp") if source.endswith(".c") else ("g++", "-std=c++17", "-pthread")
    program, out = BUILD / source.partition(".")[0], BUILD / "out.json"
    marks = f"-I{ROOT}/kernel/guest"
    words = (*compiler, *more, "-g", "-O2", marks, str(HERE / source), "-o", str(program))
    subprocess.run(words, check=True)
    options = ("--machine", MACHINE, "--marks", "--uncertainty", "0", "--out", str(out))
    me = (str(ROOT / "schedshard"), "c2c", "record")
    subprocess.run((*me, *options, "--", str(program), *arguments), check=True, capture_output=True)
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Record both programs of each case, and print what was found."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for source, arguments in CASES.items():
        if sys.argv[1:] and source.partition(".")[0] not in sys.argv[1:]:
            continue
        before, after = record(source, arguments), record(source, arguments, "-DAPART")
        was, now = before["variants"][0], after["variants"][0]
        line = was["lines"][0]
        print(f"\n{source}: {was['hitm_total']:,} HITM, then {now['hitm_total']:,}")
        print(
            f"  hottest: {line['object']}, {line['sharing']}, {line['cycle_share']:.1%} of cycles"
        )
        for advice in before["advice"][:2]:
            print(f"  {advice['words']}: {advice['machines'][MACHINE]['fewer']:.1%} fewer cycles")
        fewer = 1 - now["work_cycles"] / was["work_cycles"]
        print(f"  recorded again: {fewer:.1%} fewer cycles", flush=True)


if __name__ == "__main__":
    main()
