/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The shard plan: which CPUs share a cache line of every sharded structure.
 *
 * A shard is at most 64 CPUs of one last-level cache (LLC). A plan maps a CPU number to (shard,
 * position in it) and to an index, and back. Once made (shard_plan_make.h) it never changes, so
 * that readers need no lock. The caller that frees it ensures that no structure that uses it is
 * left, and that none of its functions runs.
 *
 * Ordering: none. Context: any; free may sleep. Lines touched: plan tables, which every CPU has.
 *
 * Indices number the possible CPUs shard after shard. Shards stand in topology order (package, NUMA
 * node, LLC, part of an LLC). CPUs of a shard stand in order of their numbers, in few runs of
 * consecutive ones: two on most x86 machines, one where siblings are neighbours.
 */
#ifndef SHARD_PLAN_H
#define SHARD_PLAN_H

#include "port.h"

#define SHARD_MAX_CAP	 64u	/* CPUs a shard: bits in a word, bytes in a line */
#define SHARD_MAX_SHARDS 65535u /* a shard number fits a u16 */

/* Where a CPU lives: its index, its shard, its position there; a hole is all 0. */
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
	u8 turn;       /* rotating the word right by so many bits brings them to their positions */
};

/* A range of shards, both ends included. */
struct shard_span {
	u16 first;
	u16 last;
};

#define SHARD_NEAR_LEVELS 4 /* LLC, node, package, machine */

/**
 * struct shard - one shard
 * @valid: one bit for every position that is a CPU: the low @nr_cpus bits
 * @run: its runs
 * @end_run: behind the last of them
 * @first_idx: index of position 0
 * @nr_cpus: 1..cap
 * @node: NUMA node, -1: unknown
 * @package: package, -1: unknown
 * @llc: LLC, 0..nr_llcs-1 in topology order; a part that a node or split_llc cuts off is one
 * @nr_near: entries of @near in use
 * @near: its surroundings: LLC, node in package, package, machine. Each is larger than the one
 *	before; those that add no shard are left out
 */
struct shard {
	u64 valid;
	const struct shard_run *run;
	const struct shard_run *end_run;
	u32 first_idx;
	u32 nr_cpus;
	s32 node;
	s32 package;
	u32 llc;
	u32 nr_near;
	struct shard_span near[SHARD_NEAR_LEVELS];
};

/**
 * struct shard_plan - a plan, read-only
 * @slot: by CPU number
 * @bit: by CPU number: 1 << position; 0 for a hole. One scaled load gives it to sbm
 * @idx_to_cpu: by index: the CPU number
 * @shard_cpus: by shard: CPU numbers by position, its part of @idx_to_cpu
 * @shard: by shard
 * @nr_cpus: CPU numbers are 0..nr_cpus-1, holes allowed
 * @nr_possible: indices are 0..nr_possible-1
 * @nr_shards: 1..SHARD_MAX_SHARDS
 * @nr_runs: runs in all
 * @nr_llcs: LLCs, as counted in struct shard
 * @nr_nodes: NUMA nodes; only shard_plan_build() (shard_topo.h) sets this and the next four
 * @nr_packages: packages
 * @cap: most CPUs in a shard, as used
 * @split_llc: as requested, 0: no
 * @level: enum shard_plan_level: which level gave the LLCs
 * @bytes: memory of the plan, for shard_plan_free() and for reports
 */
struct shard_plan {
	const struct shard_slot *slot;
	const u64 *bit;
	const u32 *idx_to_cpu;
	const u32 *const *shard_cpus;
	const struct shard *shard;
	u32 nr_cpus;
	u32 nr_possible;
	u32 nr_shards;
	u32 nr_runs;
	u32 nr_llcs;
	u32 nr_nodes;
	u32 nr_packages;
	u32 cap;
	u32 split_llc;
	u32 level;
	size_t bytes;
};

/**
 * shard_gather() - a cpumask's bits of one shard, as the shard's word
 * @plan: the plan
 * @shard: which shard
 * @mask: cpumask: plan->nr_cpus bits by CPU number; ignores bits of holes
 *
 * Reads each word of @mask once a run. A bit that changes meanwhile counts as either value.
 *
 * Return: bit p is set when the CPU at position p is in @mask. Lines touched: the shard's runs, and
 * of @mask those with CPUs of the shard.
 */
u64 shard_gather(const struct shard_plan *plan, u32 shard, const unsigned long *mask);

/*
 * A walk over all shards, nearest first. Private to the functions below.
 * @wider, @end: the next surroundings; behind the last of them
 * @up: last shard visited above where the walk started
 * @first, @last: first and last shard of the current surroundings
 * @down: next shard below @below
 * @below: first shard of the smaller surroundings, which the walk has visited
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

/**
 * shard_near_begin() - start a walk: own shard, same LLC, same node, same package, rest
 * @it: the walk
 * @plan: the plan
 * @cpu: CPU number to start from
 *
 * In each of these the shards after the own one come first, then those before it, both rising:
 *
 *	u32 s = shard_near_begin(&it, plan, cpu);
 *	do { ... } while (shard_near_next(&it, &s));
 *
 * Return: the own shard.
 */
u32 shard_near_begin(struct shard_near_iter *it, const struct shard_plan *plan, u32 cpu);

/* The part of shard_near_next() that takes the next surroundings. */
bool shard_near_wider(struct shard_near_iter *it, u32 *shard);

/* The next shard of the walk. False: the walk is over, and visited each shard exactly once. */
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
