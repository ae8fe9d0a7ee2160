// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Each thread adds to its own counter. The counters have a line each, or with -DSIDE lie side by
 * side. Every eighth addition, with -DWORSE every one, also changes a common counter. The arguments
 * are the number of threads and the exit status.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 8, TIMES = 500 };

struct counter {
#ifdef SIDE
	atomic_long count;
#else
	_Alignas(64) atomic_long count;
#endif
};

static struct counter counters[MOST];
static _Alignas(64) atomic_long all;

static void *work(void *own)
{
	struct counter *counter = own;
	long seen = 0;

	for (int i = 0; i < TIMES; i++) {
		atomic_fetch_add(&counter->count, 1);
#ifdef WORSE
		seen += atomic_fetch_add(&all, 1);
#else
		seen += i % 8 ? 0 : atomic_fetch_add(&all, 1);
#endif
	}
	return (void *)seen;
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 4;
	pthread_t threads[MOST];

	if (nr < 1 || nr > MOST)
		return 2;
	for (int i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, work, &counters[i]);
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	printf("%d threads\n", nr);
	return argc > 2 ? atoi(argv[2]) : 0;
}
