# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Checks the form of a refusal by the command line, and makes profiles from text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from calling import Outcome as Outcome
from calling import call as call
from common.errors import UserError
from doctor.profiles.known import parse_text
from doctor.profiles.profile import Profile

Result = TypeVar("Result")


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
    """Return a call's output, or the one line of its refusal (status 2)."""
    try:
        return make()
    except UserError as error:
        if error.status != 2:
            raise
        return str(error)


def read(text: str) -> Profile:
    """Return the profile that a text must contain."""
    profile = parse_text(text, "x")
    assert profile is not None
    return profile


def refused(text: str) -> str:
    """Return the line that refuses a text; the text must not contain a profile."""
    message = attempt(lambda: parse_text(text, "x"))
    assert isinstance(message, str)
    assert message.isprintable()
    return message
