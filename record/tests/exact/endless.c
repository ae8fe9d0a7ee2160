// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* endless KIND: runs threads in loops that only another thread's store could end. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4

static volatile int go;
static atomic_int word = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct counts {
	long before, rounds;
} * count;

static void *flag(void *arg)
{
	while (!go) {
	}
	return arg;
}

static void *swap(void *arg)
{
	while (atomic_exchange(&word, 1)) {
	}
	return arg;
}

static void *locked(void *arg)
{
	int ends = 0;

	while (!ends) {
		pthread_mutex_lock(&lock);
		ends = go;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *sleeps(void *arg)
{
	while (!go)
		usleep(1000);
	return arg;
}

static void *counts(void *arg)
{
	while (!go)
		count->rounds++;
	return arg;
}

static void *works(void *arg)
{
	for (volatile long i = 0; i < 20000000; i++) {
	}
	usleep(100); /* only threads in their loops can run meanwhile */
	go = 1;
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

static void comes(int which)
{
	go = 1;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "flag";
	int one = !strcmp(kind, "counts") || !strcmp(kind, "handler");
	pthread_t made[THREADS];
	void *(*run)(void *) = !strcmp(kind, "swap")	 ? swap
			       : !strcmp(kind, "locked") ? locked
			       : !strcmp(kind, "sleeps") ? sleeps
			       : !strcmp(kind, "counts") ? counts
			       : !strcmp(kind, "first")	 ? nothing
							 : flag;

	count = calloc(1, sizeof(*count));
	if (!strcmp(kind, "handler")) {
		signal(SIGALRM, comes);
		ualarm(50000, 0);
	}
	for (int i = 0; i < (one ? 1 : THREADS); i++)
		if (pthread_create(&made[i], NULL, run, NULL))
			return 3;
	if (!strcmp(kind, "late"))
		works(NULL);
	if (!strcmp(kind, "first"))
		flag(NULL);
	for (int i = 0; i < (one ? 1 : THREADS); i++)
		pthread_join(made[i], NULL);
	puts("done");
	return 0;
}
