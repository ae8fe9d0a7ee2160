# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Real programs are ported to the library, and run before and after."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from recording import run

from common.paths import ROOT, build_dir


def ported(name: str, folder: Path, *words: str) -> Path:
    """Fetch, port and build a program; return the folder with its versions."""
    if platform.machine() != "x86_64" or not (build_dir() / "lib/libschedshard.a").is_file():
        pytest.skip("needs the static library, and x86-64")
    argv = [sys.executable, str(ROOT / "lib/ports/port.py"), name, str(folder), str(build_dir())]
    done = subprocess.run([*argv, *words], capture_output=True, text=True, check=False)
    if done.returncode and not (folder / "before").is_file():
        pytest.skip(f"cannot be fetched or built here: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    return folder


def exactly(program: Path, *words: str) -> float:
    """The nanoseconds per round that a program prints on the simulated machine."""
    options = ("--exact", "--no-advice", "--machine", "epyc-9654-2s", "--json")
    done = run("record", *options, "--", str(program), *words)
    assert done.returncode == 0, done.stderr
    return float(done.stderr.split()[-1])


@pytest.mark.slow(reason="fetches and builds a crate")
def test_wasmtimes_pool_in_slots(tmp_path: Path) -> None:
    """No slot has two owners, and all are free at the end."""
    folder = ported("wasmtime", tmp_path)
    for name in ("before", "published", "after"):
        subprocess.run([folder / name, "8", "20000"], check=True, timeout=300)


@pytest.mark.skipif(
    os.environ.get("SCHEDSHARD_PORTS") != "1", reason="builds for minutes: 'make ports'"
)
def test_ports_on_a_large_machine(tmp_path: Path) -> None:
    """Slots do not become slower with more threads, and no wake-up of oneTBB's is lost."""
    folder = ported("wasmtime", tmp_path / "wasmtime", "exact")
    names = ("before", "published", "after")
    before, published, after = (exactly(folder / name, "32", "100") for name in names)
    assert before > 5 * published > 25 * after
    assert exactly(folder / "after", "96", "100") < 1.1 * after
    folder = ported("onetbb", tmp_path / "onetbb")
    for workers in ("2", "3", "16"):
        subprocess.run([folder / "after", workers, "20000"], check=True, timeout=300)
    folder = ported("onetbb", tmp_path / "exact", "exact")
    assert exactly(folder / "before", "96", "50") > 2 * exactly(folder / "after", "96", "50")
