// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * record-loops OPERATION THREADS TIMES [pinned]: each of THREADS threads does an operation of
 * model/primitives/ TIMES times, as CPUs do in the experiment `primitives`. With `pinned` they run
 * on the first CPUs.
 *
 * The window is open from when all threads are ready until all have ended.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c2c-mark.h"
#include "port.h"
#include "primitive.h"

#define THREADS 64
#define LINE	128

static const struct primitive *primitive;
static void *state;
static u64 times;
static pthread_barrier_t ready;
static bool pinned;

void *port_alloc(size_t size, int node)
{
	void *at = aligned_alloc(LINE, (size + LINE - 1) / LINE * LINE);

	if (at)
		memset(at, 0, size);
	return at;
}

void port_free(void *at, size_t size)
{
	free(at);
}

static void *work(void *arg)
{
	const struct primitive_thread me = { .number = (u32)(uintptr_t)arg,
					     .cpu = (u32)(uintptr_t)arg };

	if (pinned) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET((int)me.cpu, &set);
		pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	}
	pthread_barrier_wait(&ready);
	primitive->ops(state, &me, times);
	return NULL;
}

int main(int argc, char **argv)
{
	struct primitive_place place = { .home = -1 };
	pthread_t thread[THREADS];
	int node[THREADS] = { 0 };
	bool right;

	pinned = argc == 5 && !strcmp(argv[4], "pinned");
	if (argc != 4 && !pinned)
		return 2;
	primitive = primitive_find(argv[1]);
	place.nr_threads = (u32)strtoul(argv[2], NULL, 10);
	place.node = node;
	times = strtoul(argv[3], NULL, 10);
	if (!primitive || !place.nr_threads || place.nr_threads > THREADS)
		return 2;
	state = primitive->create(&place);
	if (!state)
		return 2;
	pthread_barrier_init(&ready, NULL, place.nr_threads + 1);
	for (u32 i = 0; i < place.nr_threads; i++)
		pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i);
	c2c_open();
	pthread_barrier_wait(&ready);
	for (u32 i = 0; i < place.nr_threads; i++)
		pthread_join(thread[i], NULL);
	c2c_close();
	right = primitive->consistent(state, times * place.nr_threads);
	printf("%s: %s\n", primitive->name, right ? "right" : "wrong");
	primitive->destroy(state);
	return right ? 0 : 1;
}
