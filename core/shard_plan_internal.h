/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Between shard_plan_check.c and shard_plan_build.c; private to them.
 *
 * Concurrency: none, the records belong to one build. Ordering: none.
 * Context: any.
 */
#ifndef SHARD_PLAN_INTERNAL_H
#define SHARD_PLAN_INTERNAL_H

#include "port.h"
#include "shard_plan.h"

/**
 * struct shard_rec - one possible CPU while a plan is built
 * @package: -1: unknown for all; likewise @node, @l2
 * @node: NUMA node
 * @llc: what serves as LLC at the level chosen
 * @l2: L2 cluster
 * @core: core, -1: the CPU is one of its own
 * @thread: as given
 * @cpu: CPU number
 * @llc_nr: LLC as struct shard counts them
 * @shard: shard
 * @node_spans: its node is in several packages
 */
struct shard_rec {
	s32 package, node, llc, l2, core, thread;
	u32 cpu;
	u32 llc_nr;
	u32 shard;
	bool node_spans;
};

typedef bool (*shard_rec_before)(const struct shard_rec *a, const struct shard_rec *b);

/* Heap sort: no recursion and no memory. Equal records may change places. */
void shard_rec_sort(struct shard_rec *rec, u32 n, shard_rec_before before);

/* Siblings: the same known core. */
static inline bool shard_rec_same_core(const struct shard_rec *a, const struct shard_rec *b)
{
	return a->core >= 0 && a->core == b->core;
}

/**
 * shard_plan_check() - make what is half known unknown, choose the level, find contradictions
 * @rec: the possible CPUs; sorted anyhow afterwards
 * @n: how many, 1 or more
 * @level: where to store the level that gives the LLCs
 * @nr_nodes: where to store the number of NUMA nodes
 * @nr_packages: where to store the number of packages
 * @bad_cpu: NULL, or where to store the CPU number of a contradiction
 *
 * Return: SHARD_PLAN_OK or what is wrong.
 */
enum shard_plan_err shard_plan_check(struct shard_rec *rec, u32 n, enum shard_plan_level *level,
				     u32 *nr_nodes, u32 *nr_packages, u32 *bad_cpu);

#endif /* SHARD_PLAN_INTERNAL_H */
