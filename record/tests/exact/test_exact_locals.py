# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact: names of locals of functions that start threads, and of thread-local data."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from running import COMPILERS, NEEDED, compiled, record

pytestmark = NEEDED

SOURCE = """
#include <pthread.h>

static void *work(void *at)
{
	for (int i = 0; i < 500; i++)
		__atomic_fetch_add((long *)at, 1, __ATOMIC_RELAXED);
	return 0;
}

int main(void)
{
	struct counts {
		long alpha, beta;
	} __attribute__((aligned(64))) local = { 0, 0 };
	pthread_t first, second;

	pthread_create(&first, 0, work, &local.alpha);
	pthread_create(&second, 0, work, &local.beta);
	pthread_join(first, 0);
	pthread_join(second, 0);
	return local.alpha + local.beta != 1000;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_local_of_main_has_its_name(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "local.c"
    source.write_text(SOURCE)
    done = record(compiled(tmp_path / "local", compiler, str(source)))
    assert done.returncode == 0, done.stderr
    line = json.loads(done.stdout)["variants"][0]["lines"][0]
    assert (line["object"], line["offset"]) == ("main::local", 0)
    fields = {each["field"] for each in line["accesses"] if each["kind"] == "rmw"}
    assert fields == {"main::local.alpha", "main::local.beta"}


OWN = """
#include <pthread.h>

static _Thread_local struct counts {
	long alpha, beta;
} own __attribute__((aligned(64)));
static struct counts *of[2];
static pthread_barrier_t ready;

static void *work(void *at)
{
	if (at)
		of[1] = &own;
	pthread_barrier_wait(&ready);
	for (int i = 0; i < 500; i++)
		__atomic_fetch_add(&of[i % 2]->beta, 1, __ATOMIC_RELAXED);
	pthread_barrier_wait(&ready);
	return 0;
}

int main(void)
{
	pthread_t first, second;

	of[0] = &own;
	pthread_barrier_init(&ready, 0, 2);
	pthread_create(&first, 0, work, 0);
	pthread_create(&second, 0, work, &ready);
	pthread_join(first, 0);
	pthread_join(second, 0);
	return of[0]->beta != 500;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_thread_local_variables_have_their_names(compiler: str, tmp_path: Path) -> None:
    """Regression: they were addresses."""
    source = tmp_path / "own.c"
    source.write_text(OWN)
    done = record(compiled(tmp_path / "own", compiler, str(source)))
    assert done.returncode == 0, done.stderr
    lines = json.loads(done.stdout)["variants"][0]["lines"]
    found = {line["object"]: line for line in lines}
    for thread in (0, 2):
        line = found[f"own of thread {thread}"]
        assert line["type"] == "struct counts"
        assert {each["field"] for each in line["accesses"] if each["records"] > 400} == {"own.beta"}


# A library is loaded late by the program, or early by a constructor of another library. The program
# is stripped: a symbol would tell its data.
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
    """Regression: all that lies between that part and a thread's pointer was thread-local."""
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
    assert (line["object"], line["kind"]) == ("late", "file")
