/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The RT priority map: at which level does each CPU run? One byte per CPU in the line of its shard.
 *
 * Concurrency: the caller of cpupri_set() holds that CPU's run-queue lock. cpupri_init() and
 * cpupri_cleanup() exclude everything else. All other calls may overlap.
 *
 * A search sees a CPU whose level changes at its old or its new level, never at neither. It may see
 * the old one until the store is visible. cpupri.c proves that this is enough.
 *
 * Context of all functions: any, unless said. Ordering: none. CPU numbers are of possible CPUs,
 * levels are in range; no function checks either.
 */
#ifndef SCHEDSHARD_CPUPRI_H
#define SCHEDSHARD_CPUPRI_H

#include "port.h"
#include "bytemap.h"
#include "shard_plan.h"

/*
 * Levels, low to high. CPUPRI_INVALID: not in the root domain, or offline. CPUPRI_NORMAL: idle or
 * normal tasks. 1 to 99: the RT priorities. CPUPRI_HIGHER: deadline and stop.
 */
#define CPUPRI_INVALID (-1)
#define CPUPRI_NORMAL  0
#define CPUPRI_HIGHER  100

/* The map; read-only after cpupri_init(), except for the lines of @map. */
struct cpupri {
	struct bytemap *map;	       /* levels; BYTEMAP_MAX for CPUPRI_INVALID, never found */
	const struct shard_plan *plan; /* as in @map */
	u32 nr_cpus;		       /* as in the plan */
	u16 words;		       /* words of a cpumask */
	u16 sparse;		       /* most allowed CPUs to look up one by one */
};

/* Make a map, all CPUs at CPUPRI_INVALID; the plan must outlive it. False: no memory. May sleep. */
bool cpupri_init(struct cpupri *cp, const struct shard_plan *plan);

/* Free what a successful cpupri_init() allocated. May sleep. */
void cpupri_cleanup(struct cpupri *cp);

/* A level as a byte: -1 becomes 127, the others are themselves. */
static port_always_inline u8 cpupri_to_byte(int level)
{
	return (u8)level & BYTEMAP_MAX;
}

/*
 * Store a CPU's highest runnable level, CPUPRI_INVALID to CPUPRI_HIGHER. One plain store, with no
 * compare before it: a load would wait for a line that neighbours write. A caller that lowers a
 * level and then looks for work needs a full barrier in between. overload_query() and
 * push_walk_request() begin with one. Line touched: the shard's, written.
 */
static port_always_inline void cpupri_set(struct cpupri *cp, u32 cpu, int level)
{
	bytemap_set(cp->map, cpu, cpupri_to_byte(level));
}

/* A CPU's level, CPUPRI_INVALID to CPUPRI_HIGHER. Line: the shard's, read. */
static inline int cpupri_get(const struct cpupri *cp, u32 cpu)
{
	u8 byte = bytemap_get(cp->map, cpu);

	return byte == BYTEMAP_MAX ? CPUPRI_INVALID : byte;
}

/**
 * cpupri_find_fitness() - where can a task run at once?
 * @cp: the map
 * @level: the task's level; only CPUs at lower ones count
 * @from_cpu: CPU number from which distances count
 * @allowed: cpumask of plan->nr_cpus bits: CPUs that the task may use
 * @active: cpumask that CPUs must be in as well
 * @lowest_mask: the caller's own cpumask, for all CPUs at the lowest level that has any; undefined
 *	when there are none. NULL: the search ends with the first CPU
 * @fits: does the CPU fit the task? NULL: all do. Called only if @lowest_mask is not NULL, at most
 *	twice for each allowed CPU
 * @arg: argument of @fits
 *
 * If no CPU fits at any level, the search runs again without @fits.
 *
 * Return: 0: none; else the level of the CPUs found, plus 1. Without @lowest_mask it is the level
 * of some CPU that is low enough, not always of the lowest, plus 1. Lines touched: those of shards
 * that have an allowed CPU.
 */
int cpupri_find_fitness(const struct cpupri *cp, int level, u32 from_cpu,
			const unsigned long *allowed, const unsigned long *active,
			unsigned long *lowest_mask, bool (*fits)(u32 cpu, void *arg), void *arg);

/* The same for tasks that every CPU fits. */
static inline int cpupri_find(const struct cpupri *cp, int level, u32 from_cpu,
			      const unsigned long *allowed, const unsigned long *active,
			      unsigned long *lowest_mask)
{
	return cpupri_find_fitness(cp, level, from_cpu, allowed, active, lowest_mask, NULL, NULL);
}

/*
 * The same for a caller that takes one CPU, and prefers a near one. @lowest_mask is not NULL. At
 * CPUPRI_NORMAL, the lowest level, it may lack CPUs of shards not yet read. Lines touched: as
 * above, nearest shard first, and none after one with a CPU at CPUPRI_NORMAL; all for few allowed
 * CPUs.
 */
int cpupri_find_near(const struct cpupri *cp, int level, u32 from_cpu, const unsigned long *allowed,
		     const unsigned long *active, unsigned long *lowest_mask,
		     bool (*fits)(u32 cpu, void *arg), void *arg);

#endif /* SCHEDSHARD_CPUPRI_H */
