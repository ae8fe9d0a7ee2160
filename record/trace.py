# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes the files of a recording: the trace, and the file of names beside it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from common.errors import UserError, telling
from common.output import replacing
from record.watch import one_line


def names_path(trace: Path) -> Path:
    """Return the path of the file with a trace's names."""
    return trace.with_name(f"{trace.name}.names.json")


@contextlib.contextmanager
def new_trace(trace: Path, keep: bool) -> Iterator[Path]:
    """Yield a path to record to; with ``keep`` it replaces ``trace`` at the end, without names.

    A recording that ends early must not be left beside the names of the previous one.
    """
    if keep:
        one_line(trace)
    with replacing(trace) if keep else contextlib.nullcontext(trace) as new:
        yield new
        if not new.exists():
            why = "nothing is kept" if keep else "is the disk full?"
            raise UserError(f"cannot write all of {trace}: {why}", status=1)
        if keep:
            with telling(f"cannot write {names_path(trace)}"):
                names_path(trace).unlink(missing_ok=True)
