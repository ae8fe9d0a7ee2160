# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""c2c record: the place that allocated an object, where one function allocates for many."""

from __future__ import annotations

import subprocess
from pathlib import Path

from recording import Report, hitm_of, needs, quiet, record_to

from schedshard.common.paths import build_dir

recorded = needs(build_dir() / "record" / "libschedshard-record.so")

# All allocations of C++ are calls of one function of its library, at equal depths here.
NEW = r"""
#include <pthread.h>
#include <thread>
struct alpha { long one, two, three[14]; };
struct beta { char name[16]; long four, five; long more[12]; };
static alpha *a;
static beta *b;
static pthread_barrier_t ready;
static void upper()
{
	pthread_barrier_wait(&ready);
	for (int i = 0; i < 3000; i++)
		__atomic_fetch_add(&a->one, 1, 0);
	pthread_barrier_wait(&ready);
	for (int i = 0; i < 3000; i++)
		__atomic_fetch_add(&b->four, 1, 0);
}
static void lower()
{
	pthread_barrier_wait(&ready);
	for (int i = 0; i < 3000; i++)
		__atomic_fetch_add(&a->two, 1, 0);
	pthread_barrier_wait(&ready);
	for (int i = 0; i < 3000; i++)
		__atomic_fetch_add(&b->five, 1, 0);
}
int main()
{
	pthread_barrier_init(&ready, nullptr, 2);
	a = new alpha{};
	b = new beta{};
	std::thread one(upper), other(lower);
	one.join();
	other.join();
	return a->one != 3000;
}
"""


@recorded
def test_two_objects_that_one_function_makes_have_a_line_and_a_type_each(tmp_path: Path) -> None:
    """Both had the first one's line, and so no type."""
    (tmp_path / "p.cc").write_text(NEW, encoding="utf-8")
    words = ["g++", "-O2", "-g", "-pthread", str(tmp_path / "p.cc"), "-o", str(tmp_path / "p")]
    subprocess.run(words, check=True)

    def holds(report: Report) -> bool:
        lines = [line for line in report["variants"][0]["lines"] if hitm_of(line) > 1000]
        if len(lines) < 2:
            return False
        found = {(line["object"], line["type"]) for line in lines}
        assert found == {("heap: main (p.cc:30)", "alpha"), ("heap: main (p.cc:31)", "beta")}
        return True

    quiet(lambda: record_to(tmp_path / "out.json", tmp_path / "p")[1], holds)


# Frames that differ each time, and more of them than are followed.
FRAMES = r"""
#include <alloca.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline, noclone))
static unsigned long *word[2];
static pthread_barrier_t ready;
APART static void *make(void)
{
	return aligned_alloc(64, 64);
}
APART static void *some(int n)
{
	volatile char *space = alloca(16 + 48 * n);
	void *made;

	space[0] = (char)n;
	made = make();
	return space[0] == (char)n ? made : NULL;
}
APART static void *even(int n)
{
	_Alignas(64) volatile char space[64];
	void *made;

	space[0] = (char)n;
	made = make();
	return space[0] == (char)n ? made : NULL;
}
APART static void *deep(int n)
{
	return n ? deep(n - 1) : make();
}
static void *work(void *me)
{
	for (int of = 0; of < 2; of++) {
		pthread_barrier_wait(&ready);
		for (int i = 0; i < 3000; i++)
			__atomic_fetch_add(&word[of][(long)me], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}
int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < 200; i++) {
		free(some(i));
		free(even(i));
		free(deep(i));
	}
	word[0] = memset(some(77), 0, 64);
	word[1] = memset(even(77), 0, 64);
	pthread_barrier_init(&ready, NULL, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return word[0][0] + word[1][1] != 6000;
}
"""


@recorded
def test_frames_of_different_sizes_lead_to_the_right_callers(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(FRAMES, encoding="utf-8")
    words = ["gcc", "-O1", "-fno-optimize-sibling-calls", "-g", "-pthread", "p.c", "-o", "p"]
    subprocess.run(words, check=True, cwd=tmp_path)

    def holds(report: Report) -> bool:
        lines = [line for line in report["variants"][0]["lines"] if hitm_of(line) > 1000]
        if len(lines) < 2:
            return False
        ways = {tuple(f["function"] for f in line["allocated"][:3]) for line in lines}
        assert ways == {("make", "some", "main"), ("make", "even", "main")}
        return True

    quiet(lambda: record_to(tmp_path / "out.json", tmp_path / "p")[1], holds)
