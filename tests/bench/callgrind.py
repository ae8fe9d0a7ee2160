# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Instructions of a program under valgrind: exact, whatever else the machine does."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

SKIPPED = 77  # exit status by which meson knows a test that could not run


def need_valgrind() -> None:
    """End the test as skipped where valgrind is not installed."""
    if not shutil.which("valgrind"):
        print("valgrind is not installed", file=sys.stderr)
        sys.exit(SKIPPED)


def collected(*argv: str) -> int:
    """Instructions of one run."""
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *argv],
        check=True,
        capture_output=True,
        text=True,
    )
    found = re.search(r"Collected : (\d+)", run.stderr)
    assert found, run.stderr
    return int(found[1])


def each(*argv: str, times: int) -> float:
    """Instructions of one operation of a program whose last argument says how many it does."""
    return (collected(*argv, str(2 * times)) - collected(*argv, str(times))) / times
