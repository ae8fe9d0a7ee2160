# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Calls the command line, in this process or in a new one, and returns the results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.entry import run
from common.paths import ROOT


@dataclass(frozen=True)
class Outcome:
    """The result of one call of the command line."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The output, as JSON."""
        return json.loads(self.out)


def call(capsys: pytest.CaptureFixture[str], *args: str | Path) -> Outcome:
    """Call the command line, and return its status and its output, without earlier output."""
    capsys.readouterr()
    status = run([str(arg) for arg in args])
    captured = capsys.readouterr()
    return Outcome(status, captured.out, captured.err)


def call_apart(
    *args: str,
    stdin: str = "",
    timeout: float = 240,
    cwd: Path | None = None,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Call the command line in a separate process."""
    return subprocess.run(
        [sys.executable, "-m", "cli", *args],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
