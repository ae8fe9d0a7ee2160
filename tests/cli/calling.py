# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Calls of the command line in this process, and what came of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from schedshard.entry import run


@dataclass(frozen=True)
class Outcome:
    """What one call of the command line did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What was printed, as JSON."""
        return json.loads(self.out)


def call(capsys: pytest.CaptureFixture[str], *args: str | Path) -> Outcome:
    """Call the command line, and return its status and what it printed since then."""
    capsys.readouterr()
    status = run([str(arg) for arg in args])
    captured = capsys.readouterr()
    return Outcome(status, captured.out, captured.err)
