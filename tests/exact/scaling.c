// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * scaling add|read THREADS TIMES HOLD: each thread adds to one counter, or takes one lock for
 * reading and holds it for HOLD ns. Prints how many ns an operation of a thread took.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE __attribute__((aligned(128)))

static pthread_rwlock_t lock LINE = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t ready LINE;
static atomic_long sum LINE;
static long times LINE, hold;
static int reads;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void *work(void *arg)
{
	double begin;

	pthread_barrier_wait(&ready);
	begin = now();
	for (long i = 0; i < times; i++) {
		double until = hold ? now() + (double)hold : 0;

		if (!reads) {
			atomic_fetch_add(&sum, 1);
			continue;
		}
		pthread_rwlock_rdlock(&lock);
		while (hold && now() < until)
			;
		pthread_rwlock_unlock(&lock);
	}
	*(double *)arg = (now() - begin) / (double)times;
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc == 5 ? atoi(argv[2]) : 0;
	double took[256], all = 0;
	pthread_t thread[256];

	if (n < 1 || n > 256)
		return 2;
	reads = !strcmp(argv[1], "read");
	times = atol(argv[3]);
	hold = atol(argv[4]);
	pthread_barrier_init(&ready, NULL, (unsigned int)n);
	for (int i = 0; i < n; i++)
		pthread_create(&thread[i], NULL, work, &took[i]);
	for (int i = 0; i < n; i++) {
		pthread_join(thread[i], NULL);
		all += took[i];
	}
	printf("%.1f\n", all / n);
	return 0;
}
