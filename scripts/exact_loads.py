# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Clients of the servers in exact_programs.py: they check each answer, then end the server."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

CLIENTS = 8
OPERATIONS = 200
ANSWERS = 2 * CLIENTS * OPERATIONS  # each value is stored and read
PATIENCE = 600  # seconds, for a server on a busy host


def _connected(path: Path, server: subprocess.Popen[bytes]) -> socket.socket:
    """Return a connection to the server, once it listens."""
    end = time.monotonic() + PATIENCE
    while True:
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(PATIENCE)
        try:
            made.connect(str(path))
            return made
        except OSError:
            made.close()
            if server.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.05)


def _ask(to: socket.socket, words: bytes, answer: bytes) -> bool:
    """Send a command, and return whether the answer is as expected."""
    to.sendall(words)
    found = b""
    while len(found) < len(answer):
        part = to.recv(len(answer) - len(found))
        if not part:
            return False
        found += part
    return found == answer


def _memcached(to: socket.socket, key: bytes, value: bytes) -> int:
    size = b"%d" % len(value)
    return _ask(to, b"set %s 0 0 %s\r\n%s\r\n" % (key, size, value), b"STORED\r\n") + _ask(
        to, b"get %s\r\n" % key, b"VALUE %s 0 %s\r\n%s\r\nEND\r\n" % (key, size, value)
    )


def _redis(to: socket.socket, key: bytes, value: bytes) -> int:
    size = b"%d" % len(value)
    return _ask(to, b"SET %s %s\r\n" % (key, value), b"+OK\r\n") + _ask(
        to, b"GET %s\r\n" % key, b"$%s\r\n%s\r\n" % (size, value)
    )


_LOADS: dict[str, tuple[Callable[[socket.socket, bytes, bytes], int], bytes]] = {
    "memcached": (_memcached, b"shutdown\r\n"),
    "redis": (_redis, b"SHUTDOWN NOSAVE\r\n"),
}


def load(name: str, path: Path, server: subprocess.Popen[bytes]) -> int:
    """Store and read from all clients at once, end the server, return the number of right answers.

    A server that has ended, or that ends a connection, gives fewer.
    """
    pair, last = _LOADS[name]
    right = [0] * CLIENTS

    def client(number: int) -> None:
        try:
            with _connected(path, server) as to:
                for n in range(OPERATIONS):
                    value = b"%d-%d" % (number, n) * (n % 9 + 1)
                    right[number] += pair(to, b"key-%d-%d" % (number, n % 100), value)
        except OSError:
            return

    clients = [threading.Thread(target=client, args=(n,)) for n in range(CLIENTS)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    # The server may end before it answers.
    with suppress(OSError), _connected(path, server) as to:
        to.sendall(last)
        to.recv(100)
    return sum(right)
