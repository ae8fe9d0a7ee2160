/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compare a scan of visited CPUs with one of all CPUs. cache_group.c and task_cache_work() call
 * these functions.
 */
#ifndef _KERNEL_SCHED_CACHE_GROUP_DEBUG_H
#define _KERNEL_SCHED_CACHE_GROUP_DEBUG_H

#include "cache_group.h"

#ifdef CONFIG_SCHED_SHARD_DEBUG

/* At a process's first scan: give it a shadow if checks are on. One scan at a time. */
void cache_group_shadow_make(struct cache_group *group);

/* visited_account() of a CPU returned true. */
void cache_group_shadow_account(struct cache_group *group, int cpu, unsigned long epoch, s64 ns);

/* visited_account() dropped a runtime. */
void cache_group_shadow_put_off(struct cache_group *group);

/* A scan of @cpus begins. Return: is it checked? For cache_group_check_end(). */
bool cache_group_check_begin(struct sched_cache_group *common, const struct cpumask *cpus);

/* The scan found these sums: of the best LLC, which @cpu is in, and of the present one. */
void cache_group_check_end(struct sched_cache_group *common, bool looked, int cpu,
			   unsigned long best, unsigned long present);

#else

static inline void cache_group_shadow_make(struct cache_group *group) { }

static inline void cache_group_shadow_account(struct cache_group *group, int cpu,
					      unsigned long epoch, s64 ns)
{
}

static inline void cache_group_shadow_put_off(struct cache_group *group) { }

static inline bool cache_group_check_begin(struct sched_cache_group *common,
					   const struct cpumask *cpus)
{
	return false;
}

static inline void cache_group_check_end(struct sched_cache_group *common, bool looked, int cpu,
					 unsigned long best, unsigned long present)
{
}

#endif /* CONFIG_SCHED_SHARD_DEBUG */

#endif /* _KERNEL_SCHED_CACHE_GROUP_DEBUG_H */
