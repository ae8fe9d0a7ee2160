/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The RT priority map: at which level does each CPU run? Linux's cpupri, on a
 * byte map: one byte a CPU instead of 101 counters and 101 masks.
 *
 * Concurrency of operations on one map ("ok": any threads, any CPUs, at once):
 *
 *                  | set, same CPU    | set, other CPU | get find* | init cleanup
 *   set, same CPU  | caller serialises| ok             | ok        | -
 *   set, other CPU | ok               | ok             | ok        | -
 *   get, find*     | ok               | ok             | ok        | -
 *   init, cleanup  | -                | -              | -         | -  caller excludes
 *
 * "Caller serialises": it holds that CPU's run-queue lock, as Linux does.
 *
 * What a search guarantees while levels change: a CPU that rises is seen at its old
 * or its new level, never at neither; a CPU that falls is seen at one of the two as
 * well, the old one for as long as the store is not visible. cpupri.c tells why
 * that is enough.
 *
 * Context: init and cleanup may sleep; the rest runs anywhere, interrupts included,
 * and waits for nobody. CPU numbers must be those of possible CPUs; levels must be
 * levels; neither is checked.
 *
 * Lines: one a shard is written (8 for 480 CPUs). Read-only, and shared by every CPU, are
 * the map's table (8 bytes a CPU number, 8 a shard) and the plan.
 */
#ifndef SCHEDSHARD_CPUPRI_H
#define SCHEDSHARD_CPUPRI_H

#include "port.h"
#include "bytemap.h"
#include "shard_plan.h"

/*
 * Levels, low to high: nothing may be put on the CPU (not in the root domain, or off line); idle
 * or normal tasks; 1 to 99 for the RT priorities; above all of them (deadline and stop).
 */
#define CPUPRI_INVALID (-1)
#define CPUPRI_NORMAL  0
#define CPUPRI_HIGHER  100

/**
 * struct cpupri - the map
 * @map: one byte a CPU: its level, BYTEMAP_MAX for CPUPRI_INVALID, which is then
 *	 below no level, and never found
 * @plan: as in @map
 * @nr_cpus: as in the plan
 * @words: words of an ordinary mask
 * @sparse: up to so many allowed CPUs are looked up one by one
 *
 * Read-only once made.
 */
struct cpupri {
	struct bytemap *map;
	const struct shard_plan *plan;
	u32 nr_cpus;
	u16 words;
	u16 sparse;
};

/**
 * cpupri_init() - make a map with every CPU at CPUPRI_INVALID
 * @cp: the map
 * @plan: the plan; must outlive it
 *
 * Return: false when there is no memory. Context: may sleep.
 */
bool cpupri_init(struct cpupri *cp, const struct shard_plan *plan);

/**
 * cpupri_cleanup() - give back what cpupri_init() allocated
 * @cp: the map, cpupri_init() succeeded on it
 */
void cpupri_cleanup(struct cpupri *cp);

/* A level as a byte: -1 becomes 127, the others are themselves. */
static port_always_inline u8 cpupri_to_byte(int level)
{
	return (u8)level & BYTEMAP_MAX;
}

/**
 * cpupri_set() - a CPU's highest runnable level is now another
 * @cp: the map
 * @cpu: CPU number; the caller holds its run-queue lock
 * @level: CPUPRI_INVALID to CPUPRI_HIGHER
 *
 * One plain byte store, also when nothing changed: Linux compares first, with a copy of its own;
 * here that would be a load of a line that the CPU's neighbours write, which waits
 * for the line where a store does not (simulated, 480 CPUs: 167 cycles instead of 11 for each
 * fall), and callers call this for changes.
 *
 * Ordering: none. Who lowers a level and then looks for work has a full barrier in
 * between: overload_query() and push_walk_request() begin with one.
 * Lines touched: the shard's line, written.
 */
static port_always_inline void cpupri_set(struct cpupri *cp, u32 cpu, int level)
{
	bytemap_set(cp->map, cpu, cpupri_to_byte(level));
}

/**
 * cpupri_get() - a CPU's level
 * @cp: the map
 * @cpu: CPU number
 *
 * Return: CPUPRI_INVALID to CPUPRI_HIGHER. Ordering: none. Lines touched: the shard's line,
 * read.
 */
static inline int cpupri_get(const struct cpupri *cp, u32 cpu)
{
	u8 byte = bytemap_get(cp->map, cpu);

	return byte == BYTEMAP_MAX ? CPUPRI_INVALID : byte;
}

/**
 * cpupri_find_fitness() - where can a task run at once?
 * @cp: the map
 * @level: the task's level; only CPUs at lower ones count
 * @from_cpu: CPU number that "near" is meant from
 * @allowed: ordinary mask of plan->nr_cpus bits: CPUs that the task may use
 * @active: ordinary mask that CPUs must be in as well
 * @lowest_mask: ordinary mask of the caller's own, not one of the others, for the CPUs found: all
 *	those at the lowest level that has any; undefined when there are none. NULL: only
 *	tell whether there is a CPU; the search then ends with the first one
 * @fits: does the CPU fit the task? NULL: all do. Asked with @lowest_mask only, at most
 *	twice for each allowed CPU. Should be quick
 * @arg: passed to it
 *
 * If no CPU fits at any level, the search is repeated as if all did.
 *
 * Return: 0 when there is none, else the level of the CPUs found plus 1; without
 * @lowest_mask that of some CPU, not always the lowest. Ordering: none; pairs as said in
 * cpupri.c. Lines touched: the own shard's, and those of shards that have an allowed CPU.
 */
int cpupri_find_fitness(const struct cpupri *cp, int level, u32 from_cpu,
			const unsigned long *allowed, const unsigned long *active,
			unsigned long *lowest_mask, bool (*fits)(u32 cpu, void *arg), void *arg);

/**
 * cpupri_find() - the same where every CPU fits
 * @cp: see above
 * @level: see above
 * @from_cpu: see above
 * @allowed: see above
 * @active: see above
 * @lowest_mask: see above
 *
 * Return: as cpupri_find_fitness().
 */
static inline int cpupri_find(const struct cpupri *cp, int level, u32 from_cpu,
			      const unsigned long *allowed, const unsigned long *active,
			      unsigned long *lowest_mask)
{
	return cpupri_find_fitness(cp, level, from_cpu, allowed, active, lowest_mask, NULL, NULL);
}

/**
 * cpupri_find_near() - the same for a caller that takes one CPU, and rather a near one
 * @cp: see above
 * @level: see above
 * @from_cpu: see above: where the task ran last
 * @allowed: see above
 * @active: see above
 * @lowest_mask: for CPUs at the lowest level of all: not NULL. Where that is CPUPRI_NORMAL,
 *	below which there is nothing, those of the shards that were looked at until then
 *	are enough; else all of them
 * @fits: see above
 * @arg: see above
 *
 * Return: as cpupri_find_fitness(). Lines touched: as there, nearest shard first, and none
 * after one with a CPU at CPUPRI_NORMAL: on a machine with an idle CPU near by, one, however
 * large the machine is.
 */
int cpupri_find_near(const struct cpupri *cp, int level, u32 from_cpu, const unsigned long *allowed,
		     const unsigned long *active, unsigned long *lowest_mask,
		     bool (*fits)(u32 cpu, void *arg), void *arg);

#endif /* SCHEDSHARD_CPUPRI_H */
