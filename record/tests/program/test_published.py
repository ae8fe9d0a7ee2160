# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Programs in the kind of published cases: what is found, and what the published change gains."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from recording import MACHINE, PROGRAMS, Report, hottest, needs, quiet, record

from common.paths import ROOT

HERE = ROOT / "record/tests/program/published"
CXX = ("g++", "-std=c++17", "-g", "-O2", "-pthread", f"-I{ROOT / 'kernel/guest'}")


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize(
    ("name", "count", "found"),
    [("linear_regression", "5000", "heap: main"), ("spinlock_pool", "500", "pool")],
)
@needs(PROGRAMS / "record-known")
def test_published_case(name: str, count: str, found: str, tmp_path: Path) -> None:
    """The hottest line is the published one, and its own lines gain what the advice predicts."""
    for more, to in ((), "before"), (("-DAPART",), "after"):
        made = [*CXX, *more, HERE / f"{name}.cc", "-o", tmp_path / to]
        subprocess.run(made, check=True)

    def recorded(which: str) -> Report:
        return record("--", str(tmp_path / which), "8", count)

    def contended(report: Report) -> bool:
        return found in hottest(report)["object"] and hottest(report)["sharing"] == "false"

    before = quiet(lambda: recorded("before"), contended)
    after = quiet(lambda: recorded("after"), lambda report: not contended(report))
    predicted = before["advice"][0]["machines"][MACHINE]["fewer"]
    cycles = [report["variants"][0]["work_cycles"] for report in (before, after)]
    assert abs(predicted - (1 - cycles[1] / cycles[0])) < 0.1
