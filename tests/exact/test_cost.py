# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""bench record: the program compiled for the exact recorder and for libtsan says the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from running import COMPILERS, NEEDED

from record.program.cost import CostRequest, commands, compiled

pytestmark = [NEEDED, pytest.mark.skipif(not COMPILERS, reason="needs a compiler")]


def test_bench_record_runs_the_same_program_with_each_runtime(tmp_path: Path) -> None:
    request = CostRequest(threads=3, rounds=2, machine="epyc-7763-2s")
    found = commands(request, 2, tmp_path / "trace", compiled(tmp_path))
    # The machine has 256 CPUs, so there is no run on 384.
    names = {name for name in found if name.startswith("exact")}
    assert names == {"exact, 16 CPUs", "exact, 128 CPUs"}
    said = {
        name: subprocess.run(words, capture_output=True, timeout=240, check=True).stdout
        for name, words in found.items()
        if name in {*names, "native", "libtsan"}
    }
    assert len(said) == 4
    assert len(set(said.values())) == 1
    assert said["native"]
