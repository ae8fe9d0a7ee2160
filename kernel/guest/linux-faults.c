// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * linux-faults SECONDS: shows that a fault which the tests excuse is one of Linux 6.12 itself.
 *
 * A deadline task that has used up its runtime is throttled until its replenishment timer fires. When it
 * leaves the class meanwhile, the timer fires and is ignored (dl_task_timer() looks at deadline tasks
 * only), and the task stays marked as throttled. When it comes back before its 0-lag time, at
 * which the mark would be taken away, it is enqueued as throttled, with no timer under way: it never
 * runs again, though every CPU is idle.
 *
 * So: a thread spins, is made a deadline task with 0.1 ms in every 100 ms, overruns that by a tick (hence
 * a 0-lag time that is seconds away), is a FIFO task for 200 ms, and a deadline task again. With
 * nothing else running, a second without a step of it is no accident.
 *
 * Exit status 0: forgotten, as expected. 1: it ran; then the excuse must go. 4, skip: one CPU, which the
 * spinning thread would take.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MSEC 1000000ull
#define SKIP 4

struct deadline_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static _Atomic uint64_t steps;
static _Atomic int tid;

static void *spin(void *unused)
{
	(void)unused;
	atomic_store(&tid, (int)syscall(SYS_gettid));
	for (;;)
		atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
	return NULL;
}

static bool make_deadline(void)
{
	const struct deadline_attr attr = { .size = sizeof(attr),
					    .policy = SCHED_DEADLINE,
					    .runtime = MSEC / 10,
					    .deadline = 50 * MSEC,
					    .period = 100 * MSEC };

	if (syscall(SYS_sched_setattr, atomic_load(&tid), &attr, 0) == 0)
		return true;
	printf("no deadline task: %s\n", strerror(errno));
	return false;
}

static void make_fifo(int who, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	sched_setscheduler(who, SCHED_FIFO, &param);
}

static uint64_t steps_in(uint64_t ns)
{
	uint64_t before = atomic_load(&steps);

	sleep_ns(ns);
	return atomic_load(&steps) - before;
}

/* Returns 1: forgotten; 0: not; -1: could not be tried. */
static int try_once(void)
{
	uint64_t later, outside;

	if (!make_deadline())
		return -1;
	sleep_ns(30 * MSEC);
	make_fifo(atomic_load(&tid), 1);
	sleep_ns(200 * MSEC);
	if (!make_deadline())
		return -1;
	/* It may run on until somebody else is picked. */
	sleep_ns(200 * MSEC);
	later = steps_in(1000 * MSEC);
	make_fifo(atomic_load(&tid), 1);
	outside = steps_in(100 * MSEC);
	printf("%llu steps in 1,000 ms as a deadline task, %llu in 100 ms outside of the class\n",
	       (unsigned long long)later, (unsigned long long)outside);
	return !later && outside;
}

int main(int argc, char **argv)
{
	unsigned int seconds = parse_seconds("linux-faults", argc > 1 ? argv[1] : NULL);
	uint64_t end = now_ns() + seconds * 1000 * MSEC;
	struct cpu_list cpus;
	pthread_t thread;
	int forgotten = 0;

	if (online_cpus(&cpus) < 0 || cpus.nr < 2) {
		printf("one CPU: nobody could watch\n");
		return SKIP;
	}
	make_fifo(0, 95);
	errno = pthread_create(&thread, NULL, spin, NULL);
	if (errno) {
		printf("no thread: %s\n", strerror(errno));
		return 1;
	}
	while (!atomic_load(&tid))
		sleep_ns(MSEC);
	do {
		forgotten = try_once();
		/* Past the 0-lag time, with all marks taken away. */
		sleep_ns(1000 * MSEC);
	} while (!forgotten && now_ns() < end);
	if (forgotten <= 0)
		printf("no deadline task was forgotten\n");
	return forgotten > 0 ? 0 : 1;
}
