# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Real programs, ported to the library: fetched, changed, built, recorded before and after."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from recording import PROGRAMS, Report, needs, record_to

from common.paths import ROOT, build_dir

LIBRARY = build_dir() / "lib" / "libschedshard.a"
SERVER = ("--save", "", "--io-threads", "4", "--io-threads-do-reads", "yes")
RUST = (1, 79)  # the port's own source


def ported(name: str, folder: Path, changed: int) -> Path:
    """Fetch, port and build a program; return the folder with both."""
    if not LIBRARY.is_file():
        pytest.skip("needs the static library")
    argv: list[str | Path] = [sys.executable, ROOT / "lib/ports/port.py", name, folder, build_dir()]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode and not (folder / "before").is_file():
        pytest.skip(f"cannot be fetched or built here: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{changed} lines changed\n"
    return folder


@pytest.fixture(scope="module")
def executors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both programs that spawn tasks."""
    output = ""
    if shutil.which("cargo") and shutil.which("rustc"):
        output = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout
    version = re.search(r"(\d+)\.(\d+)", output)
    if not version or tuple(map(int, version.groups())) < RUST:
        pytest.skip("needs cargo and Rust 1.79")
    return ported("async-executor", tmp_path_factory.mktemp("executor"), 5)


def locked_by_tasks(report: Report) -> bool:
    """Return whether threads that spawn a task meet at the executor's own lock."""
    return any(
        "alloc_state" in line["object"] and "Mutex::lock" in at and "Executor::spawn" in at
        for line in report["variants"][0]["lines"]
        for at in (str(place) for place in line["accesses"])
    )


@pytest.mark.slow(reason="fetches and builds a crate, and records it twice")
@needs(PROGRAMS / "record-known")
def test_an_executor_without_its_lock(executors: Path, tmp_path: Path) -> None:
    """All tasks are done, and the lock that all threads took is gone."""

    def recorded(which: str) -> Report:
        words, options = ("4", "100", "10"), ("--lines", "100")
        return record_to(tmp_path / which, executors / which, *words, options=options)[1]

    assert locked_by_tasks(recorded("before"))
    assert not locked_by_tasks(recorded("after"))


@pytest.mark.slow(reason="needs the crate as well")
def test_more_tasks_than_slots(executors: Path) -> None:
    """The slots grow while other tasks end: each thread has 10,000 tasks at once."""
    argv: list[str | Path] = [executors / "after", "3", "30000", "10000"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


def connected(port: int) -> socket.socket:
    """Connect to the server, which may still be starting."""
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60)
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise TimeoutError("the server did not start")


def asked(port: int, command: str) -> str:
    """Return the whole answer of a server to one command that it answers with a text."""
    with connected(port) as server, server.makefile("rb") as answer:
        server.sendall(f"{command}\r\n".encode())
        return answer.read(int(answer.readline()[1:])).decode()


def used(port: int) -> int:
    """Return the memory in bytes that a server reports as allocated."""
    match = re.search(r"^used_memory:(\d+)", asked(port, "INFO memory"), re.M)
    assert match
    return int(match[1])


def put(port: int, keys: int, value: str, until: Callable[[], bool] = lambda: True) -> None:
    """Set and get keys on one connection, again and again until a moment."""
    with connected(port) as server, server.makefile("rb") as answers:
        while True:
            for key in range(keys):
                server.sendall(f"SET key{key} {value}\r\n".encode())
                assert answers.readline() == b"+OK\r\n"
            if until():
                return


def recorded_server(server: Path, port: int, out: Path) -> Report:
    """The report of a server with 32 connections; the load outlasts a slow start."""
    end = time.monotonic() + 60
    clients = [
        threading.Thread(target=put, args=(port, 50, "0123456789", lambda: time.monotonic() > end))
        for _ in range(32)
    ]
    for client in clients:
        client.start()

    def stop() -> None:
        for client in clients:
            client.join()
        with connected(port) as last:
            last.sendall(b"SHUTDOWN NOSAVE\r\n")

    threading.Thread(target=stop).start()
    options = ("--lines", "100", "--after", "6", "--for", "6")
    return record_to(out, server, "--port", str(port), *SERVER, options=options)[1]


def counted_together(report: Report) -> bool:
    """Return whether locked instructions contend for the word that counts memory in use."""
    return any(
        line["object"].startswith("used_memory") and line["locked"]
        for line in report["variants"][0]["lines"]
    )


@pytest.mark.skipif(
    os.environ.get("SCHEDSHARD_PORTS") != "1",
    reason="fetches and builds redis, and records it: 'make ports', four minutes",
)
@needs(PROGRAMS / "record-known")
def test_redis_without_one_count_for_all(tmp_path: Path) -> None:
    """The server counts right, and the word that all threads changed is gone."""
    servers = ported("redis", tmp_path / "redis", 4)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    argv: list[str | Path] = [servers / "after", "--port", str(port), *SERVER]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as server:
        try:
            before = used(port)
            put(port, 100, "x" * 20_000)
            assert 2_000_000 <= used(port) - before < 4_000_000
        finally:
            server.terminate()
    # The server uses its threads only while many clients wait at once: a slow host may have none.
    tries = (recorded_server(servers / "before", port, tmp_path / "out") for _ in range(3))
    if not any(counted_together(report) for report in tries):
        pytest.skip("the server did not use its threads")
    assert not counted_together(recorded_server(servers / "after", port, tmp_path / "out"))
