# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The one exception that reaches a user, and the sentence that suggests a nearer name."""

import difflib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager


class UserError(Exception):
    """One line: what is wrong, where, and what would be right; printed without a traceback.

    ``status`` is the exit status: 2 for bad input, 1 when a tool of ours failed on good input.
    """

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(" ".join(message.split()))
        self.status = status


def os_reason(error: OSError) -> str:
    """The operating system's words for an error, without errno and file name."""
    return (error.strerror or str(error)).lower()


@contextmanager
def telling(what: str, status: int = 2) -> Iterator[None]:
    """An error of the operating system becomes one of the user's: ``what``, and its reason."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{what}: {os_reason(error)}", status) from error


def first_of(sentences: Sequence[str]) -> str:
    """The first of several sentences, and how many more there are."""
    more = f" (and {len(sentences) - 1} more)" if len(sentences) > 1 else ""
    return f"{sentences[0]}{more}"


def check_names(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse the first name that does not exist."""
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, known)


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
