// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * First use: a worker pool that finds idle workers near the caller.
 *
 * Each worker stands for a CPU, and is bound to it if that is allowed. Its bit means "my slot is
 * free". sbm_claim_near() finds a free one near the caller and clears its bit in one step: of
 * several callers each gets another worker.
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
	u32 cpu;
	u32 job; /* its slot; 0: stop */
};

static struct sbm *idle;
static struct shard_counter *done;
static struct worker *workers; /* by CPU number */
static u8 runs_of[JOBS + 1];

static void *work(void *arg)
{
	struct worker *self = arg;

	for (;;) {
		/*
		 * Releases the slot to who claims it in dispatch() and stop(): the worker has read
		 * its slot before the next job comes in.
		 */
		sbm_put(idle, self->cpu);
		while (sem_wait(&self->filled))
			; /* a signal */
		if (!self->job)
			return NULL;
		__atomic_fetch_add(&runs_of[self->job], 1, __ATOMIC_RELAXED);
		shard_counter_inc(done, self->cpu);
	}
}

static void fill(u32 cpu, u32 job)
{
	workers[cpu].job = job;
	sem_post(&workers[cpu].filled);
}

/* Gives a job to the idle worker nearest to the caller; waits when all are busy. */
static void dispatch(u32 job)
{
	for (;;) {
		s64 cpu = sbm_claim_near(idle, shard_this_cpu()); /* pairs with sbm_put() */

		if (cpu >= 0) {
			fill((u32)cpu, job);
			return;
		}
		sched_yield();
	}
}

static void start(u32 cpu, u32 nr_cpus)
{
	cpu_set_t *mask = CPU_ALLOC(nr_cpus);
	size_t bytes = CPU_ALLOC_SIZE(nr_cpus);

	workers[cpu].cpu = cpu;
	if (!mask || sem_init(&workers[cpu].filled, 0, 0) ||
	    pthread_create(&workers[cpu].thread, NULL, work, &workers[cpu]))
		errx(1, "no thread for CPU %u", cpu);
	CPU_ZERO_S(bytes, mask);
	CPU_SET_S(cpu, bytes, mask);
	/* a worker that may not run there migrates: jobs travel further, nothing else */
	pthread_setaffinity_np(workers[cpu].thread, bytes, mask);
	CPU_FREE(mask);
}

static void stop(u32 cpu)
{
	while (!sbm_test_and_clear(idle, cpu)) /* pairs with sbm_put() in work() */
		sched_yield();
	fill(cpu, 0);
	pthread_join(workers[cpu].thread, NULL);
	sem_destroy(&workers[cpu].filled);
}

int main(void)
{
	const struct shard_plan *plan;
	u32 nr_workers, once = 0;

	/* a pool: claims are quickest with a line for each core */
	idle = sbm_create_opts(&(struct shard_create_opts){ .cap = 2 });
	done = shard_counter_create();
	if (!idle || !done)
		err(1, "no idle set");
	plan = idle->plan;
	workers = calloc(plan->nr_cpus, sizeof(*workers));
	if (!workers)
		err(1, "no workers");

	nr_workers = plan->nr_possible < MAX_WORKERS ? plan->nr_possible : MAX_WORKERS;
	for (u32 i = 0; i < nr_workers; i++)
		start(plan->idx_to_cpu[i], plan->nr_cpus);
	for (u32 job = 1; job <= JOBS; job++)
		dispatch(job);
	for (u32 i = 0; i < nr_workers; i++)
		stop(plan->idx_to_cpu[i]);

	for (u32 job = 1; job <= JOBS; job++)
		once += runs_of[job] == 1;
	printf("%u workers: %u of %u jobs ran once, %lld are counted\n", nr_workers, once, JOBS,
	       (long long)shard_counter_sum(done));
	free(workers);
	shard_counter_destroy(done);
	sbm_destroy(idle);
	return 0;
}
