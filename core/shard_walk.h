/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A walk over the shards that have an allowed CPU, nearest first. It returns the allowed positions
 * in each. Private to core/.
 *
 * Concurrency: a walk belongs to its caller. The mask may change during a walk; the walk then sees
 * the old or the new value of each word. Ordering: none. Context: any; a walk takes about 460 bytes
 * of stack. Lines touched: the plan's and the mask's.
 */
#ifndef SHARD_WALK_H
#define SHARD_WALK_H

#include "port.h"
#include "shard_plan.h"

#define SHARD_WALK_SPARSE 16u /* most CPUs in a mask for a walk CPU by CPU: shard_walk.c */

/* A shard, and the allowed positions in it. */
struct shard_stop {
	u64 word; /* allowed positions, never 0 */
	u64 rank; /* place in the walk */
	u32 shard;
};

/* A walk. A dense one looks for allowed CPUs in every shard, a sparse one visits those in @stop. */
struct shard_walk {
	const struct shard_plan *plan;		   /* the plan */
	const unsigned long *allowed;		   /* cpumask, or NULL */
	struct shard_near_iter near;		   /* dense: all shards, nearest first */
	bool begun;				   /* dense: the first shard is done */
	bool sparse;				   /* @stop lists all shards to visit */
	u32 own;				   /* sparse: shard at which the walk starts */
	u32 next;				   /* sparse: next of @stop */
	u32 nr;					   /* sparse: how many */
	struct shard_stop stop[SHARD_WALK_SPARSE]; /* sparse: sorted by rank */
};

/* Start a walk near a CPU. @allowed: cpumask of plan->nr_cpus bits by CPU number; NULL: all. */
void shard_walk_begin(struct shard_walk *w, const struct shard_plan *plan,
		      const unsigned long *allowed, u32 from_cpu);

/* Get the next shard, each at most once, and its allowed positions, never 0; false at the end. */
bool shard_walk_next(struct shard_walk *w, u32 *shard, u64 *word);

#endif /* SHARD_WALK_H */
