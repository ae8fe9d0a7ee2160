# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs an example and compares what it prints with what it must print.

usage: run.py EXPECTED STATUS COMMAND...

EXPECTED is a file. A line of it that begins with "/" is a regular expression for one line. A last
line that begins with "*" is one for each of the lines that are left. At least one must be left.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def matches(expected: str, printed: str) -> bool:
    """Whether a printed line is the expected one."""
    if expected.startswith(("/", "*")):
        return re.fullmatch(expected[1:], printed) is not None
    return expected == printed


def main() -> int:
    """Run and compare."""
    expected = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    done = subprocess.run(sys.argv[3:], capture_output=True, text=True, check=False)
    printed = done.stdout.splitlines()
    print(done.stdout + done.stderr, end="")
    if done.returncode != int(sys.argv[2]):
        print(f"status {done.returncode}, must be {sys.argv[2]}")
        return 1
    if expected and expected[-1].startswith("*"):
        expected += expected[-1:] * (len(printed) - len(expected))
    if len(printed) != len(expected):
        print(f"{len(printed)} lines, must be {len(expected)}")
        return 1
    for number, (must, line) in enumerate(zip(expected, printed, strict=True), 1):
        if not matches(must, line):
            print(f"line {number} must be: {must}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
