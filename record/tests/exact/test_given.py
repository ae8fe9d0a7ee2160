# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact: threads have the attributes that a program gives them, as natively."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from running import COMPILERS, HERE, MACHINE, NEEDED, compiled, each_compiler, runs

from common.paths import ROOT

pytestmark = NEEDED

given = each_compiler("given.c")


@pytest.mark.parametrize(
    ("kind", "output"),
    [
        # Bound while waiting, while running, and by attributes; two inherit from their creator.
        ("binds", "5 5 5 0 0 "), ("stacks", "1 "), ("signals", "1 42 "), ("locks", "1 1 1 1 "),
        ("c11", "7 "), ("mails", "1 "), ("asks", "6 "), ("times", "1 1 1 "), ("called", "6 "),
        ("child", "7 "), ("names", "given given first "), ("raw", "5 1 5 1 6 1 6 1 "),
    ],
)  # fmt: skip
def test_threads_have_what_they_are_given(
    given: Path, kind: str, output: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = runs(given, tmp_path, kind)
    assert (done.status, capfd.readouterr().out) == (0, f"{output}\n")


def test_the_first_thread_may_be_on_any_cpu(
    given: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = runs(given, tmp_path, "shares")
    assert capfd.readouterr().out == "4000 \n"
    assert done.raw.hitm > 1000


def test_a_quick_exit_leaves_a_result(
    given: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = runs(given, tmp_path, "quick")
    assert (done.status, capfd.readouterr().out) == (5, "quick\n")


@pytest.mark.parametrize("compiler", [{"gcc": "g++", "clang": "clang++"}[c] for c in COMPILERS])
def test_what_is_done_once_may_throw(
    compiler: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """After an exception the next thread tries again; otherwise all would wait forever."""
    program = compiled(
        tmp_path / "build" / "thrown", compiler, str(HERE / "thrown.cc"), language="c++"
    )
    done = runs(program, tmp_path)
    assert (done.status, capfd.readouterr().out) == (0, "3 1 2\n")


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_command_ends_all(
    given: Path, which: signal.Signals, tmp_path: Path
) -> None:
    """The signal also ends the program, and its files are removed."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words = ("record", "--exact", "--machine", MACHINE, "--", str(given), "runs")
    # pytest's own parent may ignore SIGHUP, and children inherit that.
    before = signal.signal(which, signal.SIG_DFL)
    try:
        command = subprocess.Popen(
            [sys.executable, "-m", "cli", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            text=True, env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)},
        )  # fmt: skip
    finally:
        signal.signal(which, before)
    with command:
        assert command.stdout is not None
        assert command.stdout.readline() == "runs\n"
        command.send_signal(which)
        # The program also holds the pipe, so this returns after both have ended.
        assert command.stdout.read() == ""
    assert command.returncode == 128 + which
    assert list(scratch.iterdir()) == []
