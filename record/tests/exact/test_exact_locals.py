# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact: thread-local data of a library loaded late gives no other data its name."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from running import COMPILERS, NEEDED, compiled, record

pytestmark = NEEDED

# A library is loaded late by the program, or early by a constructor of another library. The program
# is stripped, because a symbol would name its data.
LATE = """
#include <dlfcn.h>
#include <pthread.h>

#if LIBRARY
static __thread long mine[8];
void touch(void) { mine[0]++; }
#elif EARLY
__attribute__((constructor)) static void load(void)
{
	((void (*)(void))dlsym(dlopen("./late.so", RTLD_NOW), "touch"))();
}
#else
long shared __attribute__((aligned(64)));
static void *work(void *unused)
{
	for (int i = 0; i < 500; i++)
		__atomic_fetch_add(&shared, 1, __ATOMIC_RELAXED);
	return unused;
}
int main(void)
{
	pthread_t first, second;

#if LOADS
	((void (*)(void))dlsym(dlopen("./late.so", RTLD_NOW), "touch"))();
#endif
	pthread_create(&first, 0, work, 0);
	pthread_create(&second, 0, work, 0);
	pthread_join(first, 0);
	pthread_join(second, 0);
	return shared != 1000;
}
#endif
"""


@pytest.mark.parametrize("early", [False, True])
def test_a_librarys_part_in_the_heap_takes_no_names(
    early: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: all memory between that part and a thread's pointer counted as thread-local."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "late.c").write_text(LATE)
    shared = ("gcc", "-shared", "-fPIC", "late.c")
    subprocess.run([*shared, "-DLIBRARY", "-o", "late.so"], check=True)
    subprocess.run([*shared, "-DEARLY", "-o", "early.so"], check=True)
    words = ("./early.so", "-Wl,--no-as-needed") if early else ("-DLOADS",)
    program = compiled(tmp_path / "late", COMPILERS[0], "-s", "late.c", *reversed(words))
    done = record(program)
    assert done.returncode == 0, done.stderr
    line = json.loads(done.stdout)["variants"][0]["lines"][0]
    assert (line["object"], line["kind"]) == ("late: .bss", "file")
