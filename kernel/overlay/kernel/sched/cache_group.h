/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cache-aware scheduling: where a process ran, in place of a runtime for every possible CPU.
 *
 * The cache group of a process is made with its mm and has no memory that depends on the number of
 * CPUs. Its set of visited CPUs (lib/schedshard/visited.c) comes with the first scan, which is the
 * first tick that finds two threads; before that Linux lets a process prefer nothing anyway. A CPU
 * that accounts writes its own record and takes no lock. A scan walks the visited CPUs, each LLC's
 * span as far as it was visited, and takes no lock of any run queue, nor cpus_read_lock().
 *
 * Epochs are counted in one place for all CPUs, since visited CPUs compare theirs: with an epoch a
 * run queue, which counts on when it is used, the numbers would part as soon as llc_epoch_period
 * is changed.
 */
#ifndef _KERNEL_SCHED_CACHE_GROUP_H
#define _KERNEL_SCHED_CACHE_GROUP_H

#include <linux/container_of.h>
#include <linux/schedshard/visited.h>
#include "sched.h"

struct cache_group_shadow;

/**
 * struct cache_group - what a process has
 * @common: what Linux knows of it; its pcpu_sched is NULL
 * @visited: NULL until the first scan, set once
 * @shadow: of the check, or NULL
 */
struct cache_group {
	struct sched_cache_group common;
	struct visited *visited;
#ifdef CONFIG_SCHED_SHARD_DEBUG
	struct cache_group_shadow *shadow;
#endif
};

static inline struct cache_group *to_cache_group(struct sched_cache_group *common)
{
	return container_of(common, struct cache_group, common);
}

struct sched_cache_group *cache_group_alloc(void);
void cache_group_free(struct sched_cache_group *common);
unsigned long cache_group_epoch(void);
unsigned long cache_group_account(struct rq *rq, struct sched_cache_group *common, s64 delta);
bool cache_group_walk(struct sched_cache_group *common, struct cpumask *cpus);
unsigned long cache_group_share(struct sched_cache_group *common, int cpu);

#ifdef CONFIG_SCHED_SHARD_DEBUG

struct cache_group_shadow *cache_group_shadow_alloc(void);
void cache_group_shadow_account(struct cache_group *group, int cpu, u32 epoch, u64 ns,
				bool counted);

/**
 * cache_group_check_begin() - look at a scan beside it
 * @common: the group
 * @cpus: what it walks
 *
 * Return: a mask to be filled with the CPUs that Linux would scan, and given to
 * cache_group_check_end(), with preemption off until then; NULL: nobody looks.
 */
struct cpumask *cache_group_check_begin(struct sched_cache_group *common,
					const struct cpumask *cpus);
void cache_group_check_end(struct sched_cache_group *common, const struct cpumask *full, int cpu,
			   unsigned long best, unsigned long present);

#else

static inline struct cpumask *cache_group_check_begin(struct sched_cache_group *common,
						      const struct cpumask *cpus)
{
	return NULL;
}

static inline void cache_group_check_end(struct sched_cache_group *common,
					 const struct cpumask *full, int cpu, unsigned long best,
					 unsigned long present)
{
}

#endif /* CONFIG_SCHED_SHARD_DEBUG */

#endif /* _KERNEL_SCHED_CACHE_GROUP_H */
