/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * rd.h - one interface for every layout of the RT scheduler's global state: priority map, overload
 * tracking, and the state of the push-IPI walk. The simulated RT class (experiments/rt/) calls
 * nothing else; the semantic tests run every layout through it.
 *
 * Levels are cpupri's: CPUPRI_INVALID -1, CPUPRI_NORMAL 0, 1-99 for RT priorities, CPUPRI_HIGHER
 * 100. CPU masks are ordinary ones, by CPU number.
 *
 *               | set_level    | find          | overload set/clear | overloaded, next
 *  set_level    | other CPUs   | ok, see below | ok                 | ok
 *  overload s/c | ok           | ok            | other CPUs         | ok, see below
 *
 * "other CPUs": the caller holds the run-queue lock of the CPU it sets, as Linux does.
 */
#ifndef RIVALS_RD_H
#define RIVALS_RD_H

#include "port.h"
#include "shard_plan.h"

#define CPUPRI_INVALID (-1)
#define CPUPRI_NORMAL  0
#define CPUPRI_HIGHER  100
#define CPUPRI_LEVELS  101 /* 0..100 */

/* Who has more than one runnable RT task, as the pull side asks. */
enum rd_overload { RD_NONE, RD_ONLY_ME, RD_OTHERS };

/**
 * struct rd_loop - where the push-IPI walk keeps its state
 * @lock: spinlock word that serialises the walk (rto_lock)
 * @loop: last loop_next that a walk has seen, under @lock
 * @cpu: where the walk is, -1: nowhere, under @lock
 * @loop_next: raised by everybody who wants a walk
 * @loop_start: 1 while somebody starts one
 * @refcount: taken while the walk is under way
 * @work: what the IPI is queued through
 *
 * Pointers, because every layout has them elsewhere.
 */
struct rd_loop {
	u32 *lock;
	s32 *loop;
	s32 *cpu;
	u32 *loop_next;
	u32 *loop_start;
	u32 *refcount;
	u64 *work;
};

struct rd;

/**
 * struct rd_ops - one layout
 * @name: as in every table
 * @create: a root domain for the CPUs in @span, all at CPUPRI_INVALID; NULL when memory is short
 * @set_level: the CPU's highest runnable level is now @level
 * @find: lowest level below @level at which a CPU of @allowed is that @fits accepts (NULL: all
 *	do; if it accepts none at any level, as if NULL); its CPUs, of @span and @allowed, into @found
 *	(NULL: not wanted). Returns the level + 1, or 0 when there is none. A CPU whose level rises
 *	meanwhile is seen at the old or the new level, never at neither
 * @overload_set: the CPU has pushable RT tasks
 * @overload_clear: it has none any more
 * @overloaded: is anybody? If not RD_NONE, the bit that made it so is visible to @next
 * @next: first overloaded CPU after @cpu (-1: from the start) in number order, -1: none
 * @loop: the push-IPI walk's state
 * @flag: address of the `overloaded` byte that the fair class reads at every newly idle
 *	balance and enqueue paths write when it changes
 * @map_bytes: bytes of priority map and overload tracking, with what they allocate
 */
struct rd_ops {
	const char *name;
	struct rd *(*create)(const struct shard_topo *topo, const struct shard_plan *plan,
			     const unsigned long *span);
	void (*set_level)(struct rd *rd, u32 cpu, int level);
	int (*find)(struct rd *rd, int level, u32 this_cpu, const unsigned long *allowed,
		    unsigned long *found, bool (*fits)(u32 cpu, void *arg), void *arg);
	void (*overload_set)(struct rd *rd, u32 cpu);
	void (*overload_clear)(struct rd *rd, u32 cpu);
	enum rd_overload (*overloaded)(const struct rd *rd, u32 this_cpu);
	s64 (*next)(const struct rd *rd, s64 cpu);
	struct rd_loop (*loop)(struct rd *rd);
	u8 *(*flag)(struct rd *rd);
	size_t (*map_bytes)(const struct rd *rd);
};

/* Every layout: stock, pad, split, relayout, node-count, node-mask, series, llc-count, sbm-bits, shard. */
extern const struct rd_ops *const rd_layouts[]; /* NULL-terminated */

#endif
