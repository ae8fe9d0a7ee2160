/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * cpulist.h - the kernel's list format for sets of numbers, "0-3,8,10-11".
 *
 * Used for sysfs files (shared_cpu_list, possible, cpulist) and for the cpus, cores and l2 keys of
 * machine files. A set has a fixed size of 1 KiB, so that it lives on the stack and error paths
 * free nothing.
 */
#ifndef SCHEDSHARD_CPULIST_H
#define SCHEDSHARD_CPULIST_H

#include <stddef.h>
#include <stdbool.h>
#include "port.h"
#include "internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/** struct cpulist - a set of numbers below %SHARD_LIB_MAX_CPUS */
struct cpulist {
	u64 word[SHARD_LIB_MAX_CPUS / 64];
};

/**
 * shard_cpulist_parse() - read a list
 * @list: receives the set; undefined on failure
 * @text: the list; white space at the end is allowed, an empty text is the empty set
 * @len: bytes of @text
 *
 * Return: NULL, or a description that continues "the value ...".
 */
const char *shard_cpulist_parse(struct cpulist *list, const char *text, size_t len);

/**
 * shard_cpumask_parse() - read a mask such as 00000000,000000ff, the highest numbers first
 * @list: receives the set; undefined on failure
 * @text: the mask; no white space
 * @len: bytes of @text
 *
 * Return: NULL, or a description that continues "the value ...".
 */
const char *shard_cpumask_parse(struct cpulist *list, const char *text, size_t len);

static inline bool cpulist_test(const struct cpulist *list, u32 nr)
{
	return list->word[nr / 64] >> nr % 64 & 1;
}

static inline void cpulist_add(struct cpulist *list, u32 nr)
{
	list->word[nr / 64] |= 1ULL << nr % 64;
}

/* The first member at or after @from; SHARD_LIB_MAX_CPUS when there is none. */
u32 shard_cpulist_next(const struct cpulist *list, u32 from);

/* The number of members. */
u32 shard_cpulist_weight(const struct cpulist *list);

#define cpulist_for_each(nr, list)                                          \
	for ((nr) = shard_cpulist_next(list, 0); (nr) < SHARD_LIB_MAX_CPUS; \
	     (nr) = shard_cpulist_next(list, (nr) + 1))

#ifdef __cplusplus
}
#endif

#endif
