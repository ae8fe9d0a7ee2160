# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A real program, ported to the library: fetched, changed, built, and recorded before and after."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from recording import MACHINE, PROGRAMS, Report, needs, run

from common.paths import ROOT, build_dir

LIBRARY = build_dir() / "lib" / "libschedshard.a"
RUST = (1, 79)  # the port's own source
CHANGED = 5  # lines of the crate


def newest(command: str) -> tuple[int, ...]:
    """Return the version of a tool; empty if the tool is missing."""
    if not shutil.which(command):
        return ()
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"(\d+)\.(\d+)", said.stdout)
    return tuple(map(int, found.groups())) if found else ()


def ported(crate: Path, folder: Path) -> str:
    """Port and build; return what the script says on standard error."""
    if newest("rustc") < RUST or not shutil.which("cargo"):
        pytest.skip("needs cargo and Rust 1.79")
    if not LIBRARY.is_file():
        pytest.skip("needs the static library")
    done = subprocess.run(
        [sys.executable, crate / "ports/port.py", folder],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SCHEDSHARD_LIB_DIR": str(LIBRARY.parent)},
    )
    if done.returncode and not (folder / "vendor" / "async-executor").is_dir():
        pytest.skip("cargo cannot fetch the crate")
    assert done.returncode == 0, done.stderr
    assert f"{CHANGED} lines of the crate changed" in done.stdout
    return done.stderr


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both programs, of the locked versions."""
    folder = tmp_path_factory.mktemp("port")
    ported(ROOT / "rust", folder)
    locked = ROOT / "rust/ports/async-executor/Cargo.lock"
    assert (folder / "before/Cargo.lock").read_bytes() == locked.read_bytes()
    return folder


def recorded(program: Path) -> Report:
    """The report of four threads that spawn 100 tasks each."""
    spawn = ("--", str(program), "4", "100", "10")
    options = ("--machine", MACHINE, "--json", "--uncertainty", "0", "--lines", "100")
    done = run("record", *options, *spawn)
    assert done.returncode == 0, done.stderr
    report: Report = json.loads(done.stdout[done.stdout.index("{") :])
    return report


def locked_by_tasks(report: Report) -> bool:
    """Return whether threads that spawn a task meet at the executor's own lock."""
    return any(
        "alloc_state" in line["object"] and "Mutex::lock" in at and "Executor::spawn" in at
        for variant in report["variants"]
        for line in variant["lines"]
        for at in (str(place) for place in line["accesses"])
    )


@pytest.mark.slow(reason="fetches and builds a crate, and records it twice")
@needs(PROGRAMS / "record-known")
def test_an_executor_without_its_lock(programs: Path) -> None:
    """All tasks are done, and the lock that all threads took is gone."""
    assert locked_by_tasks(recorded(programs / "before" / "spawn"))
    assert not locked_by_tasks(recorded(programs / "after" / "spawn"))


@pytest.mark.slow(reason="fetches and builds the crate again")
@needs(PROGRAMS / "record-known")
def test_a_version_that_is_gone(programs: Path, tmp_path: Path) -> None:
    """Cargo takes another version of a dependency that is gone, and the script says so."""
    crate = tmp_path / "rust"
    shutil.copytree(ROOT / "rust", crate, ignore=shutil.ignore_patterns("target"))
    lock = crate / "ports/async-executor/Cargo.lock"
    text = lock.read_text(encoding="utf-8")
    gone = re.sub(r'(name = "futures-lite"\nversion = ")[^"]*', r"\g<1>2.999.0", text)
    assert gone != text
    lock.write_text(gone, encoding="utf-8")
    said = ported(crate, tmp_path / "made")
    assert "not all versions of Cargo.lock" in said
    assert (tmp_path / "made/after/spawn").is_file()


@pytest.mark.slow(reason="needs the crate as well")
def test_more_tasks_than_slots(programs: Path) -> None:
    """The slots grow while other tasks end: each thread has 10,000 tasks at once."""
    done = subprocess.run(
        [programs / "after" / "spawn", "3", "30000", "10000"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0
