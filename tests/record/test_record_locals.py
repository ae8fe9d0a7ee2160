# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Locals of functions that start threads have names, by each way that compilers tell places."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from recording import MACHINE, PROGRAMS, needs, run

pytestmark = needs(PROGRAMS / "record-known")

SOURCE = """
#include <pthread.h>

static void *work(void *at)
{
	for (int i = 0; i < 2000; i++)
		__atomic_fetch_add((long *)at, 1, __ATOMIC_RELAXED);
	return 0;
}

static __attribute__((noinline)) long count(void)
{
	struct counts {
		long alpha, beta;
	} __attribute__((aligned(64))) local = { 0, 0 };
	pthread_t thread[2];

	pthread_create(&thread[0], 0, work, &local.alpha);
	pthread_create(&thread[1], 0, work, &local.beta);
	pthread_join(thread[0], 0);
	pthread_join(thread[1], 0);
	return local.alpha + local.beta;
}

int main(void)
{
	return count() != 4000;
}
"""


@pytest.mark.parametrize(
    "words",
    [
        ("gcc", "-O2"),
        ("gcc", "-O0"),
        ("clang", "-O2"),
        ("clang", "-O2", "-fno-omit-frame-pointer", "-gdwarf-4"),
    ],
    ids=" ".join,
)
def test_a_local_of_the_function_that_starts_the_threads(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]}")
    source, program = tmp_path / "locals.c", tmp_path / "locals"
    source.write_text(SOURCE)
    subprocess.run([*words, "-g", "-pthread", str(source), "-o", str(program)], check=True)
    done = run(
        *("record", "--machine", MACHINE, "--json", "--uncertainty", "0", "--", str(program))
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    hottest = report["variants"][0]["lines"][0]
    assert hottest["object"] == "count::local"
    assert hottest["type"] == "struct counts"
    fields = {access["field"] for access in hottest["accesses"] if access["records"] > 100}
    assert fields == {"count::local.alpha", "count::local.beta"}
    assert "counts.alpha" in report["advice"][0]["words"]
    assert report["advice"][0]["machines"][MACHINE]["fewer"] > 0.3
