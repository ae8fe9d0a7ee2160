// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * record-phases BEGIN OPERATIONS END: one thread alone executes BEGIN turns of a loop of five
 * instructions, then four threads add OPERATIONS times each to one counter, then one thread
 * executes END turns. The program marks no phase.
 *
 * Exit status: 0; 1 when the counter is wrong; 2 for bad arguments.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define THINK	100 /* turns between two additions */

static uint64_t counter __attribute__((aligned(128)));
static uint64_t operations;
static pthread_barrier_t all_there;

static void turns(uint64_t n)
{
	for (volatile uint64_t i = 0; i < n;)
		i = i + 1;
}

static void *add(void *arg)
{
	pthread_barrier_wait(&all_there);
	for (uint64_t i = 0; i < operations; i++) {
		__atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
		turns(THINK);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	if (argc != 4) {
		fprintf(stderr, "record-phases BEGIN OPERATIONS END\n");
		return 2;
	}
	operations = strtoull(argv[2], NULL, 10);
	pthread_barrier_init(&all_there, NULL, THREADS);
	turns(strtoull(argv[1], NULL, 10));
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, add, NULL))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	turns(strtoull(argv[3], NULL, 10));
	return counter != THREADS * operations;
}
