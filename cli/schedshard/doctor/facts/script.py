# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The collector: its text, and a run of it on this host."""

import subprocess
from pathlib import Path

from schedshard.common.errors import UserError, os_reason

SCRIPT = Path(__file__).resolve().parent / "collect.sh"
# The collector reads in a few seconds; a host on which it takes minutes has another problem.
_LIMIT_SECONDS = 600


def script_text() -> str:
    """Return the collector's text for users."""
    return SCRIPT.read_text(encoding="ascii")


def run_collector(directory: Path, seconds: int, root: Path | None = None) -> None:
    """Let the collector put its files into an empty directory.

    The two readings are ``seconds`` apart. ``root`` replaces ``/``. A collector that fails is a
    UserError with its own sentence.
    """
    argv = ["sh", str(SCRIPT), "-s", str(seconds), "-d", str(directory)]
    if root is not None:
        argv += ["-r", str(root)]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds + _LIMIT_SECONDS
        )
    except OSError as error:
        raise UserError(f"cannot run the collector: {os_reason(error)}", status=1) from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"the collector did not end within {_LIMIT_SECONDS} s", status=1) from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = said[-1].removeprefix("collect.sh: ") if said else f"status {done.returncode}"
        raise UserError(f"the collector failed: {reason}", status=1)
