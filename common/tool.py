# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs the C tools without a shell, returns their JSON, and passes on their one-line errors."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.errors import UserError, telling
from common.paths import remake


@dataclass
class Running:
    """The children that are alive. Ctrl-C ends them before this process."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    children: set[subprocess.Popen[bytes]] = field(default_factory=set)
    stopped: bool = False

    @contextlib.contextmanager
    def start(self, argv: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
        """Start a child, which has ended when the block is left.

        After stop() the block raises KeyboardInterrupt, as Ctrl-C does.
        """
        with self.lock:
            if self.stopped:
                raise KeyboardInterrupt
            child = subprocess.Popen(argv, **options)
            self.children.add(child)
        try:
            yield child
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
            with self.lock:
                self.children.discard(child)

    def stop(self) -> None:
        """End all children, and refuse to start more."""
        with self.lock:
            self.stopped = True
            for child in self.children:
                child.kill()


def require(binary: Path) -> None:
    """Raise UserError if a tool is missing or not executable."""
    if not binary.is_file():
        raise UserError(f"{binary} is missing: {remake()}")
    if not os.access(binary, os.X_OK):
        raise UserError(f"{binary} is not executable: {remake()}")


def _failure(binary: Path, code: int, stderr: bytes) -> UserError:
    """Return the error for a failed child: its own message, without the program's name."""
    lines = [line for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        tail = f": {lines[-1]}" if lines else ""
        return UserError(f"{binary.name} was ended by {name}{tail}", status=1)
    if not lines:
        return UserError(f"{binary.name} failed with exit status {code} and said nothing", status=1)
    message = lines[-1]
    for prefix in (f"{binary}: ", f"{binary.name}: ", "schedshard: "):
        message = message.removeprefix(prefix)
    return UserError(message, status=2 if code == 2 else 1)


def run_tool(argv: Sequence[str], running: Running) -> Any:
    """Run a tool as one of the processes ``running``, and return the JSON that it printed."""
    binary = Path(argv[0])
    require(binary)
    with (
        telling(f"cannot run {binary}", status=1),
        running.start(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as child,
    ):
        stdout, stderr = child.communicate()
    if child.returncode != 0:
        raise _failure(binary, child.returncode, stderr)
    try:
        return json.loads(stdout)
    except ValueError as error:
        raise UserError(f"{binary.name} did not print complete JSON: {error}", status=1) from error


def run_json(argv: Sequence[str]) -> Any:
    """Run a tool, and return the JSON that it printed."""
    return run_tool(argv, Running())


def run_many(
    jobs: Sequence[Sequence[str]],
    weights: Sequence[float] | None = None,
    on_done: Callable[[int], None] | None = None,
    keep: Callable[[Any], Any] | None = None,
    on_result: Callable[[int, Any], None] | None = None,
) -> list[Any]:
    """Run tools in parallel, one per CPU, heaviest first. Return results in the order of jobs.

    The first failure, or Ctrl-C, ends the others. The calling thread calls ``on_done`` with the
    index of each finished job, and ``on_result`` with its result, too. ``keep`` reduces each result
    to the part to keep.
    """
    running = Running()
    results: list[Any] = [None] * len(jobs)
    order = sorted(range(len(jobs)), key=lambda i: -(weights[i] if weights else 0.0))
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        try:
            pending: dict[Future[Any], int] = {
                pool.submit(run_tool, jobs[i], running): i for i in order
            }
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    index = pending.pop(future)
                    result = future.result()
                    results[index] = result if keep is None else keep(result)
                    if on_done is not None:
                        on_done(index)
                    if on_result is not None:
                        on_result(index, result)
        except BaseException:
            running.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results
