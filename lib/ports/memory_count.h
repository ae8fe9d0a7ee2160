/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The memory that redis has allocated, in one line per CPU instead of one word that all threads
 * change. Threads of redis are not bound to CPUs, so an add is a locked one, on the line of the
 * current CPU. A read sums all lines. Redis reads at each tick, and, if memory is limited, at each
 * command.
 */
#ifndef MEMORY_COUNT_H
#define MEMORY_COUNT_H

#include <schedshard/schedshard.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static struct schedshard_cpu_counter *memory_counter;

/* Runs before main() allocates. */
static __attribute__((constructor)) void memory_counter_begin(void)
{
	memory_counter = schedshard_cpu_counter_create(0);
	if (!memory_counter) {
		perror("schedshard_cpu_counter_create");
		exit(1);
	}
}

static inline void memory_count(long n)
{
	schedshard_cpu_counter_add_any(memory_counter, schedshard_this_cpu(), n);
}

static inline size_t memory_counted(void)
{
	return (size_t)schedshard_cpu_counter_sum(memory_counter);
}

#endif
