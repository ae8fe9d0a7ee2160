# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the exception whose message a user sees, and suggests names for misspelt ones."""

import errno
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

# More names than this are too many for a suggestion.
_MANY = 5
_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
_OUTPUT = "cannot write to standard output"


def printable(text: str) -> str:
    """Return the text with escapes for what is not printable, such as terminal sequences."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


class UserError(Exception):
    """An error whose message is one line: what is wrong, where, and what would be right.

    The message is printed without a traceback. ``status`` is the exit status: 2 for bad input, 1 if
    a tool of schedshard failed on good input.
    """

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(printable(" ".join(message.split())))
        self.status = status


def os_reason(error: OSError) -> str:
    """Return the operating system's message for an error, without errno and file name."""
    return (error.strerror or str(error)).lower()


@contextmanager
def telling(what: str, status: int = 2) -> Iterator[None]:
    """Turn an OSError into a UserError that says ``what`` and the reason."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{what}: {os_reason(error)}", status) from error


class OutputError(UserError):
    """Standard output cannot be written. What it still buffers is lost."""


def output_lost(error: OSError) -> bool:
    """Whether an error comes from writing to standard output, which has no file name."""
    return error.errno in _WRITING and error.filename is None


@contextmanager
def ending_with(status: int) -> Iterator[None]:
    """If the block raises an error, exit with a recorded program's ``status`` unless it is 0."""
    try:
        yield
        sys.stdout.flush()
    except UserError as error:
        raise UserError(str(error), status or error.status) from error
    except OSError as error:
        if not output_lost(error):
            raise
        raise OutputError(f"{_OUTPUT}: {os_reason(error)}", status or 2) from error


def first_of(sentences: Sequence[str]) -> str:
    """Return the first of several sentences, and the number of the others."""
    more = f" (and {len(sentences) - 1} more)" if len(sentences) > 1 else ""
    return f"{sentences[0]}{more}"


def check_names(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise a UserError for the first name that is not known."""
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, known)


def _distance(word: str, other: str) -> int:
    """Return the edit distance of two words: letters to insert, delete, replace or swap."""
    rows = [list(range(len(other) + 1))]
    for at, letter in enumerate(word, 1):
        row = [at]
        for to, wanted in enumerate(other, 1):
            steps = [rows[-1][to] + 1, row[-1] + 1, rows[-1][to - 1] + (letter != wanted)]
            if min(at, to) > 1 and letter == other[to - 2] and word[at - 2] == wanted:
                steps.append(rows[-2][to - 2] + 1)
            row.append(min(steps))
        rows.append(row)
    return rows[-1][-1]


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that may be meant: within two edits, or beginning with ``name``."""
    words = sorted(known)
    slips = {word: _distance(name, word) for word in words}
    # Two edits can change all of a short word.
    near = [word for word in words if slips[word] <= 2 and slips[word] * 2 < len(word)]
    if near:
        least = min(slips[word] for word in near)
        return [word for word in near if slips[word] == least]
    begun = [word for word in words if name and word.startswith(name)]
    return begun if len(begun) <= _MANY else []


def did_you_mean(names: Sequence[str]) -> str:
    """Return the question 'did you mean', with all given names."""
    quoted = [f"'{name}'" for name in names]
    listed = " or ".join([", ".join(quoted[:-1]), quoted[-1]] if quoted[1:] else quoted)
    return f"did you mean {listed}?"


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UserError:
    """Return the error for an unknown name, which lists similar names, or else all."""
    names = sorted(known)
    near = near_names(name, names)
    if near:
        hint = did_you_mean(near)
    elif names:
        hint = f"known: {', '.join(names)}"
    else:
        hint = "there is none"
    return UserError(f"unknown {kind} '{name}': {hint}")
