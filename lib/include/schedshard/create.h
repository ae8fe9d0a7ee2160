/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * create.h - sets, byte maps and counters for this machine, in one call each.
 *
 *	struct sbm *idle = sbm_create();
 *
 *	if (!idle)
 *		err(1, "sbm_create");
 *	sbm_set(idle, cpu);
 *	sbm_for_each_cpu(cpu, it, idle)
 *		printf("CPU %u is idle\n", cpu);
 *	sbm_clear(idle, cpu);
 *	sbm_destroy(idle);
 *
 * They share a plan, or two, of plans.h: the first call reads /sys and builds it, later ones find
 * it ready. Plans are the library's only state for them, and never change. Sets and counters have
 * at most SHARD_CAP_LOCKED CPUs on a line, byte maps SHARD_MAX_CAP: a locked instruction waits for
 * the line, a plain store does not. Slots have a line for each core, since nobody walks them; so
 * have sets with the option pool. Calls that end in _opts() take another number. For a plan of your
 * own use sbm_alloc(), bytemap_alloc() or shard_counter_attach(); shard_plan_here() returns that of
 * byte maps.
 *
 * CPU numbers are those of sched_getcpu() and of /sys/devices/system/cpu/present. The plan covers
 * all of these: CPUs that are offline too, and CPUs that a cpuset or a container forbids. So a
 * number stays valid when CPUs go offline or online, and when the process moves. Numbers may have
 * holes. No function checks a number; one of no such CPU reads and writes foreign memory:
 *
 *	if (!shard_plan_has_cpu(set->plan, cpu))
 *		errx(1, "there is no CPU %u", cpu);
 *
 * A CPU that was offline when the plan was built shares a line with other such CPUs of its node.
 * When it comes online, its operations are slower than they should be, and still right.
 * shard_plan_refresh() makes a better plan, for structures that are created later.
 *
 * A program that works in threads has two ways. What every thread may do on any CPU, such as to
 * count, it does for shard_this_cpu(). What belongs to a thread, such as its bit in a set of idle
 * workers, needs its own CPU number. A bound thread takes that of its CPU. If threads migrate, the
 * i-th takes plan->idx_to_cpu[i], so that neighbours share a line. There are plan->nr_possible
 * numbers; more threads than that need a second set.
 *
 * Concurrency: calls to create may overlap with everything. A call to destroy excludes all others
 * on its object. After fork() parent and child have a copy each. A child of a process with threads
 * must not create anything, as another thread may have held the lock. Context: create and destroy
 * allocate or free, and may read files; neither may run in a signal handler, all others may.
 * Ordering: none.
 */
#ifndef SCHEDSHARD_CREATE_H
#define SCHEDSHARD_CREATE_H

#include "plans.h"
#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "bytemap_find.h"
#include "cpu_counter.h"
#include "ordered.h"
#include "sbm_claim.h"
#include "sbm_more.h"
#include "shard_counter.h"
#include "slot_claim.h"
#include "slot_set.h"

/* Most CPUs on a line of sets and counters; docs/results/pools.md has the figures. */
#define SHARD_CAP_LOCKED 16u

/* How to create; all 0, as NULL: the structure's own choice. */
struct shard_create_opts {
	u32 cap;      /* most CPUs on a line, 1..64, or SHARD_CAP_CORE; 0: the structure's own */
	bool summary; /* sets: with SBM_SUMMARY, for sets that are often empty or sparse */
	bool allowed; /* of the plan of shard_plan_here_allowed(): the other CPUs are holes */
	bool follow;  /* slots: their homes follow the last user, see slot_put_near() */
	bool pool;    /* sets: for claims, not for walks: a line for each core; for a @cap of 0 */
};

/**
 * sbm_create() - an empty set of CPUs for this machine
 *
 * A bit per CPU: on a line of the CPU's last-level cache, in memory of its NUMA node, without a
 * summary.
 *
 * Return: the set; NULL with errno: ENOMEM; EINVAL when /sys contradicts itself; or the error of
 * reading a file there. shard_plan_here() describes it in words.
 */
struct sbm *sbm_create(void);

/* sbm_create() with options, or NULL. Also EINVAL for a wrong cap. */
struct sbm *sbm_create_opts(const struct shard_create_opts *opts);

/**
 * sbm_destroy() - free a set
 * @b: from sbm_create(), or NULL
 */
void sbm_destroy(struct sbm *b);

/**
 * bytemap_create() - a byte map for this machine
 * @value: value of all CPUs, 0..127
 *
 * Return: the map; NULL with errno as from sbm_create(), and EINVAL for a value above 127.
 */
struct bytemap *bytemap_create(u8 value);

/* bytemap_create() with options, or NULL. Also EINVAL for a wrong cap. */
struct bytemap *bytemap_create_opts(u8 value, const struct shard_create_opts *opts);

/**
 * bytemap_destroy() - free a byte map
 * @m: from bytemap_create(), or NULL
 */
void bytemap_destroy(struct bytemap *m);

/**
 * shard_counter_create() - a counter for this machine, at 0
 *
 * Return: the counter; NULL with errno as from sbm_create().
 */
struct shard_counter *shard_counter_create(void);

/* shard_counter_create() with options, or NULL. Also EINVAL for a wrong cap. */
struct shard_counter *shard_counter_create_opts(const struct shard_create_opts *opts);

/**
 * shard_counter_destroy() - free a counter
 * @c: from shard_counter_create(), or NULL
 */
void shard_counter_destroy(struct shard_counter *c);

/**
 * cpu_counter_create() - a counter with one line per CPU of this machine, at 0
 * @batch: the estimate misses less than this for each CPU; 0: no estimate
 *
 * For statistics: cpu_counter.h says who may add.
 *
 * Return: the counter; NULL with errno as from sbm_create().
 */
struct cpu_counter *cpu_counter_create(u32 batch);

/**
 * cpu_counter_destroy() - free a counter
 * @c: from cpu_counter_create(), or NULL
 */
void cpu_counter_destroy(struct cpu_counter *c);

/**
 * slot_set_create() - slots for this machine, all free
 * @nr: how many, 1 to SLOT_SET_MAX; slot_set_grow() adds more
 *
 * Return: the set; NULL with errno as from sbm_create(), and EINVAL for @nr out of range.
 */
struct slot_set *slot_set_create(u32 nr);

/*
 * slot_set_create() with options, or NULL. Also EINVAL for a wrong cap, and with @opts->follow
 * for more than SLOT_FOLLOW_MAX. No summary.
 */
struct slot_set *slot_set_create_opts(u32 nr, const struct shard_create_opts *opts);

/**
 * slot_set_destroy() - free a set of slots
 * @s: from slot_set_create(), or NULL
 */
void slot_set_destroy(struct slot_set *s);

#ifdef __cplusplus
}
#endif

#endif
