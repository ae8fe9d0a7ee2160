# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Short runs of doctor's fuzz targets; `make fuzz-long` has long ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parent / "fuzz"


@pytest.mark.slow(reason="the fuzzer runs")
@pytest.mark.parametrize(
    ("target", "runs"), [("archive", 3000), ("profile", 1500), ("cgroups", 800)]
)
def test_short_fuzz_run(tmp_path: Path, target: str, runs: int) -> None:
    found = tmp_path / "corpus"
    found.mkdir()
    limits = ["-seed=1", "-timeout=10", "-rss_limit_mb=512", f"-artifact_prefix={tmp_path}/"]
    done = subprocess.run(
        [sys.executable, FUZZ / "fuzz_doctor.py", target, f"-runs={runs}", *limits, found],
        capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"Done {runs} runs" in done.stderr
