# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The error of a program that fails contains the line of its output that gives the reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_kernel import fake_program

from common.errors import UserError
from common.programs import call, reason

TAR = """\
tar: linux/a.c: Cannot write: No space left on device
tar: linux/b.c: Cannot write: No space left on device
tar: Exiting with failure status due to previous errors
"""
SPATCH = """\
minus: parse error:
  File "set.cocci", line 5, column 0, charpos = 28
  around = '',
  whole content =
"""
GIT_AM = """\
error: patch failed: kernel/sched/rt.c:1
error: kernel/sched/rt.c: patch does not apply
hint: Use 'git am --show-current-patch=diff' to see the failed patch
"""


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (TAR, "tar: linux/a.c: Cannot write: No space left on device"),
        (SPATCH, 'minus: parse error: File "set.cocci", line 5, column 0, charpos = 28'),
        (GIT_AM, "error: patch failed: kernel/sched/rt.c:1"),
        ("one\ntwo\n\n", "two"),
        ("an error:\n", "an error:"),
        ("", ""),
    ],
)
def test_reason(output: str, words: str) -> None:
    assert reason(output) == words


def test_program_that_fails_without_a_word(tmp_path: Path) -> None:
    fake_program(tmp_path, "quiet", "exit 3")
    with pytest.raises(UserError, match="trying it: exit status 3"):
        call([tmp_path / "quiet"], what="trying it")


def test_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"trying it: cannot run .*none: no such file"):
        call([tmp_path / "none"], what="trying it")


def test_status_that_is_good(tmp_path: Path) -> None:
    fake_program(tmp_path, "differs", "echo yes; exit 1")
    assert call([tmp_path / "differs"], good=(0, 1), what="trying it") == b"yes\n"
