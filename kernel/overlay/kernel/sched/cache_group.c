// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a process ran. Who may look at a struct cache_group: those who may look at its
 * sched_cache_group, under RCU (a run queue's lock at the least) or with a reference. It is freed,
 * with its set, a grace period after the last reference. Blocks that a scan takes out of a set are
 * freed after another one, so that a CPU that found one may write into it.
 */
#include <linux/init.h>
#include <linux/schedshard/machine.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include "cache_group.h"

/* NULL until it is made at boot, or when there was no memory for it: nobody has a set then. */
static struct visited_pool *pool __ro_after_init;

/* ---- epochs ---- */

static DEFINE_RAW_SPINLOCK(epoch_lock);
static unsigned long epoch_number, epoch_end; /* both written under epoch_lock */

static void next_epoch(unsigned long now)
{
	unsigned long period = max(READ_ONCE(llc_epoch_period), 1U);
	unsigned long late;

	/* Whoever has it does the same. In an interrupt that may be who was interrupted. */
	if (!raw_spin_trylock(&epoch_lock))
		return;
	late = now - epoch_end;
	if ((long)late > 0) {
		unsigned long n = DIV_ROUND_UP(late, period);

		WRITE_ONCE(epoch_number, epoch_number + n);
		/* Pairs with cache_group_epoch(): who sees the new end sees the number. */
		smp_store_release(&epoch_end, epoch_end + n * period);
	}
	raw_spin_unlock(&epoch_lock);
}

/**
 * cache_group_epoch() - the number of the epoch
 *
 * Context: any. Lines touched: one, written once an epoch by one CPU.
 */
unsigned long cache_group_epoch(void)
{
	unsigned long now = jiffies;

	/* Pairs with the release in next_epoch(). */
	if (unlikely(time_after(now, smp_load_acquire(&epoch_end))))
		next_epoch(now);
	return READ_ONCE(epoch_number);
}

/* ---- the group ---- */

struct sched_cache_group *cache_group_alloc(void)
{
	struct cache_group *group = kzalloc_obj(*group);

	return group ? &group->common : NULL;
}

/* After a grace period; from an RCU callback. */
void cache_group_free(struct sched_cache_group *common)
{
	struct cache_group *group = to_cache_group(common);

	visited_free(group->visited);
#ifdef CONFIG_SCHED_SHARD_DEBUG
	kvfree(group->shadow);
#endif
	kfree(group);
}

/* The first scan: what is accounted from now on is kept. */
static void make(struct cache_group *group)
{
	struct visited *v;

	if (!pool)
		return;
	v = visited_alloc(pool, numa_mem_id(), cache_group_epoch());
	if (!v)
		return;
#ifdef CONFIG_SCHED_SHARD_DEBUG
	/* One scan at a time, which Linux sees to. */
	if (!group->shadow)
		group->shadow = cache_group_shadow_alloc();
#endif
	/* Full order: who finds it finds it set up. */
	if (cmpxchg(&group->visited, NULL, v))
		visited_free(v);
}

static struct visited *visited_of(struct cache_group *group)
{
	/* Pairs with the cmpxchg() in make(). */
	return smp_load_acquire(&group->visited);
}

/* ---- accounting ---- */

/**
 * cache_group_account() - the running thread of a CPU ran on
 * @rq: its queue, locked
 * @common: its process's group; loaded under RCU
 * @delta: for how long, nanoseconds, more than 0
 *
 * The first runtimes on a shard may be dropped for lack of a block; the queue keeps its share.
 *
 * Return: the epoch.
 */
unsigned long cache_group_account(struct rq *rq, struct sched_cache_group *common, s64 delta)
{
	struct cache_group *group = to_cache_group(common);
	struct visited *v = visited_of(group);
	unsigned long epoch = cache_group_epoch();
	bool counted;

	if (!v) {
		WRITE_ONCE(rq->cpu_runtime, occupancy_add(rq->cpu_runtime, (u32)epoch, delta));
		return epoch;
	}
	counted = visited_account(v, &rq->cpu_runtime, cpu_of(rq), (u32)epoch, delta);
#ifdef CONFIG_SCHED_SHARD_DEBUG
	if (unlikely(group->shadow))
		cache_group_shadow_account(group, cpu_of(rq), (u32)epoch, delta, counted);
#endif
	return epoch;
}

/* ---- the scan ---- */

static bool next_visited(struct visited_scan *s, u32 *cpu)
{
	u64 word;

	/* While a CPU or a block is taken out, others must not wait for us to come back. */
	guard(preempt)();
	return visited_scan_next(s, cpu, &word);
}

static void free_blocks(struct visited_block *list)
{
	while (list) {
		struct visited_block *next = list->next;

		kvfree_rcu_mightsleep(list);
		list = next;
	}
}

/**
 * cache_group_walk() - where has a process been within the timeout?
 * @common: its group, with a reference
 * @cpus: these CPUs, an empty mask to begin with
 *
 * Context: may sleep.
 * Return: false when there is nothing to scan: its first scan, or another one in this epoch.
 */
bool cache_group_walk(struct sched_cache_group *common, struct cpumask *cpus)
{
	struct cache_group *group = to_cache_group(common);
	struct visited *v = visited_of(group);
	struct visited_scan s;
	u32 cpu = raw_smp_processor_id();

	if (pool && visited_pool_low(pool, cpu))
		visited_pool_fill(pool, cpu);
	if (!v) {
		make(group);
		return false;
	}
	if (!visited_scan_begin(&s, v, (u32)cache_group_epoch(),
				(s32)READ_ONCE(llc_epoch_affinity_timeout)))
		return false;
	while (next_visited(&s, &cpu))
		__cpumask_set_cpu(cpu, cpus);
	free_blocks(visited_scan_end(&s));
	return true;
}

/**
 * cache_group_share() - how much of a CPU a process had
 * @common: its group; in an RCU read-side section
 * @cpu: the CPU
 *
 * Return: 0 to NICE_0_LOAD.
 */
unsigned long cache_group_share(struct sched_cache_group *common, int cpu)
{
	/* A load barrier is behind the word, as occupancy_share() needs it. */
	u64 word = visited_word(to_cache_group(common)->visited, cpu);

	return occupancy_share(word, READ_ONCE(cpu_rq(cpu)->cpu_runtime), (u32)cache_group_epoch());
}

static int __init cache_group_init(void)
{
	BUILD_BUG_ON(OCCUPANCY_SCALE != NICE_0_LOAD);
	BUILD_BUG_ON(offsetof(struct cache_group, common)); /* where Linux frees it */
	pool = visited_pool_alloc(schedshard_plan);
	return pool ? 0 : -ENOMEM;
}

/* Behind the slab cache of blocks, ahead of the first process that has two threads. */
subsys_initcall(cache_group_init);
