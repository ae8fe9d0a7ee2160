/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Makes a shard plan: cuts the CPUs into shards, then fills the plan's tables. Every set of records
 * results in a plan, even if the records contradict each other. An id counts only within its group
 * of the level above, so the same id in two such groups means two groups. shard_plan_build()
 * (shard_topo.h) reports such contradictions.
 *
 * Concurrency: records belong to one caller. Ordering: none. Context: may sleep.
 */
#ifndef SHARD_PLAN_MAKE_H
#define SHARD_PLAN_MAKE_H

#include "port.h"
#include "shard_plan.h"

/* Levels of the topology, from the largest to the smallest. */
enum shard_at {
	SHARD_AT_PACKAGE,
	SHARD_AT_NODE,
	SHARD_AT_LLC,
	SHARD_AT_L2,
	SHARD_AT_CORE,
	SHARD_AT_THREAD,
	SHARD_AT_LEVELS,
};

/**
 * struct shard_rec - one possible CPU during the making of a plan
 * @at: by level: an id; ids rise in topology order. A negative one is unknown. An unknown core
 *	makes this CPU a separate core; other levels are unknown for all CPUs or for none
 * @cpu: CPU number
 * @llc_nr: set by shard_plan_cut(): LLC as in struct shard
 * @shard: set by shard_plan_cut(): its shard
 */
struct shard_rec {
	s32 at[SHARD_AT_LEVELS];
	u32 cpu;
	u32 llc_nr;
	u32 shard;
};

/* Do the records agree in the first @levels levels? */
static inline bool shard_rec_agree(const struct shard_rec *a, const struct shard_rec *b, u32 levels)
{
	for (u32 level = 0; level < levels; level++)
		if (a->at[level] != b->at[level])
			return false;
	return true;
}

/* Do both records have the same known id at @level? */
static inline bool shard_rec_share(const struct shard_rec *a, const struct shard_rec *b, u32 level)
{
	return a->at[level] >= 0 && a->at[level] == b->at[level];
}

/* Sorts records; @order as for qsort(). The user of core/ provides it: shard_rec_sort.c does. */
void shard_rec_sort(struct shard_rec *rec, u32 n, int (*order)(const void *, const void *));

/* The order in which shard_plan_cut() cuts. */
int shard_rec_by_topology(const void *a, const void *b);

/*
 * Cut @n records, 1 or more and in any order, into shards of at most @cap CPUs, 1..64, and order
 * them as the plan does. Cuts a larger LLC into shards of about equal size, between L2 clusters
 * that fit, else between cores. Separates siblings only if a core has more than @cap CPUs. First
 * cuts an LLC that spans NUMA nodes (sub-NUMA clustering) between nodes, as a line has one home.
 * @cores: each shard contains CPUs of one core only. Return: the number of shards.
 */
u32 shard_plan_cut(struct shard_rec *rec, u32 n, u32 cap, bool cores);

/*
 * Fill a plan's tables. @head has @nr_cpus, @nr_possible and the fields to copy. @rec comes from
 * shard_plan_cut(), with at most SHARD_MAX_SHARDS shards. Return: the plan, or NULL without memory.
 */
struct shard_plan *shard_plan_make(const struct shard_plan *head, const struct shard_rec *rec);

#endif /* SHARD_PLAN_MAKE_H */
