# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows the progress of long work on stderr: a bar on a terminal, otherwise occasional lines."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from common.safe import trusted

LINE_EVERY_SECONDS = 5.0


class Ticker(Protocol):
    """A function that a stage calls after each piece of work."""

    def __call__(self, what: str) -> None:
        """Report that the piece of work called ``what`` is done."""


def silent(what: str) -> None:
    """Show nothing: the ticker of callers without progress."""


@contextmanager
def ticking(title: str, total: int) -> Iterator[Ticker]:
    """Show the progress of ``total`` pieces of work. Yield the function to call after each."""
    if sys.stderr.isatty():
        # Imported only where a bar is shown.
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        from common.show.terminal import SafeConsole

        with Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=32),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            TextColumn("[dim]{task.fields[what]}"),
            console=SafeConsole(file=trusted(sys.stderr)),
            transient=True,
        ) as progress:
            task = progress.add_task(title, total=total, what="")
            yield lambda what: progress.update(task, advance=1, what=what)
        return

    done = 0
    started = last = time.monotonic()

    def line(what: str) -> None:
        nonlocal done, last
        done += 1
        now = time.monotonic()
        if now - last >= LINE_EVERY_SECONDS and done < total:
            last = now
            took = now - started
            left = took / done * (total - done)
            text = f"{title}: {done}/{total}, {took:.0f} s, about {left:.0f} s left"
            print(text, file=sys.stderr, flush=True)

    yield line


@contextmanager
def working(title: str, *, silent: bool = False) -> Iterator[None]:
    """Report that one long step is running. A ``silent`` step is shown only on a terminal."""
    if sys.stderr.isatty():
        from common.show.terminal import SafeConsole

        with SafeConsole(file=trusted(sys.stderr)).status(title):
            yield
        return
    if silent:
        yield
        return
    print(f"{title} ...", file=sys.stderr, flush=True)
    yield
