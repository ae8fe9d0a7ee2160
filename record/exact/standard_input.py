# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Gives all runs of a program the same standard input."""

import os
import select
import stat
import sys
import threading
from pathlib import Path

# If the input ends within this time and size, it is read before the program starts, so that no run
# waits for it. Other input goes to the first run as it comes, and later runs get a copy.
_IDLE = 0.5  # seconds
_AHEAD = 64 << 20
_MOST = 1 << 30
_CHUNK = 1 << 16


class StandardInput:
    """Standard input: a terminal, a file, or a copy of what came through a pipe."""

    def __init__(self, folder: Path) -> None:
        self._copy = folder / "stdin"
        self._begin = 0
        self._ended = True
        self._stop = threading.Event()
        self._pump: threading.Thread | None = None
        self._source = -1
        self._terminal = False
        self.too_long = False  # the copy lacks the end of what the first run read
        try:
            self._source = sys.stdin.fileno()
            kind = os.fstat(self._source).st_mode
        except (OSError, ValueError, AttributeError):  # there is none
            self._copy = Path(os.devnull)
            return
        self._terminal = os.isatty(self._source)
        again = Path(f"/proc/self/fd/{self._source}")
        if stat.S_ISREG(kind) and os.access(again, os.R_OK):
            self._copy = again
            self._begin = os.lseek(self._source, 0, os.SEEK_CUR)
        elif not self._terminal:
            self._ended = self._read_ahead()

    def _read_ahead(self) -> bool:
        """Copy the input that comes at once. Return whether the input has ended."""
        size = 0
        with self._copy.open("wb") as copy:
            while size < _AHEAD and select.select([self._source], [], [], _IDLE)[0]:
                part = os.read(self._source, _CHUNK)
                if not part:
                    return True
                copy.write(part)
                size += len(part)
        return False

    def first(self) -> int | None:
        """Return the input of the first run, for the caller to close; None: the terminal."""
        if self._ended:
            return self.again()
        reads, writes = os.pipe()
        self._pump = threading.Thread(target=self._pass_on, args=(writes,), daemon=True)
        self._pump.start()
        return reads

    def _pass_on(self, to: int) -> None:
        """Give the first run the copied input and what follows; copy what follows, too."""
        try:
            with self._copy.open("rb+") as copy, open(to, "wb", buffering=0) as out:
                while part := copy.read(_CHUNK):
                    out.write(part)
                while not self._stop.is_set():
                    if not select.select([self._source], [], [], 0.1)[0]:
                        continue
                    part = os.read(self._source, _CHUNK)
                    if not part:
                        return
                    self.too_long = self.too_long or copy.tell() + len(part) > _MOST
                    if not self.too_long:
                        copy.write(part)
                        copy.flush()
                    out.write(part)
        except OSError:  # the program has ended, or the copy has no room
            return

    def first_ended(self) -> None:
        """Stop the copy: the first run has ended."""
        self._stop.set()
        if self._pump is not None:
            self._pump.join()

    def again(self) -> int | None:
        """Return the whole input again, for another run to read and to close; None: the terminal.

        Do not call this if the input is ``too_long``.
        """
        if self._terminal:
            return None
        reads = os.open(self._copy, os.O_RDONLY)
        os.lseek(reads, self._begin, os.SEEK_SET)
        return reads
