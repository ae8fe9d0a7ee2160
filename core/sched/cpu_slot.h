/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef _LINUX_SCHED_CPU_SLOT_H
#define _LINUX_SCHED_CPU_SLOT_H

#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/init.h>

/*
 * Every possible CPU has a slot: its place in an array of bytes that all CPUs
 * write. A shard is one line of such an array, for CPUs of one node that share
 * a last-level cache. So a store moves no line between two such caches.
 *
 * cpu_slots_init() makes the slots before the first root domain, and nothing
 * changes them after that.
 */
#define SHARD_SLOTS SMP_CACHE_BYTES

extern unsigned int *cpu_slot;	  /* by CPU */
extern u8 *cpu_slot_run;	  /* by CPU, see number_slots() */
extern int *cpu_slot_cpu;	  /* by slot; 0 for a slot without a CPU */
extern unsigned int nr_cpu_slots; /* a multiple of SHARD_SLOTS */

/* The place of a CPU. The numbers can be any. */
struct cpu_place {
	int cpu;
	int node;
	unsigned int cache; /* the last-level cache; 0 if unknown */
	unsigned int core;  /* CPUs of near cores share more */
};

void __init cpu_slots_init(void);
u8 *cpu_slot_bytes(u8 value);
void __init arch_cpu_place(struct cpu_place *place);

/* Shards and places in a shard as bits; shards 64 apart share a bit. */
static inline u64 cpu_shard_bit(int cpu)
{
	return 1ull << cpu_slot[cpu] / SHARD_SLOTS % 64;
}

static inline u64 cpu_place_bit(int cpu)
{
	return 1ull << cpu_slot[cpu] % SHARD_SLOTS % 64;
}

static inline bool cpus_share_shard(int a, int b)
{
	return cpu_slot[a] / SHARD_SLOTS == cpu_slot[b] / SHARD_SLOTS;
}

#endif /* _LINUX_SCHED_CPU_SLOT_H */
