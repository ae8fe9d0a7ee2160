# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact: a thread that waits outside of the model lets others run; nothing hangs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from running import MACHINE, NEEDED, NEEDS_DISPATCH, each_compiler, one_compiler, record, runs

from common.paths import ROOT

pytestmark = NEEDED


# The program whose first thread waits in calls of the kernel.
outside = one_compiler("outside.c")


@pytest.mark.parametrize(
    ("kind", "output"),
    [
        ("select", "0 1 1"), ("socket-receive", "1 1 x"), ("socket-full", "300000 1"),
        ("pipe-full", "300000 1"), ("lock", "0"), ("connect", "0 0 0 "), ("child", "7"),
    ],
)  # fmt: skip
def test_a_call_that_waits_lets_others_run(
    outside: Path, kind: str, output: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The first thread waits for a later action of another one, which must run meanwhile."""
    done = runs(outside, tmp_path, kind)
    assert (done.status, capfd.readouterr().out) == (0, f"{output}\n")
    assert (done.raw.stepping.waited_outside or 0) >= 1


@pytest.mark.slow(reason="the sentence comes after ten seconds")
def test_who_waits_for_whom_is_said_while_nobody_can_run(outside: Path) -> None:
    command = [sys.executable, "-m", "cli", "record", "--exact", "--machine", MACHINE, "--"]
    with subprocess.Popen(
        [*command, str(outside), "stuck"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as done:
        assert done.stderr is not None
        message = done.stderr.readline()
        done.send_signal(signal.SIGINT)
        assert "SIGINT ended the program" in done.stderr.read()
    assert message.startswith("schedshard: no thread has run for 10 seconds: ")
    assert "1 in pthread_mutex_lock at record/tests/exact/outside.c:" in message
    text = (ROOT / "record/tests/exact/outside.c").read_text(encoding="utf-8")
    before = text[: text.rindex("need(read(ends[0], got, 1)")].count("\n")
    assert f"the world at record/tests/exact/outside.c:{before + 1} (is_stuck)" in message
    assert "(puts_later)" in message


# The program whose first thread waits inside of the C library.
within = one_compiler("within.c")


@NEEDS_DISPATCH
@pytest.mark.parametrize(
    ("kind", "output"),
    [
        ("stdio", "2 0"), ("stdio-lock", "1"), ("stdio-full", "15750000"), ("system", "5 yes 0"),
        ("signal", "1 1"), ("syscall", "1"), ("named-pipe", "1"), ("message", "abc"),
        ("semaphore", "0"),
    ],
)  # fmt: skip
def test_a_wait_inside_of_the_c_library_lets_others_run(
    within: Path, kind: str, output: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Waits in stdio, system(), syscall() and others would hang if no other thread ran."""
    test_a_call_that_waits_lets_others_run(within, kind, output, tmp_path, capfd)


# The program with a part for each kind of waiting.
behave = one_compiler("behave.c")


def test_a_deadlock_ends_with_a_sentence(behave: Path) -> None:
    done = record(behave, "deadlock", "2")
    assert done.returncode == 1
    assert "all 3 threads wait: deadlock: 2 in pthread_mutex_lock at " in done.stderr
    assert "behave.c:" in done.stderr
    assert len(done.stderr.splitlines()) == 1


# Loops that only another thread's store could end.
loops = each_compiler("endless.c")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("flag", "4 in a loop at record/tests/exact/endless.c:"), ("swap", "that reads word"),
        ("locked", "that reads "), ("sleeps", "(sleeps) that reads go"),
        ("counts", "(counts) that reads go"), ("first", "thread 0: a loop at record/tests"),
    ],
)  # fmt: skip
def test_a_loop_that_nobody_can_end_is_stopped(loops: Path, kind: str, message: str) -> None:
    done = record(loops, kind)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no thread can end its loop, because none can store: " in done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("kind", ["late", "handler"])
def test_a_loop_that_somebody_ends_goes_on(loops: Path, kind: str) -> None:
    """A store ends the loop late, or a signal's handler does."""
    done = record(loops, kind)
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, "done")


@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP", "SIGQUIT", "SIGTERM"])
def test_an_interrupted_program_leaves_the_report(behave: Path, name: str) -> None:
    which = getattr(signal, name)
    # A shell ignores some of these signals for background jobs, and programs inherit that.
    before = signal.signal(which, signal.SIG_DFL)
    try:
        done = record(behave, "interrupt", str(int(which)))
    finally:
        signal.signal(which, before)
    assert done.returncode == 128 + which
    report = json.loads(done.stdout)
    assert report["program"]["signal"] == name
    assert report["variants"][0]["hitm_total"] > 0
