// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * scaling add|plain|read|apart THREADS TIMES HOLD: with `add` and `plain` each thread adds to one
 * counter, atomically or by a load and a store. With `read` and `apart` it takes one lock for
 * reading and holds it for HOLD - 1 us. As in perfbook's rwlockscale, the loops read numbers in the
 * lock's line, except with `apart`. Prints the ns that an operation of a thread took.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE __attribute__((aligned(128)))

struct numbers {
	char stop;
	int running;
	long *counts, think, hold;
};

/* The layout that the linker gives rwlockscale: 32 bytes of the lock share a line with the rest. */
static struct {
	struct numbers read;
	pthread_rwlock_t lock;
} one LINE = { .lock = PTHREAD_RWLOCK_INITIALIZER };
static struct numbers apart LINE;
static pthread_barrier_t ready LINE;
static atomic_long sum LINE;
static volatile long plain LINE;
static const volatile struct numbers *numbers LINE;
static long times;
static int adds, adds_plainly;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void wait_microsecond(void)
{
	double until = now() + 1000;

	while (now() < until) {
	}
}

static void take_lock(const volatile struct numbers *n)
{
	pthread_rwlock_rdlock(&one.lock);
	for (long us = 1; us < n->hold; us++)
		wait_microsecond();
	pthread_rwlock_unlock(&one.lock);
	for (long us = 1; us < n->think; us++)
		wait_microsecond();
}

static void *work(void *arg)
{
	const volatile struct numbers *n = numbers;
	double begin;

	pthread_barrier_wait(&ready);
	begin = now();
	for (long i = 0; i < times; i++) {
		if (adds)
			atomic_fetch_add(&sum, 1);
		else if (adds_plainly)
			plain++;
		else if (!n->stop)
			take_lock(n);
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
	adds = !strcmp(argv[1], "add");
	adds_plainly = !strcmp(argv[1], "plain");
	numbers = strcmp(argv[1], "apart") != 0 ? &one.read : &apart;
	times = atol(argv[3]);
	one.read.hold = apart.hold = atol(argv[4]);
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
