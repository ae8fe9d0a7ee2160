/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shard plan of the machine that the kernel runs on. schedshard_init() makes it once, before
 * any other CPU or task exists, so that readers need no lock.
 */
#ifndef _LINUX_SCHEDSHARD_MACHINE_H
#define _LINUX_SCHEDSHARD_MACHINE_H

#include <linux/init.h>
#include <linux/schedshard/shard_plan.h>

struct shard_rec;

/* The machine's plan, from sched_init() on. */
extern const struct shard_plan *schedshard_plan;

/*
 * Make the plan, right before sched_init(): slab works; CPU numbers, nodes and early parameters are
 * known. Panics without memory.
 */
void __init schedshard_init(void);

/*
 * Add the CPUs' places that the architecture knows this early to @n records, one a possible CPU,
 * with @cpu and SHARD_AT_NODE set. The architecture fills in the caches of all CPUs or of none.
 */
void __init schedshard_arch_topology(struct shard_rec *rec, u32 n);

#endif /* _LINUX_SCHEDSHARD_MACHINE_H */
