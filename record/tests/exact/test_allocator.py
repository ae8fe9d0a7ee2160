# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact models a program's own allocator like its other code."""

from __future__ import annotations

import json
from pathlib import Path

from running import NEEDED, each_compiler, record

pytestmark = NEEDED


# The program, which defines malloc().
allocator = each_compiler("allocator.c", "-fno-builtin")


def test_an_allocator_of_the_program_is_modelled(allocator: Path) -> None:
    """The allocator's lock is a contended line, and two reports are the same."""
    first, second = (record(allocator) for _ in range(2))
    assert (first.returncode, first.stdout) == (0, second.stdout)
    assert first.stderr.splitlines()[0] == "done"
    lines = json.loads(first.stdout)["variants"][0]["lines"]
    assert any(line["object"].startswith("lock") and line["hitm_share"] > 0 for line in lines)


def test_a_program_may_end_while_a_thread_allocates(allocator: Path) -> None:
    """The report needs memory too, and must not wait for the lock of the program's allocator."""
    done = record(allocator, "ends")
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, "done")
    assert json.loads(done.stdout)["variants"][0]["hitm_total"] > 0
