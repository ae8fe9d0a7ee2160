# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A short run of the fuzz target of the latency table reader, from the committed corpus."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"
RUNS = 8000


@pytest.mark.slow(reason="the fuzzer runs")
def test_short_fuzz_run(tmp_path: Path) -> None:
    corpus = FUZZ / "csv"
    assert len(list(corpus.iterdir())) >= 10
    found = tmp_path / "corpus"
    found.mkdir()
    done = subprocess.run(
        [
            sys.executable,
            FUZZ / "fuzz_csv.py",
            f"-runs={RUNS}",
            "-seed=1",
            "-max_len=2048",
            f"-artifact_prefix={tmp_path}/",
            found,
            corpus,
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"Done {RUNS} runs" in done.stderr
