# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Ctrl-C and SIGINT while a program is recorded: the program gets each of them once."""

from __future__ import annotations

import os
import pty
import signal
import sys

import pytest

from common.paths import ROOT

# The program counts its SIGINTs. It waits for the first, and a moment for others.
PROGRAM = """
import os, signal, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
print(os.getppid(), flush=True)
for _ in range(500):
    time.sleep(0 if got else 0.02)
time.sleep(0.2)
print(len(got), flush=True)
"""
RECORDER = """
import subprocess, sys
from record.program.interrupts import awaiting, end_of, in_child
with awaiting():
    child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], preexec_fn=in_child)
    status = end_of(child)
print("status", status, flush=True)
"""


@pytest.mark.parametrize("stdin_is_terminal", [True, False])
@pytest.mark.parametrize("by_key", [True, False])
def test_the_program_gets_a_sigint_once(stdin_is_terminal: bool, by_key: bool) -> None:
    """The recorder is in the terminal's foreground. Its standard input need not be the terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        if not stdin_is_terminal:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        os.execve(sys.executable, [sys.executable, "-c", RECORDER, PROGRAM], environment)
    with os.fdopen(terminal, "rb+", buffering=0) as screen:
        assert int(screen.readline()) == pid
        if by_key:
            screen.write(b"\x03")
        else:
            os.kill(pid, signal.SIGINT)
        rest = screen.readline() + screen.readline()
        os.waitpid(pid, 0)
    assert rest.replace(b"^C", b"").split() == [b"1", b"status", b"0"]
