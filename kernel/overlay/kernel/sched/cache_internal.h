/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of cache-aware scheduling. */
#ifndef _KERNEL_SCHED_CACHE_INTERNAL_H
#define _KERNEL_SCHED_CACHE_INTERNAL_H

#include <linux/mmu_context.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/schedshard/machine.h>
#include <linux/schedshard/occupancy.h>
#include <linux/schedshard/visited.h>
#include "sched.h"

struct dentry;

/**
 * struct sched_cache - where a process ran lately, and the cache that it prefers
 * @visited: CPUs and runtimes
 * @preferred: number of the LLC, -1: none; the scan writes it, any CPU reads it
 * @home: the process's NUMA node when the scan made this
 * @refs: the process has one, and a running scan
 * @rcu: frees it
 */
struct sched_cache {
	struct visited *visited;
	s32 preferred;
	s32 home;
	refcount_t refs;
	struct rcu_head rcu;
};

/* A last-level cache. */
struct sched_cache_llc {
	u32 first_shard; /* its first shard */
	u32 end_shard;	 /* the one after its last */
	u64 bytes;	 /* its size, 0: unknown */
};

/* Made once, before the static key is first enabled. */
extern struct visited_pool *sched_cache_pool;
extern struct sched_cache_llc *sched_cache_llcs;

/* The knobs' directory; NULL with one last-level cache. */
extern struct dentry *sched_cache_dir;

/* Knobs: independent numbers, read on use. */
extern u32 sched_cache_tolerance, sched_cache_timeout;

/* kernel/sched/cache.c: */
u64 sched_cache_period(void);
void sched_cache_set_period(u64 ns);
u32 sched_cache_epoch_at(u64 now, u64 *next);
void sched_cache_put(struct sched_cache *c);

/* kernel/sched/cache_scan.c: */
void sched_cache_scan(struct sched_cache *c);

static inline s32 sched_cache_llc_of(int cpu)
{
	const struct shard_plan *plan = schedshard_plan;

	return plan->shard[plan->slot[cpu].shard].llc;
}

#endif /* _KERNEL_SCHED_CACHE_INTERNAL_H */
