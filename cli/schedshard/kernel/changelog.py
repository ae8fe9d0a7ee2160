# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Commit messages of the steps, from kernel/changelog."""

from __future__ import annotations

from schedshard.errors import UserError, os_reason
from schedshard.kernel.layout import Layout
from schedshard.kernel.recipe import Step

_WIDTH = 75  # what checkpatch allows


def message_of(text: str, where: str, signed_by: str) -> str:
    """A commit message: the file without its comment lines at the top, and the sign-off."""
    lines = text.splitlines()
    while lines and (lines[0].startswith("#") or not lines[0].strip()):
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) < 3 or lines[1].strip():
        raise UserError(f"{where}: needs a subject, an empty line and a reason")
    if any(line.startswith("Signed-off-by:") for line in lines):
        raise UserError(f"{where}: the sign-off is added when the series is made")
    if len(lines[0]) > _WIDTH:
        raise UserError(f"{where}: the subject has {len(lines[0])} characters, {_WIDTH} may be")
    return "\n".join([*lines, "", f"Signed-off-by: {signed_by}", ""])


def load_message(layout: Layout, step: Step, signed_by: str) -> str:
    """The message of a step."""
    path = layout.inputs / step.changelog
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else "it is no UTF-8"
        raise UserError(f"step {step.name}: cannot read {layout.shown(path)}: {reason}") from error
    return message_of(text, layout.shown(path), signed_by)
