# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Clients that set and get keys of a memcached or redis server, and then have it shut down.

python3 load.py memcached|redis PORT CONNECTIONS SECONDS
"""

from __future__ import annotations

import socket
import sys
import threading
import time

KEYS = 50


def request(protocol: str, key: str) -> tuple[bytes, int]:
    """Return a set and a get of a key as bytes, and the number of lines that answer them."""
    if protocol == "memcached":
        return f"set {key} 0 0 10\r\n0123456789\r\nget {key}\r\n".encode(), 4
    return f"SET {key} 0123456789\r\nGET {key}\r\n".encode(), 3


def connect(port: int, until: float) -> socket.socket:
    """Connect to the server, which may still be starting."""
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def client(protocol: str, port: int, number: int, until: float, done: list[int]) -> None:
    """Send requests on one connection until the time is over."""
    with connect(port, until) as server, server.makefile("rb") as answers:
        while time.monotonic() < until:
            sent, lines = request(protocol, f"k{(number * 7 + done[number]) % KEYS}")
            server.sendall(sent)
            for _ in range(lines):
                if not answers.readline():
                    return
            done[number] += 2


def main() -> None:
    """Run all clients at once, and then shut the server down."""
    protocol, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    until = time.monotonic() + float(sys.argv[4])
    done = [0] * count
    clients = [
        threading.Thread(target=client, args=(protocol, port, number, until, done))
        for number in range(count)
    ]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    with connect(port, until) as server:
        server.sendall(b"shutdown\r\n" if protocol == "memcached" else b"SHUTDOWN NOSAVE\r\n")
    print(f"{sum(done)} requests")


if __name__ == "__main__":
    main()
