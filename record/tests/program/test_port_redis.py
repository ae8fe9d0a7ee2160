# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Redis, whose count of memory is ported to the library: fetched, changed, built, and recorded."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recording import MACHINE, PROGRAMS, Report, needs

from common.paths import ROOT, build_dir

LIBRARY = build_dir() / "lib" / "libschedshard.a"
INCLUDE = build_dir() / "lib" / "public"
CHANGED = 4  # lines of zmalloc.c
SERVER = ("--save", "", "--io-threads", "4", "--io-threads-do-reads", "yes")
LOAD = ROOT / "record/tests/program/ports/load.py"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both servers."""
    if not shutil.which("apt-get") or not shutil.which("make") or not LIBRARY.is_file():
        pytest.skip("needs apt-get, make and the static library")
    folder = tmp_path_factory.mktemp("redis")
    done = subprocess.run(
        [sys.executable, ROOT / "record/tests/program/ports/redis.py", folder, INCLUDE, LIBRARY],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and not (folder / "before").is_file():
        pytest.skip(f"redis cannot be fetched or built here: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    assert f"{CHANGED} lines of zmalloc.c changed" in done.stdout
    return folder


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def asked(port: int, command: str) -> str:
    """Return a server's answer to one command."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as server:
        server.sendall(f"{command}\r\n".encode())
        with server.makefile("rb") as answer:
            length = int(answer.readline()[1:])
            return answer.read(length).decode()


def used(port: int) -> int:
    """Return the memory in bytes that a server reports as allocated."""
    (line,) = [x for x in asked(port, "INFO memory").splitlines() if x.startswith("used_memory:")]
    return int(line.partition(":")[2])


def put(port: int, keys: int, value: str) -> None:
    """Set keys, with commands of at most 64 KB."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as server:
        answers = server.makefile("rb")
        for key in range(keys):
            server.sendall(f"SET key{key} {value}\r\n".encode())
            assert answers.readline() == b"+OK\r\n"
        answers.close()


def recorded(server: Path) -> Report:
    """The report of a server with 32 connections; the load outlasts a slow start."""
    port = free_port()
    load = subprocess.Popen(
        [sys.executable, LOAD, "redis", str(port), "32", "60"], stdout=subprocess.DEVNULL
    )
    done = subprocess.run(
        [
            *(sys.executable, "-m", "cli", "c2c", "record", "--machine", MACHINE, "--json"),
            *("--uncertainty", "0", "--lines", "100", "--after", "6", "--for", "6", "--"),
            *(server, "--port", str(port), *SERVER),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    load.wait(timeout=600)
    assert done.returncode == 0, done.stderr
    report: Report = json.JSONDecoder().raw_decode(done.stdout, done.stdout.index('{\n  "format"'))[
        0
    ]
    return report


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
def test_redis_without_one_count_for_all(servers: Path) -> None:
    """The server counts right, and the word that all threads changed is gone."""
    port = free_port()
    with subprocess.Popen(
        [servers / "after", "--port", str(port), *SERVER], stdout=subprocess.DEVNULL
    ) as server:
        try:
            for _ in range(600):
                try:
                    before = used(port)
                    break
                except OSError:
                    server_ended = server.poll()
                    assert server_ended is None
                    time.sleep(0.1)
            put(port, 100, "x" * 20_000)
            assert 2_000_000 <= used(port) - before < 4_000_000
        finally:
            server.terminate()
    # The server uses its threads only while many clients wait at once: a slow host may have none.
    if not any(counted_together(recorded(servers / "before")) for _ in range(3)):
        pytest.skip("the server did not use its threads")
    assert not counted_together(recorded(servers / "after"))
