// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * rt-groups SLEEP_NS|spin GROUP...: starts a process for each group of CPUs. The process has one
 * FIFO thread for each CPU of the group. A thread sleeps, wakes up and sleeps again until a signal
 * ends it. With SLEEP_NS 0 the threads pass a token round, and each sleeps until the token comes,
 * because an emulator performs many more wake-ups without timers. With "spin" the threads never
 * sleep, so a group that is named twice has a waiting thread for each CPU.
 *
 *   GROUP   CPUS[:CGROUP[:PRIORITY]]   CPUs as the kernel lists them without commas (4-7); the
 *           cgroup of the process; the threads' priority, default 50; 0: they are normal threads
 *
 * All threads of a group may run on all of its CPUs and on no other. The threads of a group begin
 * when all of them exist, so that a program that waits for their number finds them at work.
 *
 * Exit status: 1 if a process cannot enter its cgroup; otherwise a signal ends the program.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PRIORITY    50
#define STACK_BYTES (64 * 1024)

struct member {
	int from, to; /* pipes: the token's source and destination */
};

static uint64_t sleep_for;
static bool spin;
static pthread_barrier_t made;
static struct member members[GUEST_CPUS];

static void cpu_pause(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#else
	__asm__ volatile("" ::: "memory");
#endif
}

static int give_up(const char *group, const char *what, int error)
{
	fprintf(stderr, "rt-groups: %s: %s: %s\n", group, what, strerror(error));
	return 1;
}

static void *wake_up(void *arg)
{
	const struct member *own = arg;
	char token = 0;

	pthread_barrier_wait(&made);
	/* If all CPUs share one thread of the host, a CPU that pauses passes its turn on. */
	while (spin)
		cpu_pause();
	while (sleep_for)
		sleep_ns(sleep_for);
	/* The first member has the token at the start. */
	if (own == &members[0] && write(own->to, &token, 1) != 1)
		return NULL;
	while (read(own->from, &token, 1) == 1 && write(own->to, &token, 1) == 1)
		;
	return NULL;
}

static int make_ring(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		int ends[2];

		if (pipe(ends) < 0)
			return -1;
		members[i].to = ends[1];
		members[(i + 1) % nr].from = ends[0];
	}
	return 0;
}

/* The cgroup first: it decides which CPUs sched_setaffinity() accepts. */
static int move(const char *group, const char *cgroup)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	if (write_text(path, "0") < 0)
		return give_up(group, path, errno);
	return 0;
}

static int start_threads(const char *group, unsigned int nr, int priority)
{
	struct sched_param param = { .sched_priority = priority };
	pthread_attr_t attr;
	int error;

	if (make_ring(nr) < 0)
		return give_up(group, "pipe", errno);
	pthread_barrier_init(&made, NULL, nr);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, priority ? SCHED_FIFO : SCHED_OTHER);
	pthread_attr_setschedparam(&attr, &param);
	for (unsigned int i = 0; i < nr; i++) {
		pthread_t thread;

		error = pthread_create(&thread, &attr, wake_up, &members[i]);
		if (error)
			return give_up(group, "making a thread", error);
	}
	return 0;
}

static int run_group(char *group)
{
	char *state, *cpus = strtok_r(group, ":", &state), *cgroup = strtok_r(NULL, ":", &state);
	char *priority = strtok_r(NULL, ":", &state);
	struct cpu_list list;
	cpu_set_t mask;

	if (cgroup && move(cpus, cgroup))
		return 1;
	parse_cpu_list(cpus, &list);
	CPU_ZERO(&mask);
	for (unsigned int i = 0; i < list.nr; i++)
		CPU_SET(list.cpu[i], &mask);
	if (sched_setaffinity(0, sizeof(mask), &mask) < 0)
		return give_up(cpus, "affinity", errno);
	if (start_threads(cpus, list.nr, priority ? atoi(priority) : PRIORITY))
		return 1;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: rt-groups SLEEP_NS|spin CPUS[:CGROUP[:PRIORITY]]...\n");
		return 2;
	}
	spin = !strcmp(argv[1], "spin");
	sleep_for = strtoull(argv[1], NULL, 10);
	for (int i = 2; i < argc; i++) {
		pid_t pid = fork();

		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			return run_group(argv[i]);
		}
		if (pid < 0)
			return give_up(argv[i], "fork", errno);
	}
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
