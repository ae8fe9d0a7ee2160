// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CPUs that a process visited. A reader of a struct cache_group needs what a reader of its
 * sched_cache_group needs: RCU (at least a run queue's lock) or a reference. RCU frees it, with its
 * set, a grace period after the last reference. A further grace period delays the free of blocks
 * that a scan removed, so that a CPU that found one may write into it.
 */
#include <linux/init.h>
#include <linux/schedshard/machine.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include "cache_group.h"

/* NULL before boot makes it, or without memory for it: then no process has a set. */
static struct visited_pool *pool __ro_after_init;

static DEFINE_RAW_SPINLOCK(epoch_lock);
/* epoch_lock protects writes of both. */
static unsigned long epoch_number, epoch_end = INITIAL_JIFFIES;

static void next_epoch(unsigned long now)
{
	unsigned long period = max(READ_ONCE(llc_epoch_period), 1U);
	unsigned long late;

	/* The holder does the same. In an interrupt the interrupted code may be the holder. */
	if (!raw_spin_trylock(&epoch_lock))
		return;
	late = now - epoch_end;
	if ((long)late > 0) {
		unsigned long n = DIV_ROUND_UP(late, period);

		WRITE_ONCE(epoch_number, epoch_number + n);
		/* Pairs with the acquire in cache_group_epoch(): the new end implies the number. */
		smp_store_release(&epoch_end, epoch_end + n * period);
	}
	raw_spin_unlock(&epoch_lock);
}

/* The number of the epoch. Context: any. Line touched: one, written once an epoch by one CPU. */
unsigned long cache_group_epoch(void)
{
	unsigned long now = jiffies;

	/* Pairs with the release in next_epoch(). */
	if (unlikely(time_after(now, smp_load_acquire(&epoch_end))))
		next_epoch(now);
	return READ_ONCE(epoch_number);
}

struct sched_cache_group *cache_group_alloc(void)
{
	struct cache_group *group = kzalloc_obj(*group);

	return group ? &group->common : NULL;
}

/* An RCU callback, after a grace period. */
void cache_group_free(struct sched_cache_group *common)
{
	struct cache_group *group = to_cache_group(common);

	visited_free(group->visited);
	kfree(group);
}

/* At the first scan: the set keeps later runtimes. */
static void make(struct cache_group *group)
{
	struct visited *v;

	if (!pool)
		return;
	v = visited_alloc(pool, numa_mem_id(), cache_group_epoch());
	if (!v)
		return;
	/* Pairs with the acquire in visited_of(): a CPU that finds the set finds it complete. */
	if (cmpxchg(&group->visited, NULL, v))
		visited_free(v);
}

static struct visited *visited_of(struct cache_group *group)
{
	/* Pairs with the cmpxchg() in make(). */
	return smp_load_acquire(&group->visited);
}

/*
 * Account runtime of a CPU's running thread, in nanoseconds, more than 0. The caller holds the
 * queue's lock; RCU keeps the group. Without a free block the set drops the first runtimes on a
 * shard; the queue keeps its share. Return: the epoch.
 */
unsigned long cache_group_account(struct rq *rq, struct sched_cache_group *common, s64 delta)
{
	struct cache_group *group = to_cache_group(common);
	struct visited *v = visited_of(group);
	unsigned long epoch = cache_group_epoch();

	if (!v) {
		port_write64(&rq->cpu_runtime, occupancy_add(rq->cpu_runtime, (u32)epoch, delta));
		return epoch;
	}
	visited_account(v, &rq->cpu_runtime, cpu_of(rq), (u32)epoch, delta);
	return epoch;
}

static bool next_visited(struct visited_scan *s, u32 *cpu)
{
	u64 word;

	/* A task preempted in the removal of a block would keep new shards out of the set. */
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
 * cache_group_walk() - find the CPUs that a process visited within the timeout
 * @common: its group, with a reference
 * @cpus: gets these CPUs; empty on entry
 *
 * Context: may sleep. Return: false: nothing to scan: its first scan, or another in this epoch.
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
 * cache_group_share() - a process's share of a CPU
 * @common: its group; in an RCU read-side section
 * @cpu: the CPU
 *
 * Return: 0 to NICE_0_LOAD.
 */
unsigned long cache_group_share(struct sched_cache_group *common, int cpu)
{
	/* visited_word() ends with the load barrier that occupancy_share() needs. */
	u64 word = visited_word(to_cache_group(common)->visited, cpu);
	u64 queue = port_read64(&cpu_rq(cpu)->cpu_runtime);

	/* On 32-bit machines NICE_0_LOAD is smaller, and sums have 32 bits. */
	return occupancy_share(word, queue, (u32)cache_group_epoch()) /
	       (OCCUPANCY_SCALE / (u32)NICE_0_LOAD);
}

static int __init cache_group_init(void)
{
	BUILD_BUG_ON(OCCUPANCY_SCALE % NICE_0_LOAD);
	BUILD_BUG_ON(offsetof(struct cache_group, common)); /* where Linux frees it */
	pool = visited_pool_alloc(schedshard_plan);
	return pool ? 0 : -ENOMEM;
}

/* After the slab cache of blocks, before the first process with two threads. */
subsys_initcall(cache_group_init);
