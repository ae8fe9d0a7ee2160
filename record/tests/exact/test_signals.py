# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact: each thread has a mask of signals and runs its own handlers."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from running import NEEDED, NEEDS_DISPATCH, each_compiler, runs, runs_as_natively

pytestmark = [NEEDED, NEEDS_DISPATCH]


# The program with a part for each use of signals.
signalled = each_compiler("signalled.c")
# The program with a part for each kind of timer, alternative stack and signalfd().
delivered = each_compiler("delivered.c")


@pytest.mark.parametrize(
    ("kind", "output"),
    [
        ("masks", "0 10 1 10 1 "), ("directed", "0 1 1 1 1 "), ("process", "1 0 0 0 0 "),
        ("suspend", "0 1 1 1 1 "), ("interrupted", "11111 x 1"), ("nested", "111 100 5 1"),
        ("taken", "1 1 1 0 1"), ("jumped", "3 000"), ("from-outside", "0 0"),
        ("once", "1 -1"), ("queued", "0 0 100 1"), ("child", "20"), ("last", "y"),
    ],
)  # fmt: skip
def test_signals_are_those_of_threads(
    signalled: Path, kind: str, output: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Natively and recorded: the thread that a signal is for runs the handler."""
    assert runs_as_natively(signalled, tmp_path, capfd, kind) == f"{output}\n"


def test_a_fault_in_the_handler_of_its_signal_ends_the_program(
    signalled: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The signal is blocked in its handler, so the handler runs once; there is a result."""
    native = subprocess.run([signalled, "faulted"], capture_output=True, text=True, check=False)
    assert (native.stdout, native.returncode) == ("x", -signal.SIGSEGV)
    done = runs(signalled, tmp_path, "faulted")
    assert (done.status, capfd.readouterr().out) == (128 + signal.SIGSEGV, "x")


@pytest.mark.parametrize(
    "kind",
    [
        "alarm", "interval", "timer", "absolute", "threads", "file", "read", "far", "function",
        "exits", "stacks", "small", "files",
    ],
)  # fmt: skip
def test_signals_are_delivered_as_natively(
    delivered: Path, kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Timers follow the machine's clock; each thread has its own stack and pending signals."""
    assert runs_as_natively(delivered, tmp_path, capfd, kind)


def test_an_alarm_that_ends_the_program(delivered: Path, tmp_path: Path) -> None:
    """The run leaves a result."""
    native = subprocess.run([delivered, "ended"], check=False)
    assert native.returncode == -signal.SIGALRM
    done = runs(delivered, tmp_path, "ended")
    assert (done.status, done.signal) == (128 + signal.SIGALRM, "SIGALRM")
