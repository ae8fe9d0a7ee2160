// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * linux-online SECONDS: shows that a CPU which comes online takes no RT task that waits elsewhere.
 *
 * rq_online_rt() writes the CPU's level and its overload. It neither pulls nor requests a push. A
 * waiting task is pushed when its own CPU calls push_rt_tasks(), and pulled when an RT task of the
 * new CPU goes to sleep. Until one of these happens the new CPU stays idle.
 *
 * So: a FIFO task spins, pinned to CPU A. A lower one may use A and X, and X is offline, so that it
 * waits on A. X comes online and stays idle. The lower task makes no step in a second. Then an RT
 * task sleeps once on X, and the lower task runs there.
 *
 * Exit status: 0 if it occurred, 1 if not, 2 without a thread, 4 (skip) with fewer than 3 CPUs.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "threads.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MSEC 1000000ull
#define SKIP 4

static _Atomic uint64_t upper, lower;
static _Atomic bool over;

static void *spin(void *steps)
{
	while (!atomic_load_explicit(&over, memory_order_relaxed))
		atomic_fetch_add_explicit((_Atomic uint64_t *)steps, 1, memory_order_relaxed);
	return NULL;
}

/* An RT task that runs once and sleeps on the CPU that it is pinned to. */
static void *touch(void *unused)
{
	(void)unused;
	sleep_ns(10 * MSEC);
	return NULL;
}

static uint64_t steps_in(const _Atomic uint64_t *steps, uint64_t ns)
{
	uint64_t before = atomic_load(steps);

	sleep_ns(ns);
	return atomic_load(steps) - before;
}

/* @a: where both wait or run; @x: offline at first. */
static bool try_once(int a, int x)
{
	pthread_t threads[3];
	uint64_t before, waits, runs;
	char path[80];
	const cpu_set_t only_a = one_cpu(a), only_x = one_cpu(x);
	cpu_set_t both;

	CPU_OR(&both, &only_a, &only_x);
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", x);
	if (write_text(path, "0") < 0) {
		printf("CPU %d cannot be taken offline: %s\n", x, strerror(errno));
		return false;
	}
	atomic_store(&over, false);
	threads[0] = start_thread(spin, &upper, 50, &only_a);
	threads[1] = start_thread(spin, &lower, 40, &both);
	before = steps_in(&lower, 200 * MSEC);
	write_text(path, "1");
	waits = steps_in(&lower, 1000 * MSEC);
	threads[2] = start_thread(touch, NULL, 30, &only_x);
	runs = steps_in(&lower, 1000 * MSEC);
	atomic_store(&over, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("steps of the lower task: %llu with CPU %d offline, %llu in 1 s with it online, "
	       "%llu in 1 s after an RT task slept there\n",
	       (unsigned long long)before, x, (unsigned long long)waits, (unsigned long long)runs);
	return !before && !waits && runs;
}

int main(int argc, char **argv)
{
	unsigned int seconds = parse_seconds("linux-online", argc > 1 ? argv[1] : NULL);
	uint64_t end = now_ns() + seconds * 1000 * MSEC;
	const struct sched_param param = { .sched_priority = 95 };
	struct cpu_list cpus;
	bool seen = false;

	if (online_cpus(&cpus) < 0 || cpus.nr < 3) {
		printf("fewer than three CPUs: the fault cannot occur\n");
		return SKIP;
	}
	sched_setscheduler(0, SCHED_FIFO, &param);
	while (!seen && now_ns() < end)
		seen = try_once(cpus.cpu[1], cpus.cpu[cpus.nr - 1]);
	if (!seen)
		printf("the CPU pulled the task at once\n");
	return seen ? 0 : 1;
}
