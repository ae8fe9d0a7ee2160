# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Locals of functions that start threads have names, however a compiler describes their places.

The tests use both recorders. The first of ``words`` is "exact" for the exact one.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import running
from recording import MACHINE, PROGRAMS, Report, hitm_of, needs, quiet, run

pytestmark = needs(PROGRAMS / "record-known")

SOURCE = """
#include <pthread.h>

static pthread_barrier_t ready;

static void *work(void *at)
{
	pthread_barrier_wait(&ready);
	for (int i = 0; i < 30000; i++)
		__atomic_fetch_add((long *)at, 1, __ATOMIC_RELAXED);
	return 0;
}

static __attribute__((noinline)) long count(void)
{
	struct counts {
		long alpha, beta;
	} __attribute__((aligned(64))) local = { 0, 0 };
	pthread_t thread[2];

	pthread_barrier_init(&ready, 0, 2);
	pthread_create(&thread[0], 0, work, &local.alpha);
	pthread_create(&thread[1], 0, work, &local.beta);
	pthread_join(thread[0], 0);
	pthread_join(thread[1], 0);
	return local.alpha + local.beta;
}

int main(void)
{
	return count() != 60000;
}
"""


def compiled(folder: Path, words: tuple[str, ...]) -> Path:
    """The program, with its debug information in this folder."""
    source, program = folder / "locals.c", folder / "locals"
    source.write_text(SOURCE)
    if words[0] == "exact":
        return running.compiled(program, words[1], str(source))
    command = [*words, "-g", "-pthread", source.name, "-o", program.name]
    subprocess.run(command, check=True, cwd=folder)
    return program


def reported(program: Path) -> Report:
    """The report of a run in which the threads met."""

    def make() -> Report:
        done = run(
            *("record", "--machine", MACHINE, "--json", "--uncertainty", "0", "--", str(program))
        )
        assert done.returncode == 0, done.stderr
        report: Report = json.loads(done.stdout)
        return report

    return quiet(make, lambda report: hitm_of(report["variants"][0]["lines"][0]) > 10000)


@pytest.mark.parametrize(
    "words",
    [
        ("gcc", "-O2"),
        ("gcc", "-O0"),
        ("clang", "-O2"),
        ("clang", "-O2", "-fno-omit-frame-pointer", "-gdwarf-4"),
        ("gcc", "-O2", "-gsplit-dwarf"),
        ("clang", "-O2", "-gsplit-dwarf"),
        *(("exact", compiler) for compiler in running.COMPILERS),
    ],
    ids=" ".join,
)
def test_a_local_of_the_function_that_starts_the_threads(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    if words[0] != "exact" and shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]}")
    program = compiled(tmp_path, words)
    exact = words[0] == "exact"
    report = json.loads(running.record(program).stdout) if exact else reported(program)
    hottest = report["variants"][0]["lines"][0]
    assert hottest["object"] == "count::local"
    assert hottest["type"] == "struct counts"
    fields = {access["field"] for access in hottest["accesses"] if access["records"] > 100}
    assert fields == {"count::local.alpha", "count::local.beta"}
    if exact:
        return
    assert "counts.alpha" in report["advice"][0]["words"]
    assert report["advice"][0]["machines"][MACHINE]["fewer"] > 0.3


def test_split_units_that_are_gone(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("gcc", "-O2", "-gsplit-dwarf"))
    for split in tmp_path.glob("*.dwo"):
        split.unlink()
    report = reported(program)
    assert report["variants"][0]["lines"][0]["object"] == "frame of count"
    assert any(str(program) in note for note in report["notes"])
