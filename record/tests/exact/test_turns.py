# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact: code without instrumentation that loops lets other threads run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from running import COMPILERS, HERE, NEEDED, compiled, record

from common.paths import ROOT, build_dir

pytestmark = NEEDED


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, with a library that was compiled without instrumentation."""
    folder = tmp_path_factory.mktemp("turns")
    library, source = folder / "libturns.so", str(HERE / "turns.c")
    words = ["-O2", "-shared", "-fPIC", "-DLIBRARY", source, "-o", str(library)]
    subprocess.run([COMPILERS[0], *words], check=True)
    path = ("-L", str(folder), "-lturns", f"-Wl,-rpath,{folder}")
    return compiled(folder / "turns", COMPILERS[0], source, *path)


@pytest.mark.parametrize(
    ("kind", "output", "place"),
    [
        ("rounds", "12", "await (libturns.so)"), ("blocked", "12", "await (libturns.so)"),
        ("assembly", "1", "in_assembly (record/tests/exact/turns.c:"),
    ],
)  # fmt: skip
def test_a_loop_of_other_code_lets_others_run(
    turns: Path, kind: str, output: str, place: str
) -> None:
    """The loops are in a library, in a library with all signals blocked, and in assembly."""
    done = record(turns, kind)
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, output)
    (note,) = [note for note in json.loads(done.stdout)["notes"] if "interrupted" in note]
    assert place in note


@pytest.mark.slow(reason="a loop that counts looks like work: ten seconds of CPU time")
@pytest.mark.parametrize(("kind", "output"), [("counted", "1"), ("memory", "1 1")])
def test_a_loop_that_counts_is_not_endless(turns: Path, kind: str, output: str) -> None:
    """One loop counts in a register until a store ends it; one counts on the stack for 8 CPU s."""
    done = record(turns, kind)
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, output)


def test_work_of_other_code_is_not_interrupted(turns: Path) -> None:
    """A call may compute for three CPU seconds; a loop that waits is interrupted earlier."""
    done = record(turns, "work")
    assert done.returncode == 0
    assert done.stderr.splitlines()[0].endswith(" 1")
    assert not any("interrupted" in note for note in json.loads(done.stdout)["notes"])


def test_a_loop_of_other_code_that_nobody_can_end_is_stopped(turns: Path) -> None:
    done = record(turns, "endless")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no thread can end its loop, because none can store: " in done.stderr
    assert "thread 2: a loop at libturns.so (await) without instrumentation" in done.stderr
    assert "1 wait: 1 in pthread_join at record/tests/exact/turns.c:" in done.stderr


def test_a_program_that_becomes_another_keeps_its_exit_status(tmp_path: Path) -> None:
    source = tmp_path / "becomes.c"
    source.write_text(
        "#include <unistd.h>\nint main(void)\n"
        '{\n\treturn execl("/bin/sh", "sh", "-c", "exit 11", NULL);\n}\n',
        encoding="ascii",
    )
    done = record(compiled(tmp_path / "becomes", COMPILERS[0], str(source)))
    assert (done.returncode, done.stdout) == (11, "")
    assert "becomes ended with status 11 and recorded nothing" in done.stderr


def test_a_program_that_calls_our_own_library(tmp_path: Path) -> None:
    """The library's headers tell the sanitizer's runtime what claims and puts order."""
    built = build_dir() / "lib"
    words = (str(ROOT / "docs/examples/first_pool.c"), str(built / "libschedshard.a"))
    pool = compiled(tmp_path / "pool", COMPILERS[0], "-I", str(built / "public"), *words)
    done = record(pool)
    assert done.returncode == 0
    assert "10000 of 10000 jobs ran once" in done.stderr
