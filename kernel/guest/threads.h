/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* threads.h - starts threads whose CPUs and priority are set before they run. */
#ifndef THREADS_H
#define THREADS_H

#include <pthread.h>
#include <sched.h>

/**
 * one_cpu() - a set of one CPU
 * @cpu: its number, below CPU_SETSIZE
 *
 * Return: the set.
 */
cpu_set_t one_cpu(int cpu);

/**
 * start_thread() - start a thread; ends the program with status 2 when that fails
 * @body: what it runs
 * @arg: argument of @body
 * @priority: of SCHED_FIFO, 1 to 99; 0: a normal task
 * @cpus: where it may run; NULL: where the caller may
 *
 * Return: the thread.
 */
pthread_t start_thread(void *(*body)(void *), void *arg, int priority, const cpu_set_t *cpus);

/**
 * bind_thread() - change where a thread may run; ends the program with status 2 when that fails
 * @thread: the thread, which may be the caller
 * @cpus: where it may run
 */
void bind_thread(pthread_t thread, const cpu_set_t *cpus);

#endif
