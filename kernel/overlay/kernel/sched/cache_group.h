/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cache-aware scheduling: where a process ran, in place of a runtime for every possible CPU.
 *
 * The creation of an mm makes its cache group, whose size does not depend on the number of CPUs.
 * The first scan makes the set of visited CPUs (lib/schedshard/visited.c). That is the first tick
 * that finds two threads; before it the process prefers no LLC in Linux either. A CPU that accounts
 * writes its own record and takes no lock. A scan walks the visited CPUs of each LLC's span,
 * without a run queue's lock or cpus_read_lock().
 *
 * One place counts epochs for all CPUs, since visited CPUs compare theirs. Epochs of run queues,
 * which advance on use, would differ after a change of llc_epoch_period.
 */
#ifndef _KERNEL_SCHED_CACHE_GROUP_H
#define _KERNEL_SCHED_CACHE_GROUP_H

#include <linux/container_of.h>
#include <linux/schedshard/visited.h>
#include "sched.h"

/**
 * struct cache_group - a process's cache group
 * @common: Linux's own part; its pcpu_sched is NULL
 * @visited: NULL until the first scan, set once
 */
struct cache_group {
	struct sched_cache_group common;
	struct visited *visited;
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

#endif /* _KERNEL_SCHED_CACHE_GROUP_H */
