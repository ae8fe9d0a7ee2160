/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A walk over the shards that hold an allowed CPU, nearest first, with the positions allowed in
 * each. Private to core/.
 *
 * Concurrency: a walk belongs to its caller. The mask may change meanwhile: the walk sees each of
 * its words at its old or its new value. Ordering: none. Context: any; a walk takes about 300 bytes
 * of stack. Lines touched: the plan's and the mask's.
 */
#ifndef SHARD_WALK_H
#define SHARD_WALK_H

#include "port.h"
#include "shard_plan.h"

#define SHARD_WALK_SPARSE 16u /* most CPUs in a mask for a walk CPU by CPU */

/**
 * struct shard_stop - a shard and what is allowed there
 * @word: allowed positions, never 0
 * @rank: place in the walk
 * @shard: the shard
 */
struct shard_stop {
	u64 word;
	u64 rank;
	u32 shard;
};

/**
 * struct shard_walk - the walk
 * @plan: the plan
 * @allowed: cpumask, or NULL
 * @near: dense: all shards, nearest first
 * @begun: dense: the own shard is done
 * @sparse: @stop holds all shards to visit
 * @own: sparse: shard at which the walk starts
 * @next: sparse: next of @stop
 * @nr: sparse: how many
 * @stop: sparse: sorted by rank
 *
 * Private to the functions below.
 */
struct shard_walk {
	const struct shard_plan *plan;
	const unsigned long *allowed;
	struct shard_near_iter near;
	bool begun;
	bool sparse;
	u32 own;
	u32 next;
	u32 nr;
	struct shard_stop stop[SHARD_WALK_SPARSE];
};

/**
 * shard_walk_begin() - start a walk
 * @w: the walk
 * @plan: the plan
 * @allowed: cpumask of plan->nr_cpus bits by CPU number, or NULL: all
 * @from_cpu: CPU number that the walk starts near
 */
void shard_walk_begin(struct shard_walk *w, const struct shard_plan *plan,
		      const unsigned long *allowed, u32 from_cpu);

/**
 * shard_walk_next() - next shard that has an allowed CPU
 * @w: the walk
 * @shard: where to store it
 * @word: where to store its allowed positions, never 0
 *
 * Return: false at the end. The walk visits each shard at most once.
 */
bool shard_walk_next(struct shard_walk *w, u32 *shard, u64 *word);

#endif /* SHARD_WALK_H */
