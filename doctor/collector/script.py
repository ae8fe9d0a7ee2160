# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes the text of the collector, and runs the collector on this host."""

from __future__ import annotations

import os
import subprocess
from importlib.resources import as_file, files
from pathlib import Path

from common.errors import UserError, os_reason

SCRIPT = files("doctor.collector") / "collect.sh"
_PSEUDONYMS = files("doctor.collector") / "pseudonyms.sh"
_PLACE = "# PSEUDONYMS\n"
# The collector reads in a few seconds; a host on which it takes minutes has another problem.
_LIMIT_SECONDS = 600


def script_text() -> str:
    """Return the collector's text for users: both files as one."""
    part = _PSEUDONYMS.read_text(encoding="ascii")
    # The first two lines name the shell and the licence, like those of the complete script.
    part = part.split("\n", 2)[2]
    return SCRIPT.read_text(encoding="ascii").replace(_PLACE, part, 1)


def _environment() -> dict[str, str]:
    """Return the environment without what a shell would run."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}


def run_collector(directory: Path, seconds: int) -> None:
    """Run the collector, which writes its files into an empty directory.

    The two readings are ``seconds`` apart. If the collector fails, the UserError contains its last
    message.
    """
    argv = ["-s", str(seconds), "-d", str(directory)]
    try:
        with as_file(SCRIPT) as script:
            done = subprocess.run(
                ["sh", str(script), *argv], stdin=subprocess.DEVNULL, capture_output=True,
                timeout=seconds + _LIMIT_SECONDS, env=_environment(),
            )  # fmt: skip
    except OSError as error:
        raise UserError(f"cannot run the collector: {os_reason(error)}", status=1) from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"the collector did not end within {_LIMIT_SECONDS} s", status=1) from error
    if done.returncode != 0:
        errors = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = errors[-1].removeprefix("collect.sh: ") if errors else f"status {done.returncode}"
        raise UserError(f"the collector failed: {reason}", status=1)
