// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * neighbours HOW: different threads use words of one line; with -DAPART each word has its own line.
 * "polls": one thread reads what nobody writes, and another one writes beside it. "computes": all
 * threads read a flag in a loop, and now and then add to the sum beside it. "rows": each thread
 * adds to its own elements of a long array.
 */
#include <stdint.h>
#include <string.h>

#include "helping.h"

#ifdef APART
#define OWN __attribute__((aligned(64)))
#else
#define OWN
#endif

enum { THREADS = 8, LINES = 64 };

struct cell {
	OWN long hits;
};

static struct {
	long sum;
	OWN int stop;
} shared __attribute__((aligned(64)));
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

int main(int argc, char **argv)
{
	int polls = argc > 1 && !strcmp(argv[1], "polls");
	int rows = argc > 1 && !strcmp(argv[1], "rows");
	pthread_t made[THREADS];

	for (long i = 0; i < (polls ? 2 : THREADS); i++)
		made[i] = start(polls ? i ? writes : reads : rows ? adds : computes, (void *)i);
	for (int i = 0; i < (polls ? 2 : THREADS); i++)
		pthread_join(made[i], NULL);
	puts("done");
	return 0;
}
