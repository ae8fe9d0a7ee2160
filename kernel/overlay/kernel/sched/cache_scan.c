// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find the last-level cache that a process runs in most.
 *
 * The scan walks the CPUs that the process visited within the timeout (lib/schedshard/visited.c),
 * LLC by LLC, and adds up the process's share of each. It touches nothing of other LLCs. Scheduler
 * features offer two scans for comparison: all online CPUs (NO_CACHE_VISITED), or those in the
 * nodes of the process's memory, of its preferred cache and of the scanning thread (CACHE_NODE).
 *
 * The scan computes the number of running threads from their runtime, as a count would read every
 * queue: a CPU that is always in use comes to twice an epoch (occupancy.h).
 *
 * Offline CPUs account nothing, and leave the set with the timeout. A preference for an LLC without
 * an online CPU ends with the next scan, as no process fits it.
 */
#include <linux/mm.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/topology.h>
#include "cache_internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/sched_cache.h>

/**
 * struct sums - the sums of a scan
 * @o: shares by LLC
 * @epoch: of the scan
 * @ran: runtimes, decayed, nanoseconds
 * @looked: the number of CPUs that the scan read
 */
struct sums {
	struct occupancy o;
	u32 epoch;
	u64 ran;
	u32 looked;
};

static void add(struct sums *sums, int cpu, u64 word)
{
	/* The caller read @word, then had a load barrier. */
	u64 queue = READ_ONCE(cpu_rq(cpu)->cache.runtime);

	sums->ran += occupancy_decayed(word, sums->epoch);
	occupancy_cpu(&sums->o, sched_cache_llc_of(cpu), occupancy_share(word, queue, sums->epoch));
}

static bool next_visited(struct visited_scan *s, u32 *cpu, u64 *word)
{
	/* Preempted during a removal of a CPU or a block, this task would make other CPUs wait. */
	guard(preempt)();
	return visited_scan_next(s, cpu, word);
}

static void sum_visited(struct sums *sums, struct visited_scan *s)
{
	u64 word;
	u32 cpu;

	while (next_visited(s, &cpu, &word))
		add(sums, cpu, word);
	sums->looked = s->looked;
}

static int node_of_llc(s32 llc)
{
	return llc < 0 ? NUMA_NO_NODE
		       : schedshard_plan->shard[sched_cache_llcs[llc].first_shard].node;
}

static int home_of(const struct sched_cache *c)
{
#ifdef CONFIG_NUMA_BALANCING
	if (current->numa_preferred_nid != NUMA_NO_NODE)
		return current->numa_preferred_nid;
#endif
	return c->home;
}

static void sum_all(struct sums *sums, struct sched_cache *c, bool by_node)
{
	const struct shard_plan *plan = schedshard_plan;
	int home = home_of(c), preferred = node_of_llc(sums->o.present), here = numa_node_id();
	u32 i;

	for (i = 0; i < plan->nr_possible; i++) {
		u32 cpu = plan->idx_to_cpu[i];
		int node = plan->shard[plan->slot[cpu].shard].node;

		if (!cpu_online(cpu))
			continue;
		if (by_node && node != home && node != preferred && node != here)
			continue;
		add(sums, cpu, visited_word(c->visited, cpu));
		sums->looked++;
	}
}

/* Online CPUs count: load cannot fill the others. */
static void describe_cache(s32 llc, struct occupancy_cache *cache)
{
	const struct shard_plan *plan = schedshard_plan;
	const struct sched_cache_llc *range = &sched_cache_llcs[llc];
	u32 shard, pos;

	*cache = (struct occupancy_cache){ .smt = 1, .bytes = READ_ONCE(range->bytes) };
	for (shard = range->first_shard; shard < range->end_shard; shard++) {
		for (pos = 0; pos < plan->shard[shard].nr_cpus; pos++) {
			u32 cpu = plan->shard_cpus[shard][pos];

			if (!cpu_online(cpu))
				continue;
			if (!cache->cpus++)
				cache->smt = max(1, cpumask_weight(topology_sibling_cpumask(cpu)));
		}
	}
}

static u64 footprint(struct mm_struct *mm)
{
	return (u64)(get_mm_counter(mm, MM_ANONPAGES) + get_mm_counter(mm, MM_SHMEMPAGES))
	       << PAGE_SHIFT;
}

static s32 preference(struct sums *sums, s32 idle, s32 timeout)
{
	struct occupancy_process process = {
		.idle = idle,
		.threads = get_nr_threads(current),
		.running = DIV_ROUND_UP_ULL(sums->ran, 2 * sched_cache_period()),
		.footprint = footprint(current->mm),
	};
	s32 best = occupancy_end(&sums->o);
	struct occupancy_cache cache;

	if (best < 0)
		return -1;
	describe_cache(best, &cache);
	if (!cache.cpus ||
	    !occupancy_may_prefer(&process, &cache, timeout, READ_ONCE(sched_cache_tolerance)))
		return -1;
	return best;
}

/* After a grace period: a CPU that found a block may still write into it. */
static void free_blocks(struct visited_block *list)
{
	while (list) {
		struct visited_block *next = list->next;

		kvfree_rcu_mightsleep(list);
		list = next;
	}
}

/* Return: false when another thread scans, or has scanned in this epoch. */
static bool scan(struct sched_cache *c, struct sums *sums, s32 timeout)
{
	u64 start = local_clock();
	struct visited_scan s;
	s32 preferred;

	if (!visited_scan_begin(&s, c->visited, sums->epoch, timeout))
		return false;
	occupancy_begin(&sums->o, c->preferred);
	if (sched_feat(CACHE_NODE))
		sum_all(sums, c, true);
	else if (sched_feat(CACHE_VISITED))
		sum_visited(sums, &s);
	else
		sum_all(sums, c, false);
	preferred = preference(sums, s.idle, timeout);
	if (preferred != c->preferred)
		WRITE_ONCE(c->preferred, preferred);
	trace_sched_cache_scan(current, sums->looked, preferred, local_clock() - start);
	free_blocks(visited_scan_end(&s));
	return true;
}

/*
 * Find the cache that the current process prefers, once an epoch. The caller has a reference. May
 * sleep.
 */
void sched_cache_scan(struct sched_cache *c)
{
	struct sums sums = { .epoch = sched_cache_epoch_at(local_clock(), NULL) };
	s32 timeout = READ_ONCE(sched_cache_timeout);

	if (visited_pool_low(sched_cache_pool, raw_smp_processor_id()))
		visited_pool_fill(sched_cache_pool, raw_smp_processor_id());
	scan(c, &sums, timeout);
}
