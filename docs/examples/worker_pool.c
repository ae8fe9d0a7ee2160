// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The idle set of a worker pool: every worker stands for a CPU and sets its bit when it waits for
 * work. A thread with a task searches for an idle worker near the task's data.
 *
 * A bit means "this worker's slot is empty and it is waiting, or about to". Whoever claims the bit
 * may fill the slot: schedshard_sbm_claim_near() gives each of several dispatchers another worker.
 * A worker puts its bit back after it emptied its slot. The claim, a full barrier, and the slot's
 * lock ensure that the next task comes after that.
 *
 * There are as many workers as the plan has CPUs of the first two LLCs, on any machine.
 */
#include <pthread.h>
#include <sched.h>
#include "example.h"

#define MAX_WORKERS 128
#define TASKS	    20000
#define STOP	    UINT32_MAX
#define EMPTY	    (UINT32_MAX - 1)

static struct worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t filled;
	uint32_t cpu;  /* that it stands for */
	uint32_t task; /* its slot */
} workers[MAX_WORKERS];

static uint32_t nr_workers;
static struct schedshard_sbm *idle;
static struct schedshard_counter done;
static uint8_t runs_of[TASKS];

static void *work(void *arg)
{
	struct worker *self = arg;

	for (;;) {
		uint32_t task;

		/*
		 * The slot is empty: announce it. The put releases the last task's stores: they are
		 * visible to whoever claims the bit, and after schedshard_smp_mb() in
		 * wait_for_all().
		 */
		schedshard_sbm_put(idle, self->cpu);
		pthread_mutex_lock(&self->lock);
		while (self->task == EMPTY)
			pthread_cond_wait(&self->filled, &self->lock);
		task = self->task;
		self->task = EMPTY;
		pthread_mutex_unlock(&self->lock);
		if (task == STOP)
			return NULL;
		__atomic_fetch_add(&runs_of[task], 1, __ATOMIC_RELAXED);
		schedshard_counter_inc(&done, self->cpu);
	}
}

static struct worker *worker_of(uint32_t cpu)
{
	for (uint32_t i = 0; i < nr_workers; i++) {
		if (workers[i].cpu == cpu)
			return &workers[i];
	}
	return NULL;
}

/* Gives a task to the idle worker nearest to a CPU; waits when all are busy. Returns its CPU. */
static uint32_t dispatch(uint32_t task, uint32_t home)
{
	struct worker *worker;
	int64_t cpu;

	do {
		/* home's own worker first, then those of its core, L2, LLC, node and package */
		cpu = schedshard_sbm_claim_near(idle, home);
		if (cpu < 0)
			sched_yield();
	} while (cpu < 0);

	worker = worker_of((uint32_t)cpu);
	pthread_mutex_lock(&worker->lock);
	worker->task = task;
	pthread_cond_signal(&worker->filled);
	pthread_mutex_unlock(&worker->lock);
	return (uint32_t)cpu;
}

/* Waits until all workers are idle; then all their stores are visible. */
static void wait_for_all(void)
{
	while (schedshard_sbm_weight(idle) < nr_workers)
		sched_yield();
	schedshard_smp_mb(); /* pairs with schedshard_sbm_put() in work() */
}

static void start_workers(const struct schedshard_plan *plan)
{
	for (uint32_t idx = 0; idx < plan->nr_possible && nr_workers < MAX_WORKERS; idx++) {
		struct worker *worker = &workers[nr_workers];

		worker->cpu = plan->idx_to_cpu[idx];
		if (plan->shard[plan->slot[worker->cpu].shard].llc > 1)
			break;
		worker->task = EMPTY;
		pthread_mutex_init(&worker->lock, NULL);
		pthread_cond_init(&worker->filled, NULL);
		example_need(!pthread_create(&worker->thread, NULL, work, worker), "no thread");
		nr_workers++;
	}
}

int main(int argc, char **argv)
{
	struct schedshard_plan *plan = example_plan(argc, argv);
	uint32_t last, same_llc, once = 0;

	idle = schedshard_sbm_alloc(plan, 0);
	example_need(idle && schedshard_counter_attach(&done, plan), "out of memory");
	start_workers(plan);
	wait_for_all();

	/* all are idle: a task goes to the LLC of its data */
	last = workers[nr_workers - 1].cpu;
	same_llc = dispatch(0, last);
	printf("%u workers; a task of CPU %u went to a worker of %s\n", nr_workers, last,
	       plan->slot[same_llc].shard == plan->slot[last].shard ? "the same shard"
								    : "another shard");

	for (uint32_t task = 1; task < TASKS; task++)
		dispatch(task, workers[task % nr_workers].cpu);
	wait_for_all();

	for (uint32_t task = 0; task < TASKS; task++)
		once += SCHEDSHARD_READ_ONCE(runs_of[task]) == 1;
	printf("%u of %u tasks ran once, %lld are counted\n", once, TASKS,
	       (long long)schedshard_counter_sum(&done));

	for (uint32_t i = 0; i < nr_workers; i++)
		dispatch(STOP, workers[i].cpu);
	for (uint32_t i = 0; i < nr_workers; i++)
		pthread_join(workers[i].thread, NULL);
	schedshard_counter_detach(&done);
	schedshard_sbm_free(idle);
	schedshard_plan_free(plan);
	return 0;
}
