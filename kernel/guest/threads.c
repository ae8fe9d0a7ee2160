// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#define _GNU_SOURCE
#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(int error, const char *what)
{
	if (!error)
		return;
	printf("%s: %s\n", what, strerror(error));
	exit(2);
}

cpu_set_t one_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return set;
}

pthread_t start_thread(void *(*body)(void *), void *arg, int priority, const cpu_set_t *cpus)
{
	const struct sched_param param = { .sched_priority = priority };
	pthread_attr_t attr;
	pthread_t thread;

	/* Do not inherit the caller's priority: the thread could keep the caller from its CPU. */
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, priority ? SCHED_FIFO : SCHED_OTHER);
	pthread_attr_setschedparam(&attr, &param);
	if (cpus)
		pthread_attr_setaffinity_np(&attr, sizeof(*cpus), cpus);
	need(pthread_create(&thread, &attr, body, arg), "no thread");
	pthread_attr_destroy(&attr);
	return thread;
}

void bind_thread(pthread_t thread, const cpu_set_t *cpus)
{
	need(pthread_setaffinity_np(thread, sizeof(*cpus), cpus), "cannot bind a thread to CPUs");
}
