/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The shard plan: which CPUs share a cache line of every sharded structure.
 *
 * A shard is at most 64 CPUs of one last-level cache (LLC). A plan maps a CPU
 * number to (shard, position in it) and to an index, and back.
 *
 * Concurrency: a plan never changes between shard_plan_build() and
 * shard_plan_free(), so that its readers need nothing.
 *
 *              | build        | lookups, gather, scatter | free
 *   build      | ok (own plan)| caller publishes first   | -
 *   lookups .. | -            | ok                       | caller excludes
 *   free       | -            | caller excludes          | caller excludes
 *
 * "Caller publishes first": the pointer to a new plan reaches other threads by a
 * release store, a lock, or the start of the thread. "Caller excludes": no
 * structure made from the plan may be left, none of its functions running.
 *
 * Ordering: none anywhere. Context: build and free may sleep, the rest runs
 * anywhere. Lines touched: plan tables only, written never after the build, so
 * that every CPU keeps its own copy.
 *
 * Order of indices: indices 0..nr_possible-1 number the possible CPUs shard after
 * shard; shards stand in topology order (package, NUMA node, LLC, part of an
 * LLC). Within a shard CPUs stand in order of their numbers, which are few runs of
 * consecutive ones (two on most x86 machines, one where siblings are neighbours), and
 * an ordinary mask is gathered into a shard's word by one shift a run.
 */
#ifndef SHARD_PLAN_H
#define SHARD_PLAN_H

#include "port.h"

#define SHARD_MAX_CAP	 64u	  /* CPUs a shard: bits in a word, bytes in a line */
#define SHARD_MAX_SHARDS 65535u	  /* a shard number fits a u16 */
#define SHARD_MAX_CPUS	 4194240u /* SHARD_MAX_SHARDS * SHARD_MAX_CAP */

/**
 * struct shard_cpu - where one CPU sits; the input of a plan
 * @package: socket
 * @node: NUMA node, also handed to port_alloc()
 * @llc: last-level cache, from cache information, not from die or tile levels
 * @l2: level-2 cache
 * @core: core
 * @thread: which SMT sibling in its core; only its order counts
 * @possible: false for a hole in the numbering; the rest is ignored then
 *
 * Ids are any numbers that are unique in the machine (not in the package, as
 * core_id in sysfs is) and that rise in topology order; gaps do not matter. A
 * negative number means unknown. What is unknown for one possible CPU counts as
 * unknown for all, but for @core (a CPU of unknown @core is a core of its own) and
 * @thread.
 */
struct shard_cpu {
	s32 package;
	s32 node;
	s32 llc;
	s32 l2;
	s32 core;
	s32 thread;
	bool possible;
};

/**
 * struct shard_topo - the machine
 * @nr_cpus: CPU numbers are 0..nr_cpus-1, holes allowed
 * @cpu: one record a CPU number
 */
struct shard_topo {
	u32 nr_cpus;
	const struct shard_cpu *cpu;
};

/**
 * struct shard_plan_opts - how to cut
 * @cap: most CPUs in a shard, 1..64; 0: 64. An LLC with more is cut into about
 *	 equal shards, along L2 clusters where one fits, else along cores; siblings
 *	 of a core are separated only when they are more than @cap.
 * @split_llc: pretend that every LLC is this many, cut by core number; 0 and 1: no.
 *	 More than an LLC has cores is as good as the number of its cores.
 * @bad_cpu: NULL, or where to store the CPU number that an error was found at
 *	 (left alone when the error belongs to no CPU)
 */
struct shard_plan_opts {
	u32 cap;
	u32 split_llc;
	u32 *bad_cpu;
};

/**
 * enum shard_plan_err - what shard_plan_build() can return
 * @SHARD_PLAN_OK: a plan was built; the only one that is 0
 * @SHARD_PLAN_NO_CPUS: nr_cpus is 0
 * @SHARD_PLAN_NO_POSSIBLE: no CPU is possible
 * @SHARD_PLAN_TOO_MANY_CPUS: nr_cpus is more than SHARD_MAX_CPUS
 * @SHARD_PLAN_TOO_MANY_SHARDS: more than SHARD_MAX_SHARDS shards would be needed
 * @SHARD_PLAN_CAP_RANGE: cap is more than 64
 * @SHARD_PLAN_LLC_SPANS_PACKAGES: one LLC id in two packages
 * @SHARD_PLAN_L2_SPANS_LLCS: one L2 id in two LLCs, nodes or packages
 * @SHARD_PLAN_CORE_SPANS_LLCS: one core id in two L2s, LLCs, nodes or packages
 * @SHARD_PLAN_CYCLIC: a node that reaches into two packages, one of which reaches
 *	 into two nodes: neither contains the other, there is no topology order
 * @SHARD_PLAN_NO_MEMORY: port_alloc() failed
 */
enum shard_plan_err {
	SHARD_PLAN_OK = 0,
	SHARD_PLAN_NO_CPUS,
	SHARD_PLAN_NO_POSSIBLE,
	SHARD_PLAN_TOO_MANY_CPUS,
	SHARD_PLAN_TOO_MANY_SHARDS,
	SHARD_PLAN_CAP_RANGE,
	SHARD_PLAN_LLC_SPANS_PACKAGES,
	SHARD_PLAN_L2_SPANS_LLCS,
	SHARD_PLAN_CORE_SPANS_LLCS,
	SHARD_PLAN_CYCLIC,
	SHARD_PLAN_NO_MEMORY,
};

/**
 * enum shard_plan_level - which level of the topology served as LLC
 * @SHARD_LEVEL_LLC: cache information, known for every possible CPU
 * @SHARD_LEVEL_NODE: NUMA nodes, as some CPU's LLC is unknown
 * @SHARD_LEVEL_PACKAGE: packages, as some CPU's LLC and some CPU's node are unknown
 * @SHARD_LEVEL_ALL: nothing is known: all CPUs are one LLC
 *
 * One level serves the whole plan: mixing levels would put CPUs of one cache into
 * shards of another.
 */
enum shard_plan_level {
	SHARD_LEVEL_LLC = 0,
	SHARD_LEVEL_NODE,
	SHARD_LEVEL_PACKAGE,
	SHARD_LEVEL_ALL,
};

/**
 * struct shard_slot - where a CPU lives
 * @idx: its index
 * @shard: its shard
 * @pos: its position there, 0..63
 * @possible: false for a hole; the rest is 0 then
 */
struct shard_slot {
	u32 idx;
	u16 shard;
	u8 pos;
	u8 possible;
};

static_assert(sizeof(struct shard_slot) == 8, "one scaled load finds a slot");

/**
 * struct shard_run - consecutive CPU numbers, of one word of a mask, at consecutive positions
 * @positions: one bit for every position
 * @word: which word of an ordinary mask
 * @turn: turned right by so many bits the word has each CPU's bit at its position
 */
struct shard_run {
	u64 positions;
	u16 word;
	u8 turn;
};

/**
 * struct shard_span - a range of shards, both ends included
 * @first: first shard
 * @last: last shard
 */
struct shard_span {
	u16 first;
	u16 last;
};

#define SHARD_NEAR_LEVELS 4 /* LLC, node, package, machine */

/**
 * struct shard - one shard
 * @valid: one bit for every position that is a CPU: the low @nr_cpus bits
 * @first_idx: index of position 0
 * @nr_cpus: 1..cap
 * @run: its runs
 * @end_run: behind the last of them
 * @node: NUMA node, -1: unknown
 * @package: package, -1: unknown
 * @llc: LLC, numbered 0..nr_llcs-1 in topology order; each part of an LLC that was
 *	 cut at node boundaries or by split_llc counts as one
 * @nr_near: how many of @near are used
 * @near: its surroundings, those of the same LLC, of the same node and package, of the same
 *	 package, of the machine: each larger than the one before, as those that add no shard are
 *	 left out
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
 * struct shard_plan - a built plan; read it, never write it
 * @slot: by CPU number
 * @bit: by CPU number: 1 << position; 0 for a hole. Apart from @slot because the
 *	 sharded bitmap wants it ready, and in one scaled load
 * @idx_to_cpu: by index: the CPU number
 * @shard_cpus: by shard: its part of @idx_to_cpu, that is, CPU numbers by position
 * @shard: by shard
 * @nr_cpus: CPU numbers are 0..nr_cpus-1, holes allowed
 * @nr_possible: indices are 0..nr_possible-1
 * @nr_shards: 1..SHARD_MAX_SHARDS
 * @nr_runs: runs in all
 * @nr_llcs: LLCs, as counted in struct shard
 * @nr_nodes: NUMA nodes (1 when unknown)
 * @nr_packages: packages (1 when unknown)
 * @cap: as used
 * @split_llc: as asked for, 0 when not
 * @level: which level gave the LLCs
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
	enum shard_plan_level level;
	size_t bytes;
};

/**
 * shard_plan_build() - cut a machine into shards
 * @plan: where to store the plan; NULL is stored on error
 * @topo: the machine; not used after the call
 * @opts: how to cut, NULL: all defaults
 *
 * An LLC that spans several NUMA nodes (sub-NUMA clustering) is cut at the node
 * boundaries first: a shard's line has one home node.
 *
 * Return: SHARD_PLAN_OK, or what is wrong. Context: may sleep. Cost: n log n in
 * the number of CPUs.
 */
enum shard_plan_err shard_plan_build(struct shard_plan **plan, const struct shard_topo *topo,
				     const struct shard_plan_opts *opts);

/**
 * shard_plan_free() - give a plan back
 * @plan: the plan, or NULL; nothing that was made from it may be left
 */
void shard_plan_free(struct shard_plan *plan);

/**
 * shard_plan_strerror() - what is wrong, in words
 * @err: what shard_plan_build() returned
 *
 * Return: a constant string without a full stop, never NULL.
 */
const char *shard_plan_strerror(enum shard_plan_err err);

/**
 * shard_plan_has_cpu() - is this the number of a possible CPU?
 * @plan: the plan
 * @cpu: any number
 *
 * The other functions of core/ take the CPU number of a possible CPU and do not
 * check it. Lines touched: one of the slot table.
 *
 * Return: true when it is one.
 */
static inline bool shard_plan_has_cpu(const struct shard_plan *plan, u32 cpu)
{
	return cpu < plan->nr_cpus && plan->slot[cpu].possible;
}

/**
 * shard_gather() - an ordinary mask's bits of one shard, as the shard's word
 * @plan: the plan
 * @shard: which shard
 * @mask: ordinary mask: plan->nr_cpus bits by CPU number; bits of holes are ignored
 *
 * Each word of @mask is read once a run, without tearing; @mask may change
 * meanwhile, each bit is then seen as it was or as it is.
 *
 * Return: bit p is set when the CPU at position p is in @mask. Ordering: none.
 * Lines touched: the shard's runs, and of @mask those with CPUs of the shard.
 */
u64 shard_gather(const struct shard_plan *plan, u32 shard, const unsigned long *mask);

/**
 * shard_scatter() - add a shard's word to an ordinary mask
 * @plan: the plan
 * @shard: which shard
 * @word: bit p stands for the CPU at position p; other bits are ignored
 * @mask: ordinary mask of the caller's own: bits are ORed in, not atomically
 *
 * Ordering: none.
 */
void shard_scatter(const struct shard_plan *plan, u32 shard, u64 word, unsigned long *mask);

/**
 * struct shard_near_iter - walk over all shards, nearest first
 * @wider: the next surroundings
 * @end: behind the last of them
 * @up: last shard visited above where the walk started
 * @last: the surroundings' last shard
 * @down: next shard below @below
 * @below: first shard of the smaller surroundings, which are visited
 * @first: the surroundings' first shard
 *
 * Private to the functions below.
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
 * Within each of these first the shards after the own one, in rising order, then
 * those before it. Use:
 *
 *	u32 s = shard_near_begin(&it, plan, cpu);
 *	do { ... } while (shard_near_next(&it, &s));
 *
 * Return: the own shard.
 */
u32 shard_near_begin(struct shard_near_iter *it, const struct shard_plan *plan, u32 cpu);

/* The part of shard_near_next() that takes the next surroundings. */
bool shard_near_wider(struct shard_near_iter *it, u32 *shard);

/**
 * shard_near_next() - next shard of the walk
 * @it: the walk
 * @shard: where to store it
 *
 * Return: false when every shard was visited; each is, exactly once.
 */
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

/**
 * shard_near_rank() - when a walk from one shard visits another
 * @plan: the plan
 * @own: shard that the walk starts from
 * @shard: other shard
 *
 * Return: a number that is lower for a shard that is visited earlier; 0 for @own.
 */
u64 shard_near_rank(const struct shard_plan *plan, u32 own, u32 shard);

#endif /* SHARD_PLAN_H */
