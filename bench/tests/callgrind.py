# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Counts a program's instructions under valgrind, exactly, whatever else the machine does."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

SKIPPED = 77  # exit status of a test that meson counts as skipped


def need_valgrind() -> None:
    """End the test as skipped where valgrind is not installed."""
    if not shutil.which("valgrind"):
        print("valgrind is not installed", file=sys.stderr)
        sys.exit(SKIPPED)


def collected(*argv: str) -> int:
    """Return the instructions of one run."""
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *argv],
        check=True,
        capture_output=True,
        text=True,
    )
    match = re.search(r"Collected : (\d+)", run.stderr)
    assert match, run.stderr
    return int(match[1])


def per_operation(*argv: str, times: int) -> float:
    """Return the instructions of one operation; a program's last argument is their number."""
    return (collected(*argv, str(2 * times)) - collected(*argv, str(times))) / times
