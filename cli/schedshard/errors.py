# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The one exception that reaches a user, and the sentence that suggests a nearer name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """What is wrong, where, and what would be right: one line, printed without a traceback.

    ``status`` is the exit status: 2 for bad input, 1 when a tool of ours broke on good input.
    """

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(" ".join(message.split()))
        self.status = status


def os_reason(error: OSError) -> str:
    """The operating system's words for an error, without errno and file name."""
    return (error.strerror or str(error)).lower()


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UserError:
    """The error for a name that does not exist, with the nearest one that does."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        hint = f"did you mean '{near[0]}'?"
    elif names:
        hint = f"known: {', '.join(names)}"
    else:
        hint = "there is none"
    return UserError(f"unknown {kind} '{name}': {hint}")
