// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * record-little THREADS ROUNDS: runs threads that share little. Each fills and sorts its own array,
 * ROUNDS times, and adds to one sum after each round.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ITEMS	4096u
#define THREADS 256u
#define LINE	64

struct mine {
	uint32_t item[ITEMS];
} __attribute__((aligned(LINE)));

static struct mine *all;
static unsigned long rounds;
static uint64_t sum __attribute__((aligned(LINE)));

/* Shell sort with halving gaps: loads and stores, and no calls. */
static void sort(uint32_t *item)
{
	for (uint32_t gap = ITEMS / 2; gap; gap /= 2) {
		for (uint32_t i = gap; i < ITEMS; i++) {
			uint32_t it = item[i], k = i;

			for (; k >= gap && item[k - gap] > it; k -= gap)
				item[k] = item[k - gap];
			item[k] = it;
		}
	}
}

static void *work(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg, seed = me + 1, *item = all[me].item;

	for (unsigned long round = 0; round < rounds; round++) {
		for (uint32_t i = 0; i < ITEMS; i++) {
			seed = seed * 1664525u + 1013904223u;
			item[i] = seed;
		}
		sort(item);
		__atomic_fetch_add(&sum, item[ITEMS / 2], __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	unsigned long nr;

	if (argc != 3)
		return 2;
	nr = strtoul(argv[1], NULL, 10);
	rounds = strtoul(argv[2], NULL, 10);
	all = aligned_alloc(LINE, sizeof(*all) * (nr ? nr : 1));
	if (!nr || nr > THREADS || !all)
		return 2;
	for (unsigned long i = 0; i < nr; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i))
			return 1;
	for (unsigned long i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
	printf("%llu\n", (unsigned long long)sum);
	free(all);
	return 0;
}
