# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Calls of the command line in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from schedshard.entry import run
from schedshard.errors import UserError

Result = TypeVar("Result")


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
    """Call the command line, and return its status and what it printed."""
    capsys.readouterr()
    status = run([str(arg) for arg in args])
    captured = capsys.readouterr()
    return Outcome(status, captured.out, captured.err)


def assert_refused(outcome: Outcome, *words: str) -> None:
    """One line on stderr, nothing on stdout, status 2, and the words in the line."""
    assert outcome.status == 2, outcome
    assert outcome.out == ""
    lines = [line for line in outcome.err.splitlines() if not line.startswith("reading ")]
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("schedshard: ")
    assert "internal error" not in lines[0]
    for word in words:
        assert word in lines[0], lines[0]


def attempt(make: Callable[[], Result]) -> Result | str:
    """Return what a call returns, or the one line with which it refuses (status 2)."""
    try:
        return make()
    except UserError as error:
        if error.status != 2:
            raise
        return str(error)
