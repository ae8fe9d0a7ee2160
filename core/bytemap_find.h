/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Searches of a byte map for values. Concurrency and what a search sees: bytemap.h. Context: any.
 *
 * @allowed: cpumask of plan->nr_cpus bits by CPU number; only its CPUs count, without holes; NULL:
 *	all possible CPUs
 * @from_cpu: CPU number that "nearest" starts from: own shard, same LLC, same node, same package,
 *	the rest; in a shard by position
 * @found: NULL, or the caller's own cpumask, overwritten with all CPUs found
 * @first_cpu: NULL, or where to store the number of the nearest CPU found, -1: none
 *
 * Ordering: none. Lines touched: those of shards that have an allowed CPU, nearest shard first, and
 * without @found none after the hit that settles the answer.
 */
#ifndef BYTEMAP_FIND_H
#define BYTEMAP_FIND_H

#include "bytemap.h"

/* CPUs at @value, 0..127. Return: how many; without @found 1 or 0. */
u32 bytemap_find_equal(const struct bytemap *m, u8 value, const unsigned long *allowed,
		       u32 from_cpu, unsigned long *found, s64 *first_cpu);

/* CPUs below @limit, 0..128. Return: how many; without @found 1 or 0. */
u32 bytemap_find_below(const struct bytemap *m, u8 limit, const unsigned long *allowed,
		       u32 from_cpu, unsigned long *found, s64 *first_cpu);

/*
 * CPUs at the lowest value of all, if that is below @limit, 0..128. One pass: it returns the lowest
 * value that it read, and in @found the CPUs that it read at that value. Without @found the search
 * ends early only at value 0. Return: the lowest value, -1: no allowed CPU is below @limit.
 */
int bytemap_find_min(const struct bytemap *m, u8 limit, const unsigned long *allowed, u32 from_cpu,
		     unsigned long *found, s64 *first_cpu);

#endif /* BYTEMAP_FIND_H */
