// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * beside THREADS HOW: each thread counts in its own word by plain loads and stores. They do not
 * wait for the line, but waiting stores fill the store buffer. HOW "apart": each word has its own
 * line. "fenced": each store leaves the buffer before the next one. "locked": each thread takes its
 * own lock. "cleared": the first thread clears all words before. PLAIN: one instruction adds.
 */
#include <stdio.h>
#include <string.h>

#include "helping.h"

#define THREADS 8
#ifndef ROUNDS
#define ROUNDS 4000
#endif

static volatile long count[THREADS * 8] __attribute__((aligned(64)));
static pthread_barrier_t barrier;
static int apart, fenced, locked;

static void *counts(void *arg)
{
	volatile long *own = &count[(long)arg * (apart ? 8 : 1)];
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS; i++) {
		if (locked)
			pthread_mutex_lock(&lock);
#ifdef PLAIN
		__asm__ volatile("addq $1, %0" : "+m"(*own));
#else
		++*own;
#endif
		if (locked)
			pthread_mutex_unlock(&lock);
		if (fenced)
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
	}
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : THREADS;
	pthread_t made[THREADS];

	need(threads >= 1 && threads <= THREADS);
	apart = argc > 2 && !strcmp(argv[2], "apart");
	locked = argc > 2 && !strcmp(argv[2], "locked");
	fenced = argc > 2 && !strcmp(argv[2], "fenced");
	for (int i = 0; i < THREADS && argc > 2 && !strcmp(argv[2], "cleared"); i++)
		count[i] = 0;
	pthread_barrier_init(&barrier, NULL, (unsigned int)threads);
	for (long i = 0; i < threads; i++)
		made[i] = start(counts, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(made[i], NULL);
	puts("done");
	return 0;
}
