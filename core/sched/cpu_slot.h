/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef _LINUX_SCHED_CPU_SLOT_H
#define _LINUX_SCHED_CPU_SLOT_H

#include <linux/cache.h>
#include <linux/init.h>

/*
 * Every possible CPU has a slot: its place in an array of bytes that all CPUs
 * write. A shard is one line of such an array, for CPUs of one node that share
 * a last-level cache. So a CPU takes it from no other to store its own byte.
 *
 * cpu_slots_init() makes the slots before the first root domain, and nothing
 * changes them after that.
 */
#define SHARD_SLOTS SMP_CACHE_BYTES

extern unsigned int *cpu_slot;	  /* by CPU */
extern u8 *slot_run;		  /* by CPU, see cpu_slots_init() */
extern int *slot_cpu;		  /* by slot; 0 for a slot without a CPU */
extern unsigned int nr_cpu_slots; /* a multiple of SHARD_SLOTS */

/* The place of a CPU. The ids can be any numbers. */
struct cpu_place {
	int cpu;
	int node;
	unsigned int cache; /* the last-level cache; 0 if unknown */
	unsigned int id;    /* CPUs with near ids share more */
};

void __init cpu_slots_init(void);
u8 *cpu_slot_bytes(u8 value);
void __init arch_cpu_place(struct cpu_place *place);

static inline bool cpus_share_shard(int a, int b)
{
	return cpu_slot[a] / SHARD_SLOTS == cpu_slot[b] / SHARD_SLOTS;
}

#endif /* _LINUX_SCHED_CPU_SLOT_H */
