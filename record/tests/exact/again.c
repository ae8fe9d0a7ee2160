// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * again FILE: two threads write words of one line; the exit status is 3 if FILE exists. again:
 * counts the rounds in which the first thread comes right after the last one. The count decides
 * whether the program deadlocks.
 */
#include <fcntl.h>
#include <stdio.h>

#include "helping.h"

#define THREADS 4
#define ROUNDS	100

static volatile long beside[2];
static pthread_barrier_t barrier;
static long before[ROUNDS], word;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *writes(void *arg)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 20000; i++)
		beside[(long)arg]++;
	return arg;
}

static void *arrives(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&barrier);
		if (__atomic_exchange_n(&word, (long)arg, __ATOMIC_SEQ_CST) == 3 && !arg)
			before[i] = 1;
	}
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? 2 : THREADS;
	pthread_t made[THREADS];
	long after = 0;

	if (argc > 1 && open(argv[1], O_CREAT | O_EXCL | O_WRONLY, 0600) < 0)
		return 3;
	pthread_barrier_init(&barrier, NULL, (unsigned int)threads);
	for (long i = 0; i < threads; i++)
		made[i] = start(argc > 1 ? writes : arrives, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(made[i], NULL);
	for (int i = 0; i < ROUNDS; i++)
		after += before[i];
	if (argc == 1 && after % 4 == 3) {
		pthread_mutex_lock(&lock);
		pthread_mutex_lock(&lock);
	}
	puts("done");
	return 0;
}
