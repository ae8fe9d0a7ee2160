# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Writes a verdict as annotations of GitHub Actions: workflow commands, one per line.

A command ends at the end of its line, and '%' begins an escape. In a property ':' and ',' are
special as well. Names from programs are made printable first, so that none can begin a command.
"""

from __future__ import annotations

from record.gate.judge import APPEARED, GREW, UNSURE, Judged, Row
from record.gate.words import plain, sentence

_LEVELS = {APPEARED: "error", GREW: "error", UNSURE: "notice"}
_TITLE = "Contended cache line"


def _data(text: str) -> str:
    return plain(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _command(row: Row, per: str) -> str:
    where = {"title": f"{_TITLE} {row.verdict}"}
    if row.place is not None:
        where = {"file": row.place.file, "line": str(max(row.place.line, 1)), **where}
    properties = ",".join(f"{name}={_property(value)}" for name, value in where.items())
    return f"::{_LEVELS[row.verdict]} {properties}::{_data(sentence(row, per))}"


def annotation_of_failure(words: str) -> str:
    """Return the annotation for a program that failed, which was not judged."""
    return f"::error title={_TITLE}s not judged::{_data(words)}"


def commands(judged: Judged) -> list[str]:
    """Return one annotation per row that appeared, grew, or may have grown."""
    return [_command(row, judged.per) for row in judged.those(*_LEVELS)]
