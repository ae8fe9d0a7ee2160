// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * neighbours HOW: different threads use words of one line; with -DAPART each word has its own line.
 * "polls": one thread reads what nobody writes, and another one writes beside it. "computes": all
 * threads read a flag in a loop, and now and then add to the sum beside it. "rows": each thread
 * adds to its own elements of a long array. "slots": each thread counts in its own element, and
 * reads the next thread's flag. "ring": two threads pass numbers, which lie behind both indices.
 */
#include <stdint.h>
#include <string.h>

#include "helping.h"

#ifdef APART
#define OWN __attribute__((aligned(64)))
#else
#define OWN
#endif

enum { THREADS = 8, LINES = 64, ROOM = 64 };

struct cell {
	OWN long hits;
};

static struct {
	long sum;
	OWN int stop;
} shared __attribute__((aligned(64)));
static struct slot {
	long done;
	OWN int asked;
} slots[THREADS] __attribute__((aligned(64)));
static struct ring {
	long in;
	OWN long out;
	OWN long number[ROOM];
} ring __attribute__((aligned(64)));
static struct cell cells[THREADS * LINES] __attribute__((aligned(64)));

static void *reads(void *arg)
{
	for (int i = 0; i < 20000; i++)
		if (__atomic_load_n(&shared.stop, __ATOMIC_ACQUIRE))
			break;
	return arg;
}

static void *writes(void *arg)
{
	for (int i = 0; i < 20000; i++)
		__atomic_store_n(&shared.sum, i, __ATOMIC_RELEASE);
	return arg;
}

static void *computes(void *arg)
{
	uint64_t state = (uintptr_t)arg + 1;

	for (int i = 0; i < 50; i++) {
		for (int n = 0; n < 200 && !__atomic_load_n(&shared.stop, __ATOMIC_RELAXED); n++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
		}
		__atomic_fetch_add(&shared.sum, 1, __ATOMIC_RELAXED);
	}
	return (void *)(uintptr_t)state;
}

static void *adds(void *arg)
{
	for (int i = 0; i < 10; i++)
		for (int n = 0; n < LINES; n++)
			__atomic_fetch_add(&cells[n * THREADS + (intptr_t)arg].hits, 1,
					   __ATOMIC_RELAXED);
	return arg;
}

static void *counts(void *arg)
{
	long me = (intptr_t)arg, asked = 0;

	for (int i = 0; i < 2000; i++) {
		__atomic_store_n(&slots[me].done, i, __ATOMIC_RELEASE);
		asked += __atomic_load_n(&slots[(me + 1) % THREADS].asked, __ATOMIC_ACQUIRE);
		if (i % 64 == 0)
			__atomic_store_n(&slots[me].asked, i, __ATOMIC_RELEASE);
	}
	return (void *)asked;
}

static void *passes(void *takes)
{
	long *from = takes ? &ring.in : &ring.out, *to = takes ? &ring.out : &ring.in;

	for (long i = 0; i < 3000; i++) {
		while (__atomic_load_n(from, __ATOMIC_ACQUIRE) <= i - (takes ? 0 : ROOM))
			;
		for (volatile int n = 0; !takes && n < 20; n++)
			;
		if (!takes)
			ring.number[i % ROOM] = i;
		else if (ring.number[i % ROOM] != i)
			exit(1);
		__atomic_store_n(to, i + 1, __ATOMIC_RELEASE);
	}
	return takes;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int polls = !strcmp(how, "polls"), pair = polls || !strcmp(how, "ring");
	int threads = pair ? 2 : THREADS;
	void *(*work)(void *) = polls			? reads
				: pair			? passes
				: !strcmp(how, "rows")	? adds
				: !strcmp(how, "slots") ? counts
							: computes;
	pthread_t made[THREADS];

	for (long i = 0; i < threads; i++)
		made[i] = start(polls && i ? writes : work, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(made[i], NULL);
	puts("done");
	return 0;
}
