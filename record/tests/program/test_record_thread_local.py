# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Thread-local variables have names, those of the first thread and of libraries as well.

The tests use both recorders. The first of ``words`` is "exact" for the exact one.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import running
from recording import PROGRAMS, Report, hitm_of, needs, quiet, record_to

pytestmark = needs(PROGRAMS / "record-known")

# Two threads write a variable of the first one's, and a library's variable of the second one's.
SOURCE = """
#include <pthread.h>

struct score {
	long other, hits;
};
#ifdef LIBRARY
_Thread_local struct score lent __attribute__((aligned(64)));
long *lend(void) { return &lent.hits; }
#endif
#ifndef PROGRAM
#define PROGRAM 1
#endif
#if PROGRAM
long *lend(void);
static _Thread_local struct score own __attribute__((aligned(64)));
static _Thread_local char before[40];
static pthread_barrier_t ready;
static long *first, *second;

static void *work(void *number)
{
	before[0]++;
	if (number)
		second = lend();
	pthread_barrier_wait(&ready);
	for (int i = 0; i < 20000; i++) {
		__atomic_fetch_add(first, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(second, 1, __ATOMIC_RELAXED);
	}
	pthread_barrier_wait(&ready);
	return 0;
}

int main(void)
{
	pthread_t thread[2];

	first = &own.hits;
	pthread_barrier_init(&ready, 0, 2);
	pthread_create(&thread[0], 0, work, 0);
	pthread_create(&thread[1], 0, work, &ready);
	pthread_join(thread[0], 0);
	pthread_join(thread[1], 0);
	return *first != 40000;
}
#endif
"""


@pytest.mark.parametrize(
    "words",
    [
        ("gcc", "-O2"),
        ("gcc", "-O2", "-static", "-DLIBRARY"),
        ("clang", "-O2"),
        ("clang", "-O2", "-gsplit-dwarf"),
        *(("exact", compiler) for compiler in running.COMPILERS),
    ],
    ids=" ".join,
)
def test_a_thread_local_variable(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Regression: the report called the variable mapped memory, or gave it no name."""
    exact = words[0] == "exact"
    if not exact and shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]}")
    for name in ("own.c", "lent.c"):
        (tmp_path / name).write_text(SOURCE, encoding="utf-8")
    usual = (*words, "-g", "-pthread")
    library: tuple[str, ...] = ()
    if exact:
        running.compiled(tmp_path / "own", words[1], "-DLIBRARY", str(tmp_path / "own.c"))
    elif "-static" not in words:
        library = ("-L.", "-llent", f"-Wl,-rpath,{tmp_path}")
        shared = ("-DLIBRARY", "-DPROGRAM=0", "-shared", "-fPIC", "-o", "liblent.so")
        subprocess.run([*usual, "lent.c", *shared], check=True, cwd=tmp_path)
    if not exact:
        subprocess.run([*usual, "own.c", *library, "-o", "own"], check=True, cwd=tmp_path)

    def holds(report: Report) -> bool:
        lines = report["variants"][0]["lines"][:2]
        if min(map(hitm_of, lines)) < 1000:
            return False
        names = {line["object"]: line["accesses"][0]["field"] for line in lines}
        assert names.pop("own of thread 0") == "own.hits"
        # Threads are numbered in the order in which they begin.
        assert names in ({f"lent of thread {number}": "lent.hits"} for number in (1, 2))
        assert {line["type"] for line in lines} == {"struct score"}
        assert {line["kind"] for line in lines} == {"variable"}
        return True

    if exact:
        assert holds(json.loads(running.record(tmp_path / "own").stdout))
        return
    quiet(lambda: record_to(tmp_path / "out.json", tmp_path / "own")[1], holds)
