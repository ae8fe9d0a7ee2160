/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * create.h - make sets and counters for this machine, in one call each.
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
 * These structures share the plans of plans.h: the first call reads /sys and builds a plan, later
 * calls find it ready. Plans are the only global state of the library, and never change. Sets and
 * counters have at most SHARD_CAP_LOCKED CPUs per line, because a locked instruction waits for the
 * line. Slots have a line per core, because a claim seldom walks them. For a set with another cap,
 * or with a summary, call sbm_alloc() with a plan of shard_plan_here_cap().
 *
 * CPU numbers are those of sched_getcpu() and of /sys/devices/system/cpu/present. The plan covers
 * all of these, including offline CPUs and CPUs that a cpuset or a container forbids. So a number
 * stays valid when CPUs go offline or online, and when the process moves. Numbers may have holes.
 * No function checks a number, and the number of a CPU that does not exist causes accesses to other
 * memory. So a program that gets numbers from elsewhere checks them first:
 *
 *	if (!shard_plan_has_cpu(set->plan, cpu))
 *		errx(1, "there is no CPU %u", cpu);
 *
 * A CPU that was offline when the plan was built shares a line with other such CPUs of its node.
 * When it comes online, its operations are correct, but slower than they could be.
 * shard_plan_refresh() makes a better plan, for structures that are created later.
 *
 * A program with threads chooses CPU numbers in two ways. For operations that any thread may do on
 * any CPU, such as counting, use shard_this_cpu(). State that belongs to a thread, such as its bit
 * in a set of idle workers, needs a CPU number per thread. A bound thread uses the number of its
 * CPU. If threads migrate, the i-th thread uses plan->idx_to_cpu[i], so that neighbours share a
 * line. There are plan->nr_possible numbers; more threads than that need a second set.
 *
 * Concurrency: calls to create may overlap with everything. A call to destroy excludes all others
 * on its object. After fork() parent and child each have a copy of an object, and a child may
 * create and destroy objects, even if its parent had threads. Context: create and destroy allocate
 * or free memory, and may read files. They may not run in a signal handler; all other functions
 * may. Ordering: none.
 */
#ifndef SCHEDSHARD_CREATE_H
#define SCHEDSHARD_CREATE_H

#include "plans.h"
#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "cpu_counter.h"
#include "ordered.h"
#include "sbm_more.h"
#include "shard_counter.h"
#include "slot_claim.h"
#include "slot_set.h"

/*
 * Maximum number of CPUs per line of sets and counters; the figures are in docs/results/pools.md.
 */
#define SHARD_CAP_LOCKED 16u

/* Options of a create function; all 0, or NULL: the defaults of the structure. */
struct shard_create_opts {
	u32 size;     /* sizeof(struct shard_create_opts), or 0; another size is refused */
	bool allowed; /* use the plan of shard_plan_here_allowed(): all other CPUs are holes */
	bool follow;  /* slots: their homes follow the last user, see slot_put_near() */
	bool empty;   /* slots: none is free before its first put */
};

/**
 * sbm_create() - an empty set of CPUs for this machine
 *
 * A bit per CPU, on a line of CPUs of its last-level cache, in memory of their node. No summary.
 *
 * Return: the set, or NULL with errno ENOMEM, EINVAL if /sys contradicts itself, or the error of
 * reading a file there. shard_plan_here() describes the error in words.
 */
struct sbm *sbm_create(void);

/* sbm_create() with options; @opts may be NULL. Also EINVAL for a wrong @opts->size. */
struct sbm *sbm_create_opts(const struct shard_create_opts *opts);

/**
 * shard_counter_create() - a counter for this machine, which starts at 0
 *
 * Return: the counter; NULL with errno as from sbm_create().
 */
struct shard_counter *shard_counter_create(void);

/* shard_counter_create() with options; @opts may be NULL. Also EINVAL for a wrong @opts->size. */
struct shard_counter *shard_counter_create_opts(const struct shard_create_opts *opts);

/**
 * shard_counter_destroy() - free a counter
 * @c: from shard_counter_create(), or NULL
 */
void shard_counter_destroy(struct shard_counter *c);

/**
 * cpu_counter_create() - a counter that starts at 0, with one line per CPU of this machine
 * @batch: the error of cpu_counter_about() stays below this times the CPUs; 0: no such estimate
 *
 * For statistics. cpu_counter.h says which threads may add.
 *
 * Return: the counter; NULL with errno as from sbm_create().
 */
struct cpu_counter *cpu_counter_create(u32 batch);

/**
 * slot_set_create() - slots for this machine, all free
 * @nr: how many, 1 to SLOT_SET_MAX; slot_set_grow() adds more
 *
 * Return: the set; NULL with errno as from sbm_create(), and EINVAL for @nr out of range.
 */
struct slot_set *slot_set_create(u32 nr);

/*
 * slot_set_create() with options; @opts may be NULL. Also EINVAL for a wrong @opts->size, and with
 * @opts->follow for @nr above SLOT_FOLLOW_MAX.
 */
struct slot_set *slot_set_create_opts(u32 nr, const struct shard_create_opts *opts);

#ifdef __cplusplus
}
#endif

#endif
