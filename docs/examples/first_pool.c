// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * First use: a worker pool that finds idle workers near the caller.
 *
 * Each worker stands for a CPU, and is bound to it if that is allowed. A free slot of the set means
 * "this worker is idle". schedshard_slot_claim_near() finds an idle worker near the caller, and
 * takes the worker's slot in one atomic step. So two callers never get the same worker.
 */
#define _GNU_SOURCE 1 /* for pthread_setaffinity_np() */
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <schedshard/schedshard.h>

#define MAX_WORKERS 16u
#define JOBS	    10000u

struct worker {
	pthread_t thread;
	sem_t filled;
	uint32_t slot;
	uint32_t cpu;
	uint32_t job; /* 0: stop */
};

static struct schedshard_slot_set *idle;
static struct schedshard_counter *done;
static struct worker *workers; /* by slot */
static uint8_t runs_of[JOBS + 1];

static void *work(void *arg)
{
	struct worker *self = arg;

	for (;;) {
		/*
		 * Releases the worker to the thread that claims it in dispatch() or stop(), so the
		 * worker has read its job before the next one is written.
		 */
		schedshard_slot_put(idle, self->slot);
		while (sem_wait(&self->filled))
			; /* interrupted by a signal */
		if (!self->job)
			return NULL;
		__atomic_fetch_add(&runs_of[self->job], 1, __ATOMIC_RELAXED);
		schedshard_counter_inc(done, self->cpu);
	}
}

static void fill(uint32_t slot, uint32_t job)
{
	workers[slot].job = job;
	sem_post(&workers[slot].filled);
}

/* Gives a job to the idle worker nearest to the caller. Waits while all are busy. */
static void dispatch(uint32_t job)
{
	for (;;) {
		/* pairs with schedshard_slot_put() */
		int64_t slot = schedshard_slot_claim_near(idle, schedshard_this_cpu());

		if (slot >= 0) {
			fill((uint32_t)slot, job);
			return;
		}
		sched_yield();
	}
}

static void start(uint32_t slot, uint32_t cpu, uint32_t nr_cpus)
{
	struct worker *self = &workers[slot];
	cpu_set_t *mask = CPU_ALLOC(nr_cpus);
	size_t bytes = CPU_ALLOC_SIZE(nr_cpus);

	self->slot = slot;
	self->cpu = cpu;
	if (!mask || sem_init(&self->filled, 0, 0) ||
	    pthread_create(&self->thread, NULL, work, self))
		errx(1, "no thread for CPU %u", cpu);
	CPU_ZERO_S(bytes, mask);
	CPU_SET_S(cpu, bytes, mask);
	/* if the worker may not run there, its jobs travel further, but nothing breaks */
	pthread_setaffinity_np(self->thread, bytes, mask);
	CPU_FREE(mask);
}

static void stop(uint32_t slot)
{
	/* pairs with schedshard_slot_put() in work() */
	while (!schedshard_slot_take(idle, slot))
		sched_yield();
	fill(slot, 0);
	pthread_join(workers[slot].thread, NULL);
	sem_destroy(&workers[slot].filled);
}

int main(void)
{
	const struct schedshard_create_opts empty = { .empty = true };
	const struct schedshard_plan *plan;
	uint32_t nr_workers, once = 0;

	if (schedshard_plan_here(&plan, NULL))
		errx(1, "no plan");
	/* as many slots as CPUs: then slot i is at home at CPU idx_to_cpu[i] */
	idle = schedshard_slot_set_create_opts(plan->nr_possible, &empty);
	done = schedshard_counter_create();
	if (!idle || !done)
		err(1, "no idle set");
	plan = idle->plan;
	workers = calloc(plan->nr_possible, sizeof(*workers));
	if (!workers)
		err(1, "no workers");

	nr_workers = plan->nr_possible < MAX_WORKERS ? plan->nr_possible : MAX_WORKERS;
	for (uint32_t i = 0; i < nr_workers; i++)
		start(i, plan->idx_to_cpu[i], plan->nr_cpus);
	for (uint32_t job = 1; job <= JOBS; job++)
		dispatch(job);
	for (uint32_t i = 0; i < nr_workers; i++)
		stop(i);

	for (uint32_t job = 1; job <= JOBS; job++)
		once += runs_of[job] == 1;
	printf("%u workers: %u of %u jobs ran once, %lld are counted\n", nr_workers, once, JOBS,
	       (long long)schedshard_counter_sum(done));
	free(workers);
	schedshard_counter_destroy(done);
	schedshard_slot_set_destroy(idle);
	return 0;
}
