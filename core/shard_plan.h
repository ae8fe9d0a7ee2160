/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The shard plan: which CPUs share a cache line of every sharded structure.
 *
 * A shard is at most 64 CPUs of one last-level cache (LLC). A plan maps a CPU number to (shard,
 * position in it) and to an index, and back. A plan never changes after shard_plan_make(), so
 * readers need no lock. Before a plan is freed, the caller must free all structures that use it,
 * and ensure that no function uses it.
 *
 * Ordering: none. Context: any; free may sleep. Lines touched: the plan's tables, read.
 *
 * Indices number the possible CPUs shard after shard. Shards are in topology order (package, NUMA
 * node, LLC, part of an LLC). The CPUs of a shard are in order of their numbers, in a few runs of
 * consecutive numbers. On x86 a shard mostly has two runs, or one if siblings have adjacent
 * numbers.
 */
#ifndef SHARD_PLAN_H
#define SHARD_PLAN_H

#include "port.h"

#define SHARD_MAX_CAP	 64u	/* CPUs per shard: bits in a word, bytes in a line */
#define SHARD_MAX_SHARDS 65535u /* a shard number fits a u16 */

/* A CPU's index, its shard and its position in the shard; all 0 for a hole. */
struct shard_slot {
	u32 idx;
	u16 shard;
	u8 pos;
	u8 possible;
};

static_assert(sizeof(struct shard_slot) == 8, "one scaled load finds a slot");

/* Consecutive CPU numbers, of one word of a cpumask, at consecutive positions. */
struct shard_run {
	u64 positions; /* one bit for every position */
	u32 word;      /* which word of a cpumask */
	u8 turn;       /* a rotation of @word right by this many bits moves them to @positions */
};

/* The positions in a CPU's shard that are close to the CPU, its own included. */
struct shard_close {
	u64 core; /* of its core */
	u64 l2;	  /* of its L2; where that is unknown, of its core */
};

/* A range of shards, both ends included. */
struct shard_span {
	u16 first;
	u16 last;
};

#define SHARD_NEAR_LEVELS 4 /* LLC, node, package, machine */

/* One shard. */
struct shard {
	u64 valid;		     /* one bit per position that is a CPU: the low @nr_cpus bits */
	const struct shard_run *run; /* its runs */
	const struct shard_run *end_run; /* one past the last of them */
	u32 first_idx;			 /* index of position 0 */
	u32 nr_cpus;			 /* 1..cap */
	s32 node;			 /* -1: unknown */
	s32 package;			 /* -1: unknown */
	u32 llc; /* 0..nr_llcs-1 in topology order; parts that a node or split_llc cuts off count */
	u32 nr_near; /* entries of @near in use */
	/* LLC, node in package, package, machine; without levels that add no shard. */
	struct shard_span near[SHARD_NEAR_LEVELS];
};

/* A plan, read-only. Only shard_plan_build() (shard_topo.h) sets @nr_nodes to @level. */
struct shard_plan {
	const struct shard_slot *slot; /* by CPU number */
	const u32 *idx_to_cpu;	       /* by index: the CPU number */
	const u32 *const *shard_cpus; /* by shard: CPU numbers by position, a part of @idx_to_cpu */
	const struct shard *shard;    /* by shard */
	u32 nr_cpus;		      /* CPU numbers are 0..nr_cpus-1, holes allowed */
	u32 nr_possible;	      /* indices are 0..nr_possible-1 */
	u32 nr_shards;		      /* 1..SHARD_MAX_SHARDS */
	u32 nr_runs;		      /* runs in all */
	u32 nr_llcs;		      /* LLCs, as counted in struct shard */
	u32 nr_nodes;		      /* NUMA nodes */
	u32 nr_packages;	      /* packages */
	u32 cap;		      /* most CPUs in a shard, as used */
	u32 split_llc;		      /* as requested, 0: no */
	u32 level;		      /* enum shard_plan_level */
	size_t bytes;		      /* memory of the plan */
	const struct shard_close *close; /* by CPU number: the close positions in its shard */
};

/*
 * A cpumask's bits of one shard, as the shard's word: bit p is the CPU at position p. @mask has
 * plan->nr_cpus bits by CPU number. The function reads each word of @mask once per run; a bit that
 * changes meanwhile counts as either value. Lines touched: the shard's runs, and of @mask those
 * with CPUs of the shard.
 */
u64 shard_gather(const struct shard_plan *plan, u32 shard, const unsigned long *mask);

/*
 * A walk over all shards through ever larger surroundings: LLC, node, package, machine. Private.
 * @wider: the next larger surroundings
 * @end: one past the largest surroundings
 * @up: last shard visited above where the walk started
 * @first, @last: first and last shard of the current surroundings
 * @down: next shard to visit of those below @below
 * @below: first shard of the previous, smaller surroundings
 */
struct shard_near_iter {
	const struct shard_span *wider;
	const struct shard_span *end;
	u32 up;
	u32 last;
	u32 down;
	u32 below;
	u32 first;
};

/*
 * Start a walk at a CPU's shard. Return: that shard. The walk goes on with the rest of the LLC, of
 * the node, of the package, of the machine. In each of these ranges it visits first the shards with
 * higher numbers than those before, then those with lower numbers, both in rising order:
 *
 *	u32 s = shard_near_begin(&it, plan, cpu);
 *	do { ... } while (shard_near_next(&it, &s));
 */
u32 shard_near_begin(struct shard_near_iter *it, const struct shard_plan *plan, u32 cpu);

/* The part of shard_near_next() that goes on to the next larger surroundings. */
bool shard_near_wider(struct shard_near_iter *it, u32 *shard);

/* The next shard of the walk. Return: false if the walk has visited every shard, each once. */
static inline bool shard_near_next(struct shard_near_iter *it, u32 *shard)
{
	if (it->up < it->last) {
		*shard = ++it->up;
		return true;
	}
	if (it->down < it->below) {
		*shard = it->down++;
		return true;
	}
	return shard_near_wider(it, shard);
}

#endif /* SHARD_PLAN_H */
