# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Calls of the command line in this process, and their results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.entry import run


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
    """Call the command line, and return its status and its output since then."""
    capsys.readouterr()
    status = run([str(arg) for arg in args])
    captured = capsys.readouterr()
    return Outcome(status, captured.out, captured.err)
