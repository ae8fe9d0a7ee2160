# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests interruption, closed pipes, parallel work and progress of the command as a process."""

from __future__ import annotations

import io
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from cli import entry
from common.errors import UserError
from common.paths import ROOT
from common.tool import run_json, run_many
from conftest import FAKES

COMMAND = [sys.executable, "-m", "cli"]


def environment(**more: str) -> dict[str, str]:
    """Return a shell's environment, in which standard output is buffered."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**kept, "PYTHONPATH": str(ROOT), "SCHEDSHARD_BUILD": str(FAKES), **more}


def children_of(pid: int) -> list[int]:
    try:
        return [child.pid for child in psutil.Process(pid).children()]
    except psutil.NoSuchProcess:
        return []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_ends_the_simulators_and_says_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "result.json"
    process = subprocess.Popen(
        [*COMMAND, "run", "cpumask-yield", "--out", out],
        env=environment(FAKE_SIM="slow"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    # The first child may be the topology tool; the simulators stay.
    while len(children := children_of(process.pid)) < min(2, os.cpu_count() or 1):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(0.3)
    children = children_of(process.pid)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert (stdout, stderr) == (b"", b"")
    assert process.returncode == 128 + number
    assert not out.exists()
    for child in children:
        assert not Path(f"/proc/{child}").exists()


SIGNALLED = """
import os, signal, sys, tempfile
from cli.entry import unwind_at_signals

unwind_at_signals()
rmdir = os.rmdir

def interrupted(*arguments, **options):
    os.kill(os.getpid(), int(sys.argv[3]))
    return rmdir(*arguments, **options)

os.rmdir = interrupted
with tempfile.TemporaryDirectory(dir=sys.argv[1]):
    os.kill(os.getpid(), int(sys.argv[2]))
"""


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_leaves_no_files(
    tmp_path: Path, first: signal.Signals, second: signal.Signals
) -> None:
    """Regression: a signal that came while files were removed left an empty folder."""
    words = [sys.executable, "-c", SIGNALLED, str(tmp_path), str(int(first)), str(int(second))]
    done = subprocess.run(words, env=environment(), capture_output=True, check=False)
    assert done.returncode != 0
    assert list(tmp_path.iterdir()) == []


IGNORING = """
import signal, sys
from cli import __main__, entry

numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
for number in numbers:
    signal.signal(number, signal.SIG_IGN)
entry.run = lambda: [signal.getsignal(number) for number in numbers]
print(set(__main__.start()) == {signal.SIG_IGN})
"""


def test_ignored_signals_stay_ignored() -> None:
    """A background job of a script begins with SIGINT ignored."""
    words = [sys.executable, "-c", IGNORING]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def said_beside_progress(stderr: bytes) -> list[bytes]:
    """Return the lines that are not progress, which a slow run prints every five seconds."""
    progress = re.compile(rb": \d+/\d+, \d+ s, about \d+ s left$")
    return [line for line in stderr.splitlines() if not progress.search(line)]


# The second command chooses its exit status, as all commands of 'doctor' do. Click ends the third
# one.
HOST = str(ROOT / "doctor" / "tests" / "data" / "guests" / "pinned.tar.gz")
WRITERS = [["machine", "list", "--json"], ["doctor", HOST], ["--help"]]


@pytest.mark.parametrize("command", [["run", "atomic-inc", "--json"], *WRITERS])
def test_closed_pipe_is_quiet(command: list[str]) -> None:
    process = subprocess.Popen(
        [*COMMAND, *command], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert said_beside_progress(process.stderr.read()) == []
    assert process.wait() == 141


@pytest.mark.parametrize("command", WRITERS)
def test_full_disk_on_stdout_is_one_line(command: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, *command],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "schedshard: cannot write to standard output: no space left on device\n"


@pytest.mark.parametrize("ended", [KeyboardInterrupt(), entry.Terminated(signal.SIGTERM)])
def test_a_signal_while_output_waits_ends_the_command(
    ended: BaseException, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A reader that takes nothing, such as a pager, lets the last flush wait."""

    class Stuck(io.StringIO):
        def flush(self) -> None:
            raise ended

        def fileno(self) -> int:
            return out.fileno()

    with (tmp_path / "out").open("wb") as out, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Stuck())
        status = entry.run(["--version"])
    assert status == (130 if isinstance(ended, KeyboardInterrupt) else 143)


def test_a_terminal_gets_a_bar_and_a_file_does_not() -> None:
    plain = subprocess.run(
        [*COMMAND, "run", "cpumask-yield"], env=environment(), capture_output=True, check=True
    )
    assert said_beside_progress(plain.stderr) == []
    assert b"\x1b" not in plain.stdout
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "run", "cpumask-yield"],
        env=environment(TERM="xterm-256color", COLUMNS="100"),
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    output = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        output += part
        if not part:
            break
    os.close(ours)
    assert process.wait() == 0
    assert b"cpumask-yield on epyc-7763-2s" in output
    assert b"/6" in output


def script(path: Path, body: str) -> list[str]:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return [str(path)]


def test_jobs_keep_their_order_and_report_progress(tmp_path: Path) -> None:
    tool = script(tmp_path / "tool", 'sleep "0.$1"; echo "$1"')
    done: list[int] = []
    results = run_many([[*tool, "3"], [*tool, "1"], [*tool, "2"]], on_done=done.append)
    assert results == [3, 1, 2]
    assert sorted(done) == [0, 1, 2]
    assert run_many([]) == []


def test_heaviest_jobs_start_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    log = tmp_path / "log"
    tool = script(tmp_path / "tool", f'echo "$1" >>{log}; echo "$1"')
    assert run_many([[*tool, "1"], [*tool, "9"], [*tool, "5"]], weights=[1, 9, 5]) == [1, 9, 5]
    assert log.read_text().split() == ["9", "5", "1"]


def test_the_first_failure_ends_the_others(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    slow = script(tmp_path / "slow", f"echo $$ >>{pids}; exec sleep 600")
    # The failing script first waits until a slow one runs, which run_many() must then end.
    bad = script(
        tmp_path / "bad",
        f"until [ -s {pids} ]; do sleep 0.1; done; echo 'bad: the reason' >&2; exit 2",
    )
    with pytest.raises(UserError, match=r"^the reason$") as raised:
        run_many([slow, bad, slow])
    assert raised.value.status == 2
    assert [pid for pid in pids.read_text().split() if Path(f"/proc/{pid}").exists()] == []


@pytest.mark.parametrize(
    ("body", "words", "status"),
    [
        ("echo 'tool: /x: is empty' >&2; exit 2", "^/x: is empty$", 2),
        ("echo 'schedshard: wrong' >&2; exit 2", "^wrong$", 2),
        ("echo oops >&2; exit 1", "^oops$", 1),
        ("kill -SEGV $$", "ended by SIGSEGV", 1),
        ("echo '{'", "did not print complete JSON", 1),
        ("printf '\\377\\376'", "did not print complete JSON", 1),
        ("printf '\\377oops' >&2; exit 2", "oops", 2),
    ],
)
def test_failures_of_tools(tmp_path: Path, body: str, words: str, status: int) -> None:
    with pytest.raises(UserError, match=words) as raised:
        run_json(script(tmp_path / "tool", body))
    assert raised.value.status == status


# The program counts its SIGINTs. It waits for the first, and a moment for others.
COUNTING = """
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
        os.execve(sys.executable, [sys.executable, "-c", RECORDER, COUNTING], environment)
    with os.fdopen(terminal, "rb+", buffering=0) as screen:
        assert int(screen.readline()) == pid
        if by_key:
            screen.write(b"\x03")
        else:
            os.kill(pid, signal.SIGINT)
        rest = screen.readline() + screen.readline()
        os.waitpid(pid, 0)
    assert rest.replace(b"^C", b"").split() == [b"1", b"status", b"0"]


def test_bench_peers(real: Path) -> None:
    argv, env = [*COMMAND, "bench", "peers"], environment(SCHEDSHARD_BUILD=str(real))
    printed = subprocess.run(argv, capture_output=True, text=True, check=True, env=env).stdout
    for words in ("set and clear", "walk, full", "make and free", "Concurrency Kit", "hwloc"):
        assert words in printed
