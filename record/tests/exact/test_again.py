# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact: further runs end as the first one does, in any folder, or a note says why."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from running import MACHINE, NEEDED, call, one_compiler, record

pytestmark = NEEDED


again = one_compiler("again.c")


def test_runs_in_each_others_way_leave_the_first_ones_report(again: Path, tmp_path: Path) -> None:
    done = call(
        *("record", "--exact", "--machine", MACHINE, "--json", "--", str(again)),
        str(tmp_path / "made"),
    )
    report = json.loads(done.stdout)
    assert (done.returncode, report["advice"], len(report["variants"])) == (0, [], 1)
    [note] = [note for note in report["notes"] if "the first run" in note]
    assert "with status 3, but the first run ended with status 0" in note
    assert note.endswith("so there is no advice")


@pytest.mark.parametrize("name", ["with space", "two\nlines", "with,comma"])
def test_a_folder_of_any_name_gives_the_same_run(again: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / name / again.name
    copy.parent.mkdir()
    shutil.copy(again, copy)
    made, reports = tmp_path / "made", []
    for program in (again, copy):
        reports.append(json.loads(record(program, str(made)).stdout))
        made.unlink()
    assert reports[0]["recording"]["instructions"] > 0
    assert reports[0] == reports[1]


def test_a_gate_is_closed_if_another_run_failed(again: Path, tmp_path: Path) -> None:
    """The second machine's run finds FILE (again.c) and fails: the gate has nothing to compare."""
    made, saved = tmp_path / "made", tmp_path / "saved.json"
    usual = ("record", "--exact", "--machine", MACHINE, "--cpus", "16", "--no-advice")
    done = call(*usual, "--out", str(saved), "--", str(again), str(made))
    assert done.returncode == 0
    made.unlink()
    gate = ("--machine", "xeon-8358-2s", "--baseline", str(saved), "--fail-above", "5%")
    done = call(*usual, *gate, "--", str(again), str(made))
    assert (done.returncode, "gate: not judged: on xeon-8358-2s, " in done.stderr) == (1, True)
    assert "gate: passed" not in done.stderr


def test_a_deadlock_of_another_order_is_reported(again: Path) -> None:
    """A quarter of all orders deadlock: some of 20 do, and for some seed the first one does not."""
    for first in range(1, 20):
        done = call(
            *("record", "--exact", "--machine", MACHINE, "--cpus", "16", "--json"),
            *("--no-advice", "--seeds", "20", "--seed", str(first), "--", str(again)),
        )
        if done.stdout:
            break
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert report["program"]["status"] == 0
    assert report["program"]["stopped"].startswith("with seed ")
    [note] = [note for note in report["notes"] if "one run" in note]
    assert "the only thread waits: deadlock: 1 in pthread_mutex_lock at " in note
