/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Starts a few threads on one function and waits for all of them. */
#ifndef STRESS_THREADS_H
#define STRESS_THREADS_H

#include "test.h"

#include <pthread.h>
#include <sched.h>

#define NR_THREADS 4u

typedef void (*stress_body)(u32 thread);

struct stress_thread {
	pthread_t id;
	u32 thread;
	stress_body body;
};

static u32 stress_ready;

static void *stress_start(void *arg)
{
	struct stress_thread *t = arg;

	/* All threads start at once: otherwise the first would end before the last starts. */
	__atomic_fetch_add(&stress_ready, 1, __ATOMIC_RELAXED);
	while (READ_ONCE(stress_ready) < NR_THREADS)
		sched_yield();
	t->body(t->thread);
	return NULL;
}

/* Runs @body(0) .. @body(NR_THREADS - 1) side by side. */
static void run_threads(stress_body body)
{
	struct stress_thread t[NR_THREADS];

	stress_ready = 0;
	for (u32 i = 0; i < NR_THREADS; i++) {
		t[i].thread = i;
		t[i].body = body;
		CHECK_EQ(pthread_create(&t[i].id, NULL, stress_start, &t[i]), 0);
	}
	for (u32 i = 0; i < NR_THREADS; i++)
		CHECK_EQ(pthread_join(t[i].id, NULL), 0);
}

#endif /* STRESS_THREADS_H */
