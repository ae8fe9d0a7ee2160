# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run an example, and compare its output with the expected one.

usage: run.py EXPECTED STATUS COMMAND...

EXPECTED is a file with the expected lines. A line that begins with "/" is a regular expression for
one line of output. If the last line begins with "*", it is a regular expression for each of the
remaining lines of output. At least one line must remain.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def matches(expected: str, printed: str) -> bool:
    """Return whether a printed line is as expected."""
    if expected.startswith(("/", "*")):
        return re.fullmatch(expected[1:], printed) is not None
    return expected == printed


def main() -> int:
    """Run the example, and return 1 if status or output differ."""
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
