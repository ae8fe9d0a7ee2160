// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * First use: a worker pool that finds idle workers near the caller.
 *
 * Each worker stands for a CPU, and is bound to it if that is allowed. Its bit means "my slot is
 * free". schedshard_sbm_claim_near() finds a free worker near the caller and clears its bit in one
 * atomic step, so two callers never get the same worker.
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
	uint32_t cpu;
	uint32_t job; /* the worker's slot for a job; 0: stop */
};

static struct schedshard_sbm *idle;
static struct schedshard_counter *done;
static struct worker *workers; /* by CPU number */
static uint8_t runs_of[JOBS + 1];

static void *work(void *arg)
{
	struct worker *self = arg;

	for (;;) {
		/*
		 * Releases the slot to the thread that claims the worker in dispatch() or stop(),
		 * so the worker has read its slot before the next job is written to it.
		 */
		schedshard_sbm_put(idle, self->cpu);
		while (sem_wait(&self->filled))
			; /* interrupted by a signal */
		if (!self->job)
			return NULL;
		__atomic_fetch_add(&runs_of[self->job], 1, __ATOMIC_RELAXED);
		schedshard_counter_inc(done, self->cpu);
	}
}

static void fill(uint32_t cpu, uint32_t job)
{
	workers[cpu].job = job;
	sem_post(&workers[cpu].filled);
}

/* Gives a job to the idle worker nearest to the caller. Waits while all are busy. */
static void dispatch(uint32_t job)
{
	for (;;) {
		/* pairs with schedshard_sbm_put() */
		int64_t cpu = schedshard_sbm_claim_near(idle, schedshard_this_cpu());

		if (cpu >= 0) {
			fill((uint32_t)cpu, job);
			return;
		}
		sched_yield();
	}
}

static void start(uint32_t cpu, uint32_t nr_cpus)
{
	cpu_set_t *mask = CPU_ALLOC(nr_cpus);
	size_t bytes = CPU_ALLOC_SIZE(nr_cpus);

	workers[cpu].cpu = cpu;
	if (!mask || sem_init(&workers[cpu].filled, 0, 0) ||
	    pthread_create(&workers[cpu].thread, NULL, work, &workers[cpu]))
		errx(1, "no thread for CPU %u", cpu);
	CPU_ZERO_S(bytes, mask);
	CPU_SET_S(cpu, bytes, mask);
	/* if the worker may not run there, its jobs travel further, but nothing breaks */
	pthread_setaffinity_np(workers[cpu].thread, bytes, mask);
	CPU_FREE(mask);
}

static void stop(uint32_t cpu)
{
	/* pairs with schedshard_sbm_put() in work() */
	while (!schedshard_sbm_test_and_clear(idle, cpu))
		sched_yield();
	fill(cpu, 0);
	pthread_join(workers[cpu].thread, NULL);
	sem_destroy(&workers[cpu].filled);
}

int main(void)
{
	const struct schedshard_plan *plan;
	uint32_t nr_workers, once = 0;

	/* .pool gives each core a line, with which claims are fastest */
	idle = schedshard_sbm_create_opts(&(struct schedshard_create_opts){ .pool = true });
	done = schedshard_counter_create();
	if (!idle || !done)
		err(1, "no idle set");
	plan = idle->plan;
	workers = calloc(plan->nr_cpus, sizeof(*workers));
	if (!workers)
		err(1, "no workers");

	nr_workers = plan->nr_possible < MAX_WORKERS ? plan->nr_possible : MAX_WORKERS;
	for (uint32_t i = 0; i < nr_workers; i++)
		start(plan->idx_to_cpu[i], plan->nr_cpus);
	for (uint32_t job = 1; job <= JOBS; job++)
		dispatch(job);
	for (uint32_t i = 0; i < nr_workers; i++)
		stop(plan->idx_to_cpu[i]);

	for (uint32_t job = 1; job <= JOBS; job++)
		once += runs_of[job] == 1;
	printf("%u workers: %u of %u jobs ran once, %lld are counted\n", nr_workers, once, JOBS,
	       (long long)schedshard_counter_sum(done));
	free(workers);
	schedshard_counter_destroy(done);
	schedshard_sbm_destroy(idle);
	return 0;
}
