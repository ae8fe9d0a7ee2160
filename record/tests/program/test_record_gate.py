# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A gate works on programs in the emulator, although their runs differ."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from recording import MACHINE, PROGRAMS, needs, run

pytestmark = needs(PROGRAMS / "record-known")

KNOWN = str(PROGRAMS / "record-known")
# Threads that pass messages on: the ring's lines move however the threads overlap.
RING = (KNOWN, "ring", "2", "500", "0")
APART = (KNOWN, "apart", "2", "500", "400")


def gated(*words: str) -> subprocess.CompletedProcess[str]:
    return run("record", "--machine", MACHINE, "--marks", "--no-advice", *words)


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The baseline of two runs whose counters have a line each."""
    path = tmp_path_factory.mktemp("gate") / "base.json"
    words = ("--baseline", str(path), "--update-baseline", "--runs", "2", "--", *APART)
    done = gated(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("apart: right") == 2
    return path


def test_lines_that_appear_close_the_gate(baseline: Path) -> None:
    done = gated("--baseline", str(baseline), "--runs", "2", "--fail-above", "50%", "--", *RING)
    assert done.returncode == 4
    assert done.stderr.splitlines()[-1].startswith("gate: failed: ")
    assert "appeared" in done.stderr.splitlines()[-1]


def test_another_recorder_is_refused_before_the_program_runs(
    baseline: Path, tmp_path: Path
) -> None:
    report = json.loads(baseline.read_text(encoding="utf-8"))
    other = tmp_path / "base.json"
    other.write_text(json.dumps({**report, "recorder": "exact"}), encoding="utf-8")
    done = gated("--baseline", str(other), "--", *RING)
    assert (done.returncode, done.stdout) == (2, "")
    assert "was recorded with the exact recorder, this report with the emul" in done.stderr


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_the_first_run_that_fails_is_the_last(baseline: Path) -> None:
    words = ("--baseline", str(baseline), "--runs", "3", "--", "sh", "-c", "echo once; exit 4")
    done = run("record", "--machine", MACHINE, "--no-advice", *words)
    assert (done.returncode, done.stdout) == (4, "once\n")
    message = "gate: not judged: the program ended with status 4"
    assert done.stderr.splitlines()[-1] == message
