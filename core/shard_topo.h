/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Makes a shard plan from the description of a machine, for programs. If the description is wrong,
 * shard_plan_build() reports how. A kernel must use whatever its firmware reports, so it calls
 * shard_plan_make() itself.
 *
 * Concurrency: builds of different plans may overlap. The caller publishes the pointer to a new
 * plan by a release store, under a lock, or before it starts the threads. Ordering: none. Context:
 * a build may sleep, the rest runs anywhere.
 */
#ifndef SHARD_TOPO_H
#define SHARD_TOPO_H

#include "port.h"
#include "shard_plan.h"

#define SHARD_MAX_CPUS 4194240u /* SHARD_MAX_SHARDS * SHARD_MAX_CAP */

/**
 * struct shard_cpu - where one CPU is; the input of a plan
 * @package: socket
 * @node: NUMA node, also passed to port_alloc()
 * @llc: last-level cache, as the cache information says, not a die or tile
 * @l2: level-2 cache
 * @core: core
 * @thread: which SMT sibling in its core; only its order counts
 * @possible: false for a hole in the numbering; the rest is then ignored
 *
 * Ids are any numbers that rise in topology order, with or without gaps. They must be unique in the
 * machine, unlike core_id in sysfs, which is unique only in a package. A negative number means
 * unknown. A level that is unknown for one possible CPU counts as unknown for all. Exceptions are
 * @thread and @core: a CPU of unknown @core counts as a separate core.
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
 * @cpu: one record per CPU number
 */
struct shard_topo {
	u32 nr_cpus;
	const struct shard_cpu *cpu;
};

/**
 * struct shard_plan_opts - how to cut
 * @cap: most CPUs in a shard, 1..64; 0: 64. Cuts a larger LLC into shards of about equal size,
 *	between L2 clusters that fit, else between cores; separates siblings only if a core has more
 *	than @cap
 * @split_llc: treat every LLC as this many LLCs, cut by core number; 0 and 1: do not. A number
 *	above an LLC's number of cores counts as that number
 * @cores: no shard contains CPUs of two cores
 * @bad_cpu: NULL, or where to store the CPU number of an error (unchanged for errors of no CPU)
 */
struct shard_plan_opts {
	u32 cap;
	u32 split_llc;
	u32 *bad_cpu;
	bool cores;
};

/* What shard_plan_build() can return. */
enum shard_plan_err {
	SHARD_PLAN_OK = 0,	       /* success; the only one that is 0 */
	SHARD_PLAN_NO_CPUS,	       /* nr_cpus is 0 */
	SHARD_PLAN_NO_POSSIBLE,	       /* no CPU is possible */
	SHARD_PLAN_TOO_MANY_CPUS,      /* nr_cpus is more than SHARD_MAX_CPUS */
	SHARD_PLAN_TOO_MANY_SHARDS,    /* more than SHARD_MAX_SHARDS shards */
	SHARD_PLAN_CAP_RANGE,	       /* cap is more than 64 */
	SHARD_PLAN_LLC_SPANS_PACKAGES, /* one LLC id in two packages */
	SHARD_PLAN_L2_SPANS_LLCS,      /* one L2 id in two LLCs, nodes or packages */
	SHARD_PLAN_CORE_SPANS_LLCS,    /* one core id in two L2s, LLCs, nodes or packages */
	/* A node is in two packages, one of which is in two nodes: so the levels have no order. */
	SHARD_PLAN_CYCLIC,
	SHARD_PLAN_NO_MEMORY, /* port_alloc() failed */
};

/*
 * Which level of the topology served as LLC, for the whole plan: a mix of levels would put CPUs of
 * one cache into shards of another.
 */
enum shard_plan_level {
	SHARD_LEVEL_LLC = 0, /* cache information, known for every possible CPU */
	SHARD_LEVEL_NODE,    /* NUMA nodes, because some CPU's LLC is unknown */
	SHARD_LEVEL_PACKAGE, /* packages, as some CPU's LLC and some CPU's node are unknown */
	SHARD_LEVEL_ALL,     /* nothing is known: all CPUs are one LLC */
};

/**
 * shard_plan_build() - cut a machine into shards
 * @plan: where to store the plan; NULL is stored on error
 * @topo: the machine; not used after the call
 * @opts: how to cut, NULL: all defaults
 *
 * Return: SHARD_PLAN_OK, or what is wrong. Cost: n log n in the number of CPUs.
 */
enum shard_plan_err shard_plan_build(struct shard_plan **plan, const struct shard_topo *topo,
				     const struct shard_plan_opts *opts);

/* Free a plan, or NULL. All structures that use it must have been freed. */
void shard_plan_free(struct shard_plan *plan);

/* A description of the error: a constant string without a full stop, never NULL. */
const char *shard_plan_strerror(enum shard_plan_err err);

/*
 * Is this the number of a possible CPU? The other functions of core/ do not check the CPU numbers
 * that they get. Line touched: that of the CPU's slot.
 */
static inline bool shard_plan_has_cpu(const struct shard_plan *plan, u32 cpu)
{
	return cpu < plan->nr_cpus && plan->slot[cpu].possible;
}

/* One more than the highest CPU number. For languages without access to the structure. */
static inline u32 shard_plan_nr_cpus(const struct shard_plan *plan)
{
	return plan->nr_cpus;
}

/*
 * Add a shard's word to the caller's own cpumask, not atomically; the opposite of shard_gather().
 * Ignores bits beyond the shard's positions.
 */
void shard_scatter(const struct shard_plan *plan, u32 shard, u64 word, unsigned long *mask);

/*
 * Return the rank of @shard in a walk that starts at shard @own: a number that is lower for a shard
 * that the walk visits earlier, and 0 for @own.
 */
u64 shard_near_rank(const struct shard_plan *plan, u32 own, u32 shard);

#endif /* SHARD_TOPO_H */
