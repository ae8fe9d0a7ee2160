// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * linux-walk SECONDS: shows that a push walk of Linux loses a request which arrives while the walk
 * visits the only overloaded CPU.
 *
 * A runner (FIFO 50) keeps CPU X busy. A waiter (FIFO 40) may run on X and Y. It is pinned to X
 * until an occupant (FIFO 60) runs on Y, so that it waits on X. Another occupant runs on Z. Both
 * occupants then sleep within a few microseconds of each other. Z's request makes X look for a
 * lower CPU, and X finds none if Y is still busy. Y's request leaves the rest to the walk that is
 * under way, and that walk passes over X because X is where it is. The waiter then waits while Y is
 * idle, until some CPU lowers its level again. To put that off, the test has no other RT tasks.
 *
 * A normal task keeps Y busy when the occupant sleeps. The waiter counts as forgotten when this
 * task and the runner have each made two million turns of their loops, and the waiter none. That
 * takes some tens of milliseconds. It shows that X and Y executed meanwhile, and that Y executed a
 * task of lower priority.
 *
 * The race needs CPUs that run at the same time (--emulation multi).
 *
 * Exit status: 0 if a waiter was forgotten, 1 if not, 4 (skip) with fewer than four CPUs.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "threads.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

#define USEC   1000ull
#define MSEC   1000000ull
#define SKIP   4
#define ENOUGH 2000000

struct occupant {
	int cpu;
	sem_t start;
	_Atomic bool runs;
	_Atomic uint64_t until; /* when it sleeps; 0: not known yet */
};

static _Atomic uint64_t steps, runner_steps, lower_steps; /* of the waiter, the tasks on X and Y */
static int runner_cpu;
static struct occupant y, z;

/* Both may be the same. */
static void pin(pthread_t thread, int cpu, int other)
{
	cpu_set_t set = one_cpu(cpu);

	CPU_SET(other, &set);
	bind_thread(thread, &set);
}

static void *run(void *unused)
{
	(void)unused;
	pin(pthread_self(), runner_cpu, runner_cpu);
	for (;;)
		atomic_fetch_add_explicit(&runner_steps, 1, memory_order_relaxed);
	return NULL;
}

static void *run_lower(void *unused)
{
	(void)unused;
	pin(pthread_self(), y.cpu, y.cpu);
	for (;;)
		atomic_fetch_add_explicit(&lower_steps, 1, memory_order_relaxed);
	return NULL;
}

static void *wait_for_turn(void *unused)
{
	(void)unused;
	for (;;)
		atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
	return NULL;
}

static void *occupy(void *arg)
{
	struct occupant *o = arg;

	pin(pthread_self(), o->cpu, o->cpu);
	for (;;) {
		uint64_t until;

		while (sem_wait(&o->start))
			;
		atomic_store(&o->runs, true);
		do
			until = atomic_load(&o->until);
		while (!until || now_ns() < until);
		atomic_store(&o->until, 0);
		atomic_store(&o->runs, false);
	}
	return NULL;
}

static void begin(struct occupant *o)
{
	sem_post(&o->start);
	while (!atomic_load(&o->runs))
		sleep_ns(MSEC / 10);
}

/* Return: whether the waiter was forgotten. */
static bool try_once(pthread_t waiter, uint64_t *seed)
{
	uint64_t sleeps, before, runner, lower;

	begin(&y);
	begin(&z);
	pin(waiter, runner_cpu, runner_cpu);
	pin(waiter, runner_cpu, y.cpu);
	before = atomic_load(&steps);
	sleeps = now_ns() + MSEC;
	atomic_store(&z.until, sleeps);
	atomic_store(&y.until, sleeps + rng_below(seed, 60) * USEC);
	while (atomic_load(&y.runs) || atomic_load(&z.runs))
		sleep_ns(MSEC / 10);
	runner = atomic_load(&runner_steps);
	lower = atomic_load(&lower_steps);
	do {
		sleep_ns(MSEC / 5);
		if (atomic_load(&steps) != before)
			return false;
	} while (atomic_load(&runner_steps) - runner < ENOUGH ||
		 atomic_load(&lower_steps) - lower < ENOUGH);
	return true;
}

int main(int argc, char **argv)
{
	unsigned int seconds = parse_seconds("linux-walk", argc > 1 ? argv[1] : NULL);
	uint64_t end = now_ns() + seconds * 1000 * MSEC, seed = 1;
	unsigned int rounds = 0, forgotten = 0;
	struct cpu_list cpus;
	pthread_t waiter;

	if (online_cpus(&cpus) < 0 || cpus.nr < 4) {
		printf("fewer than four CPUs: nothing to race\n");
		return SKIP;
	}
	pin(pthread_self(), cpus.cpu[0], cpus.cpu[0]);
	runner_cpu = cpus.cpu[1];
	y.cpu = cpus.cpu[2];
	z.cpu = cpus.cpu[3];
	sem_init(&y.start, 0, 0);
	sem_init(&z.start, 0, 0);
	start_thread(occupy, &y, 60, NULL);
	start_thread(occupy, &z, 60, NULL);
	start_thread(run, NULL, 50, NULL);
	start_thread(run_lower, NULL, 0, NULL);
	waiter = start_thread(wait_for_turn, NULL, 40, NULL);
	for (; now_ns() < end; rounds++)
		forgotten += try_once(waiter, &seed);
	printf("%u of %u waiters were forgotten while their CPU ran a normal task\n", forgotten,
	       rounds);
	return forgotten ? 0 : 1;
}
