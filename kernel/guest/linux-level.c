// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * linux-level SECONDS: shows that Linux sends an RT task to wait behind a deadline task, although
 * the RT task could run elsewhere.
 *
 * The enqueue of a deadline task raises its CPU's level to the highest one. An RT task that wakes
 * behind the deadline task lowers the level to its own. Searches then find this CPU first.
 *
 *   CPU B    a deadline task spins; a task (FIFO 10) wakes behind it
 *   CPU L    a task (FIFO 15) spins
 *   CPU T    the victim (FIFO 20), which may run on all three, spins; a FIFO 30 task displaces it
 *
 * The victim belongs on L, which has the lowest task. Linux pushes the victim to B. There it makes
 * no step until the deadline task on B or the task on T ends its turn.
 *
 * If the fair server has its turn on L when the victim is displaced, L's level is not lower: the
 * victim waits on T, in any kernel.
 *
 * Exit status: 0 if the victim waited on B while L ran the lower task, 1 if it never did. 2 if a
 * task was refused, 4 (skip) if there are fewer than four CPUs.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "threads.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MSEC 1000000ull
#define SKIP 4
/* Long enough for an emulator whose CPUs take turns. */
#define DEADLINE_PERIOD (2000 * MSEC)
#define DEADLINE_SPINS	(600 * MSEC)
#define TOP_SPINS	(400 * MSEC)
#define WINDOW		(200 * MSEC)

static _Atomic uint64_t turns; /* how often the deadline task ran */
static _Atomic uint64_t deadline_steps, victim_steps, lower_steps, top_steps;
static _Atomic int victim_tid;
static sem_t wake_behind, wake_top;

static void spin_for(_Atomic uint64_t *steps, uint64_t ns)
{
	uint64_t until = now_ns() + ns;

	while (now_ns() < until)
		atomic_fetch_add_explicit(steps, 1, memory_order_relaxed);
}

static void *spin(void *steps)
{
	for (;;)
		atomic_fetch_add_explicit((_Atomic uint64_t *)steps, 1, memory_order_relaxed);
	return NULL;
}

static void *be_victim(void *unused)
{
	(void)unused;
	atomic_store(&victim_tid, (int)syscall(SYS_gettid));
	return spin(&victim_steps);
}

/* The CPU on which the victim runs or waits; -1: unknown. */
static int cpu_of_victim(void)
{
	char path[64], text[1024], *word;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", atomic_load(&victim_tid));
	if (read_text(path, text, sizeof(text)) < 0)
		return -1;
	/* Field 39. The name, the second field, may have blanks, so count from its parenthesis. */
	word = strrchr(text, ')');
	for (int field = 2; word && field < 39; field++)
		word = strchr(word + 1, ' ');
	return word ? atoi(word) : -1;
}

static void *be_deadline(void *unused)
{
	(void)unused;
	if (set_deadline(0, DEADLINE_SPINS + 100 * MSEC, DEADLINE_PERIOD) < 0) {
		printf("no deadline task: %s\n", strerror(errno));
		exit(2);
	}
	for (;;) {
		sched_yield(); /* until the next period */
		atomic_fetch_add(&turns, 1);
		spin_for(&deadline_steps, DEADLINE_SPINS);
	}
	return NULL;
}

static void *be_behind(void *unused)
{
	(void)unused;
	for (;;)
		sem_wait(&wake_behind);
	return NULL;
}

static void *be_top(void *unused)
{
	(void)unused;
	for (;;) {
		sem_wait(&wake_top);
		spin_for(&top_steps, TOP_SPINS);
	}
	return NULL;
}

static uint64_t steps_since(const _Atomic uint64_t *steps, uint64_t before)
{
	return atomic_load(steps) - before;
}

static void await_step(const _Atomic uint64_t *steps)
{
	uint64_t before = atomic_load(steps);

	while (!steps_since(steps, before))
		sleep_ns(MSEC);
}

struct counts {
	unsigned int rounds, waited_behind, waited_on_t;
};

/* Count a round if each task ran where the plan says. */
static void try_once(pthread_t victim, const struct cpu_list *cpus, struct counts *counts)
{
	const int b = cpus->cpu[1], l = cpus->cpu[2], t = cpus->cpu[3];
	const cpu_set_t only_t = one_cpu(t);
	uint64_t turn, by_deadline, by_victim, by_lower, by_top;
	cpu_set_t all_three = only_t;
	int from, to;

	bind_thread(victim, &only_t);
	await_step(&victim_steps);
	CPU_SET(b, &all_three);
	CPU_SET(l, &all_three);
	bind_thread(victim, &all_three);
	await_step(&turns);
	turn = atomic_load(&turns);
	sem_post(&wake_behind);
	sleep_ns(50 * MSEC);
	from = cpu_of_victim();
	sem_post(&wake_top);
	await_step(&top_steps);
	sleep_ns(50 * MSEC);
	by_deadline = atomic_load(&deadline_steps);
	by_victim = atomic_load(&victim_steps);
	by_lower = atomic_load(&lower_steps);
	by_top = atomic_load(&top_steps);
	sleep_ns(WINDOW);
	by_deadline = steps_since(&deadline_steps, by_deadline);
	by_victim = steps_since(&victim_steps, by_victim);
	by_lower = steps_since(&lower_steps, by_lower);
	by_top = steps_since(&top_steps, by_top);
	to = cpu_of_victim();
	if (from == t && by_deadline && by_top && atomic_load(&turns) == turn) {
		bool waits = !by_victim && by_lower;

		counts->rounds++;
		counts->waited_behind += waits && to == b;
		counts->waited_on_t += waits && to == t;
	}
	sleep_ns(TOP_SPINS);
}

int main(int argc, char **argv)
{
	unsigned int seconds = parse_seconds("linux-level", argc > 1 ? argv[1] : NULL);
	uint64_t end = now_ns() + seconds * 1000 * MSEC;
	const struct sched_param param = { .sched_priority = 95 };
	cpu_set_t first, behind, lower, top;
	struct counts counts = { 0 };
	struct cpu_list cpus;
	pthread_t victim;

	if (online_cpus(&cpus) < 0 || cpus.nr < 4) {
		printf("fewer than four CPUs: the fault cannot occur\n");
		return SKIP;
	}
	/* Without admission control a deadline task may be bound to a CPU. */
	if (write_text("/proc/sys/kernel/sched_rt_runtime_us", "-1") < 0) {
		printf("cannot write sched_rt_runtime_us: %s\n", strerror(errno));
		return 2;
	}
	first = one_cpu(cpus.cpu[0]);
	behind = one_cpu(cpus.cpu[1]);
	lower = one_cpu(cpus.cpu[2]);
	top = one_cpu(cpus.cpu[3]);
	bind_thread(pthread_self(), &first);
	sched_setscheduler(0, SCHED_FIFO, &param);
	sem_init(&wake_behind, 0, 0);
	sem_init(&wake_top, 0, 0);
	start_thread(be_deadline, NULL, 60, &behind);
	start_thread(be_behind, NULL, 10, &behind);
	start_thread(spin, &lower_steps, 15, &lower);
	start_thread(be_top, NULL, 30, &top);
	victim = start_thread(be_victim, NULL, 20, &top);
	while (now_ns() < end)
		try_once(victim, &cpus, &counts);
	printf("in %u rounds the FIFO 20 task waited behind the deadline task %u times, on its CPU "
	       "%u times, while the FIFO 15 task ran\n",
	       counts.rounds, counts.waited_behind, counts.waited_on_t);
	return counts.waited_behind ? 0 : 1;
}
