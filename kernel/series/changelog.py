# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads the commit messages of the steps from kernel/changelog."""

import re
from collections.abc import Sequence

from common.errors import UserError, os_reason
from kernel.layout import Layout
from kernel.source.recipe import Step

_WIDTH = 75  # the most that checkpatch allows
_TAG = re.compile(r"[A-Z][a-z]+(?:-[a-z]+)*: ")


def _body(text: str, where: str) -> list[str]:
    """Return the lines without comments at the top: a subject, an empty line, and the reason."""
    lines = text.splitlines()
    while lines and (lines[0].startswith("#") or not lines[0].strip()):
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) < 3 or lines[1].strip():
        raise UserError(f"{where}: needs a subject, an empty line and a reason")
    if len(lines[0]) > _WIDTH:
        raise UserError(f"{where}: the subject has {len(lines[0])} characters, {_WIDTH} at most")
    return lines


def message_of(text: str, where: str, tags: Sequence[str]) -> str:
    """Return a commit message: the file's text, with more tags after its own, such as Fixes."""
    lines = _body(text, where)
    if any(line.startswith("Signed-off-by:") for line in lines):
        raise UserError(f"{where}: only --signoff adds a sign-off")
    apart = [""] if tags and not _TAG.match(lines[-1]) else []
    return "\n".join([*lines, *apart, *tags, ""])


def _read(layout: Layout, name: str, what: str) -> tuple[str, str]:
    path = layout.inputs / name
    try:
        return path.read_text(encoding="utf-8"), layout.shown(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else "it is not UTF-8"
        raise UserError(f"{what}: cannot read {layout.shown(path)}: {reason}") from error


def load_message(layout: Layout, step: Step, tags: Sequence[str]) -> str:
    """Return the commit message of a step."""
    text, where = _read(layout, step.changelog, f"step {step.name}")
    return message_of(text, where, tags)


def load_cover(layout: Layout, name: str) -> str:
    """Return the cover letter: subject, empty line, text."""
    text, where = _read(layout, name, "cover letter")
    return "\n".join([*_body(text, where), ""])
