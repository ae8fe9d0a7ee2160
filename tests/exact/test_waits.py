# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""c2c record --exact: what waits for the world lets others run, and nothing hangs."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from running import COMPILERS, HERE, NEEDED, compiled, runs

pytestmark = NEEDED


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program whose first thread waits in calls of the kernel."""
    into = tmp_path_factory.mktemp("outside") / "outside"
    return compiled(into, COMPILERS[0], str(HERE / "outside.c"))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("select", "0 1 1"), ("socket-receive", "1 1 x"), ("socket-full", "300000 1"),
        ("pipe-full", "300000 1"), ("lock", "0"), ("connect", "0 0 0 "), ("child", "7"),
    ],
)  # fmt: skip
def test_a_call_that_waits_lets_others_run(
    outside: Path, kind: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What the first thread waits for, another one does later: it would hang otherwise."""
    done = runs(outside, tmp_path, kind)
    assert (done.status, capfd.readouterr().out) == (0, f"{said}\n")
    assert done.raw["stepping"]["waited_outside"] >= 1


@pytest.fixture(scope="module")
def within(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program whose first thread waits inside of the C library."""
    into = tmp_path_factory.mktemp("within") / "within"
    return compiled(into, COMPILERS[0], str(HERE / "within.c"))


@pytest.mark.skipif(
    tuple(map(int, re.findall(r"\d+", platform.release())[:2])) < (5, 11),
    reason="needs the kernel's dispatch of system calls",
)
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("stdio", "2 0"), ("stdio-lock", "1"), ("stdio-full", "15750000"), ("system", "5 yes 0"),
        ("signal", "1 1"), ("syscall", "1"), ("named-pipe", "1"), ("message", "abc"),
        ("semaphore", "0"),
    ],
)  # fmt: skip
def test_a_wait_inside_of_the_c_library_lets_others_run(
    within: Path, kind: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Stdio and its locks, system(), signals, syscall(), System V: they would hang otherwise."""
    done = runs(within, tmp_path, kind)
    assert (done.status, capfd.readouterr().out) == (0, f"{said}\n")
    assert done.raw["stepping"]["waited_outside"] >= 1
