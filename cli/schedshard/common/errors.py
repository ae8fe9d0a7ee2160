# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The one exception that reaches a user, and the sentence that suggests a nearer name."""

import errno
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

# More names than these are a list, and no suggestion.
_MANY = 5
_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
_OUTPUT = "cannot write to standard output"


def printable(text: str) -> str:
    """The text with escapes for what is not printable, such as a terminal's own sequences."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


class UserError(Exception):
    """One line: what is wrong, where, and what would be right; printed without a traceback.

    ``status`` is the exit status: 2 for bad input, 1 when a tool of ours failed on good input.
    """

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(printable(" ".join(message.split())))
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


class OutputError(UserError):
    """Standard output takes no more: what it still buffers is lost."""


def output_lost(error: OSError) -> bool:
    """Whether the error is one of writing to standard output, which has no file name."""
    return error.errno in _WRITING and error.filename is None


@contextmanager
def ending_with(status: int) -> Iterator[None]:
    """A program has ended with ``status``: without its report, the command still does."""
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
    """The first of several sentences, and how many more there are."""
    more = f" (and {len(sentences) - 1} more)" if len(sentences) > 1 else ""
    return f"{sentences[0]}{more}"


def check_names(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse the first name that does not exist."""
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, known)


def _distance(one: str, other: str) -> int:
    """How many letters to insert, delete, replace or swap make one word of another."""
    rows = [list(range(len(other) + 1))]
    for at, letter in enumerate(one, 1):
        row = [at]
        for to, wanted in enumerate(other, 1):
            steps = [rows[-1][to] + 1, row[-1] + 1, rows[-1][to - 1] + (letter != wanted)]
            if min(at, to) > 1 and letter == other[to - 2] and one[at - 2] == wanted:
                steps.append(rows[-2][to - 2] + 1)
            row.append(min(steps))
        rows.append(row)
    return rows[-1][-1]


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """The names that are meant: a slip of two letters away, or begun like this; "" means none."""
    words = sorted(known)
    slips = {word: _distance(name, word) for word in words}
    # Two letters of a short word are all of it.
    near = [word for word in words if slips[word] <= 2 and slips[word] * 2 < len(word)]
    if near:
        least = min(slips[word] for word in near)
        return [word for word in near if slips[word] == least]
    begun = [word for word in words if name and word.startswith(name)]
    return begun if len(begun) <= _MANY else []


def did_you_mean(names: Sequence[str]) -> str:
    """The question, with every name that may be meant."""
    quoted = [f"'{name}'" for name in names]
    listed = " or ".join([", ".join(quoted[:-1]), quoted[-1]] if quoted[1:] else quoted)
    return f"did you mean {listed}?"


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UserError:
    """The error for a name that does not exist, with those near it, or else all."""
    names = sorted(known)
    near = near_names(name, names)
    if near:
        hint = did_you_mean(near)
    elif names:
        hint = f"known: {', '.join(names)}"
    else:
        hint = "there is none"
    return UserError(f"unknown {kind} '{name}': {hint}")
