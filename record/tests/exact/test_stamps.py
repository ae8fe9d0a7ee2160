# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact: the processor's time-stamp counter counts the machine's cycles."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import MACHINE, NEEDED, each_compiler, runs

from model.machines.presets import load_machine

pytestmark = NEEDED

stamps = each_compiler("stamps.c")
CYCLES = 20000


def test_the_counter_is_the_machines(
    stamps: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    outputs = set()
    for name in ("first", "again"):
        (tmp_path / name).mkdir()
        assert runs(stamps, tmp_path / name, "rate").status == 0
        outputs.add(capfd.readouterr().out)
    assert len(outputs) == 1  # the host's counter would differ
    # The loop ends within a tenth after the time has passed.
    expected = CYCLES / load_machine(MACHINE).clock_ghz
    assert expected <= float(outputs.pop()) <= expected * 1.1


@pytest.mark.parametrize(("kind", "output"), [("illegal", "1 7\n"), ("others", "1 1 7 1 1\n")])
def test_the_signal_stays_the_programs(
    stamps: Path, kind: str, output: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Illegal instructions, handlers, masks, children and destructors work as natively."""
    done = runs(stamps, tmp_path, kind)
    assert (done.status, capfd.readouterr().out) == (0, output)


def test_a_trap_ends_the_program(stamps: Path, tmp_path: Path) -> None:
    done = runs(stamps, tmp_path, "trap")
    assert (done.status, done.signal) == (132, "SIGILL")
