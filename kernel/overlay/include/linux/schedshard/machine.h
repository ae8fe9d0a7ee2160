/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shard plan of the machine that the kernel runs on: one, made once, never changed.
 *
 * Concurrency: schedshard_init() runs on the boot CPU before any other CPU and any other task
 * exists; readers come later and need nothing.
 *
 * The plan covers every possible CPU, present or not. It is made from what is known before
 * sched_init(): which is the place of each CPU by its firmware number, and the boot CPU's
 * caches. When the caches of all CPUs are known, long after, they are compared with the plan, and
 * a difference is reported; the plan stays, as every structure was made from it.
 */
#ifndef _LINUX_SCHEDSHARD_MACHINE_H
#define _LINUX_SCHEDSHARD_MACHINE_H

#include <linux/init.h>
#include <linux/schedshard/shard_plan.h>

#ifdef CONFIG_SCHEDSHARD

/*
 * The machine's plan. Valid from schedshard_init() on, that is for everything that starts in
 * sched_init() or later. Read-only.
 */
extern const struct shard_plan *schedshard_plan;

/* Options of the plan, from the command line; all zero: defaults. */
extern struct shard_plan_opts schedshard_opts;

/* Where the LLCs of the plan come from, in words. */
extern const char *schedshard_source;

/**
 * schedshard_init() - make the plan
 *
 * Context: boot CPU, right before sched_init(): slab works, CPU numbers and nodes are
 * assigned, early parameters are parsed. Panics when there is no memory.
 */
void __init schedshard_init(void);

/**
 * schedshard_arch_topology() - what the architecture knows about the CPUs this early
 * @cpu: records by CPU number, nr_cpu_ids of them, with everything unknown but @possible and
 *	 @node; ids that are known are to be filled in, see struct shard_cpu
 *
 * Return: what @llc was taken from, in words; NULL when it is not known. Context: as
 * schedshard_init().
 */
const char *__init schedshard_arch_topology(struct shard_cpu *cpu);

/**
 * schedshard_check() - compare the plan with the caches that CPUs report
 * @a: where to store the first of two CPUs that differ
 * @b: where to store the second
 *
 * Return: 0 when the plan is right, -ENODATA when there is nothing to compare with, -EXDEV: @a
 * and @b are in one LLC of the plan but have different caches, -EEXIST: the other way round.
 * Context: may sleep; after device_initcall(), which collects the cache information.
 */
int schedshard_check(unsigned int *a, unsigned int *b);

#else

static inline void schedshard_init(void) { }

#endif /* CONFIG_SCHEDSHARD */

#endif /* _LINUX_SCHEDSHARD_MACHINE_H */
