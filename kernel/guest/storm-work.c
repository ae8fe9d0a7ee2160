// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A worker of the RT storm sleeps until another one wakes it, works for a moment, and wakes others.
 * Sometimes it changes policy, priority or affinity of itself or of another worker. That exercises
 * the scheduler's RT class: enqueue and dequeue at any level, push, pull, the push walk, changes of
 * a queued task, and priority inheritance.
 *
 * Every sleep has a timeout, so that a worker always completes its round, at the latest at the time
 * `due`. The worker writes `due` before it gives up its CPU, and the monitor compares it with the
 * clock. So a worker that the kernel forgets is late.
 *
 * The kernel may refuse a change, because a CPU is offline or outside of the cpuset, or a deadline
 * task finds no bandwidth. Refusals are only counted.
 */
#define _GNU_SOURCE
#include "storm.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void work(unsigned int loops)
{
	for (unsigned int i = 0; i < loops; i++)
		__asm__ volatile("" ::: "memory");
}

void storm_wake(struct storm *storm, unsigned int who, bool by_pipe)
{
	struct storm_worker *worker = &storm->worker[who];

	if (by_pipe) {
		/* A full pipe has already woken its reader. */
		if (write(worker->pipes[1], "", 1) < 0 && errno != EAGAIN)
			atomic_fetch_add(&storm->refused, 1);
	} else {
		atomic_fetch_add(&worker->wake, 1);
		syscall(SYS_futex, &worker->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	atomic_fetch_add_explicit(&storm->wakes, 1, memory_order_relaxed);
}

static void nap(struct storm *storm, struct storm_worker *me, uint64_t *rng)
{
	uint64_t length = (5 + rng_below(rng, 60)) * MSEC * atomic_load(&storm->pace);
	uint32_t seen = atomic_load(&me->wake);

	atomic_store(&me->due, now_ns() + length);
	atomic_store(&me->state, STORM_SLEEPS);
	if (rng_below(rng, 2)) {
		struct pollfd ready = { .fd = me->pipes[0], .events = POLLIN };
		char bytes[64];

		if (poll(&ready, 1, (int)(length / MSEC)) > 0 &&
		    read(me->pipes[0], bytes, sizeof(bytes)) < 0)
			atomic_fetch_add(&storm->refused, 1);
	} else {
		struct timespec timeout = { .tv_sec = (time_t)(length / SEC),
					    .tv_nsec = (long)(length % SEC) };

		syscall(SYS_futex, &me->wake, FUTEX_WAIT, seen, &timeout, NULL, 0);
	}
	atomic_store(&me->due, now_ns());
	atomic_store(&me->state, STORM_WORKS);
}

/* Choose one CPU, neighbouring CPUs, a random part of all CPUs, or all. */
static void choose_cpus(struct storm *storm, uint64_t *rng, cpu_set_t *set)
{
	unsigned int first = rng_below(rng, storm->nr_cpus), length = 1;

	CPU_ZERO(set);
	switch (rng_below(rng, 4)) {
	case 0:
		break;
	case 1:
		length = 1 + rng_below(rng, 8);
		break;
	case 2:
		for (unsigned int i = 0; i < storm->nr_cpus; i++) {
			if (rng_below(rng, 4) == 0)
				CPU_SET(storm->cpu[i], set);
		}
		break;
	default:
		length = storm->nr_cpus;
	}
	for (unsigned int i = 0; i < length; i++)
		CPU_SET(storm->cpu[(first + i) % storm->nr_cpus], set); /* NOLINT: there are CPUs */
}

static void move(struct storm *storm, int tid, uint64_t *rng)
{
	cpu_set_t set;

	choose_cpus(storm, rng, &set);
	if (sched_setaffinity(tid, sizeof(set), &set) < 0)
		atomic_fetch_add(&storm->refused, 1);
	else
		atomic_fetch_add(&storm->moves, 1);
}

static void change_level(struct storm *storm, int tid, uint64_t *rng)
{
	struct sched_param param = { .sched_priority = 0 };
	int policy = SCHED_OTHER;

	if (rng_below(rng, 8)) {
		policy = rng_below(rng, 4) ? SCHED_FIFO : SCHED_RR;
		/* 90 and up are for the driver and the monitor. */
		param.sched_priority = 1 + (int)rng_below(rng, 80);
	}
	if (sched_setscheduler(tid, policy, &param) < 0)
		atomic_fetch_add(&storm->refused, 1);
	else
		atomic_fetch_add(&storm->levels, 1);
}

/*
 * Be a deadline task for one round. Such a task must be allowed on all CPUs of its root domain. An
 * overrun by one tick delays its 0-lag time by ten ticks. Until then Linux keeps the mark of a task
 * that left the class while it was throttled.
 */
static void deadline_round(struct storm *storm, struct storm_worker *me, uint64_t *rng)
{
	cpu_set_t all;

	CPU_ZERO(&all);
	for (unsigned int i = 0; i < storm->nr_cpus; i++)
		CPU_SET(storm->cpu[i], &all);
	sched_setaffinity(0, sizeof(all), &all);
	if (set_deadline(0, 10 * MSEC, 100 * MSEC) < 0) {
		atomic_fetch_add(&storm->refused, 1);
	} else {
		atomic_fetch_add(&storm->deadlines, 1);
		work(rng_below(rng, 20000));
		nap(storm, me, rng);
	}
	change_level(storm, 0, rng);
}

static void use_lock(struct storm *storm, struct storm_worker *me, uint64_t *rng)
{
	pthread_mutex_t *lock = &storm->lock[rng_below(rng, STORM_LOCKS)];
	struct timespec until;

	/* The lock's clock is the wall clock, which is never set here. */
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1;
	atomic_store(&me->due, now_ns() + SEC);
	atomic_store(&me->state, STORM_WAITS_LOCK);
	if (pthread_mutex_timedlock(lock, &until)) {
		atomic_fetch_add(&storm->refused, 1);
	} else {
		work(rng_below(rng, 20000));
		if (rng_below(rng, 4) == 0)
			sched_yield();
		pthread_mutex_unlock(lock);
	}
	atomic_store(&me->due, now_ns());
	atomic_store(&me->state, STORM_WORKS);
}

static int some_tid(struct storm *storm, uint64_t *rng)
{
	return atomic_load(&storm->worker[rng_below(rng, storm->nr_threads)].tid);
}

void storm_worker_run(struct storm *storm, unsigned int self)
{
	struct storm_worker *me = &storm->worker[self];
	uint64_t rng = storm->seed * 2654435761u + self;

	atomic_store(&me->due, UINT64_MAX / 2);
	atomic_store(&me->tid, (int)syscall(SYS_gettid));
	change_level(storm, 0, &rng);
	move(storm, 0, &rng);
	atomic_fetch_add(&storm->started, 1);
	/* All start together: otherwise the first ones would keep the last ones from starting. */
	while (!atomic_load(&storm->go))
		syscall(SYS_futex, &storm->go, FUTEX_WAIT, 0, NULL, NULL, 0);
	atomic_store(&me->due, now_ns());
	while (!atomic_load(&storm->stop)) {
		unsigned int dice = rng_below(&rng, 100);

		nap(storm, me, &rng);
		work(rng_below(&rng, 30000));
		if (dice < 50) {
			for (unsigned int n = 1 + rng_below(&rng, 3); n; n--)
				storm_wake(storm, rng_below(&rng, storm->nr_threads),
					   rng_below(&rng, 2));
		} else if (dice < 60) {
			sched_yield();
		} else if (dice < 70) {
			use_lock(storm, me, &rng);
		} else if (dice < 79) {
			change_level(storm, rng_below(&rng, 2) ? 0 : some_tid(storm, &rng), &rng);
		} else if (dice < 88) {
			move(storm, rng_below(&rng, 2) ? 0 : some_tid(storm, &rng), &rng);
		} else if (dice < 90 && storm->with_deadlines) {
			deadline_round(storm, me, &rng);
		}
		atomic_fetch_add_explicit(&me->rounds, 1, memory_order_relaxed);
	}
	atomic_store(&me->state, STORM_ENDED);
}
