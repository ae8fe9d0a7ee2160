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
 *  walk_*       | ok           | ok            | ok                 | ok
 *
 * "other CPUs": the caller holds the run-queue lock of the CPU it sets, as Linux does.
 * walk_request: any CPU. walk_arrive, walk_next: only the CPU that the walk was sent to.
 *
 * Ordering that the scheduler relies on, whatever the layout (on x86; where locked operations are
 * no barriers, Linux's layouts promise less): a level that was lowered is visible before a later
 * overloaded() or walk_request() of the same CPU looks, and overload_set() is visible
 * before a later find() of the same CPU looks: else a task waits while a CPU that could
 * run it idles, each having looked before the other had said so.
 */
#ifndef RIVALS_RD_H
#define RIVALS_RD_H

#include "port.h"
#include "cpupri.h"
#include "shard_plan.h"

/* Who has pushable RT tasks, as the pull side asks: an OR of these, 0 for nobody. */
enum rd_overload {
	RD_ONLY_ME = 1, /* the caller's CPU, and nobody else that it should know of */
	RD_OTHERS = 2,	/* CPUs that walk 0 visits */
	RD_FAR = 4,	/* CPUs that walk 1 visits, for a layout that has two */
};

struct rd;

/**
 * struct rd_ops - one layout
 * @name: as in every table
 * @by_index: @next goes in order of topology, not of CPU numbers
 * @create: a root domain for the CPUs in @span, all at CPUPRI_INVALID; NULL when memory is short
 * @set_level: the CPU's highest runnable level is now @level
 * @destroy: gives all of it back; nothing may be running
 * @find: lowest level below @level at which a CPU of @allowed is that @fits accepts (NULL: all
 *	do; if it accepts none at any level, as if NULL); its CPUs, of @span and @allowed, into
 *	@found, whose contents are undefined when there is none. NULL: not wanted; then @fits is not
 *	asked, nor who is active, as in Linux, and the level returned may be that of any CPU that
 *	counts. Returns the level + 1, or 0 when there is none. A CPU whose level rises meanwhile is
 *	seen at the old or the new level, never at neither
 * @find_near: the same for a caller that takes one CPU, rather near @home_cpu, where the task ran
 *	last. Where the level is CPUPRI_NORMAL, @found (not NULL) may lack CPUs farther away than
 *	one that is in it; Linux has no such search, its layouts do as @find
 * @only_waiting: the CPU shall be in the overload set only while a pushable task waits that does
 *	not outrank the running one: what outranks it will run here, and nobody may take it
 * @tells_wide: @overload_set wants to know @wide: there is a walk a shard, and one for the machine
 * @overload_set: the CPU has pushable RT tasks; @wide: one of them may run outside of the CPU's
 *	shard. Also called when only that changes
 * @overload_clear: it has none any more
 * @overloaded: is anybody? An OR of enum rd_overload; what made it so is visible to @next
 * @next: first CPU after @cpu (-1: from the start) that a walk of @this_cpu's visits: in number
 *	order, or in that of topology for a layout that says so in @by_index; -1: none. @walk: 0 or,
 *	after RD_FAR, 1
 * @tidy: called from the tick of each CPU a few times a second
 * @walk_request: @this_cpu wants the CPUs that a walk visits to push. Returns the CPU to interrupt,
 *	on which walk_arrive() and, when it has pushed, walk_next() are then called, or -1: a walk
 *	that starts over after this call is under way, or there is nobody to visit
 * @walk_arrive: the interrupt has come
 * @walk_next: the CPU to interrupt next, or -1: the walk is over
 * @flag: address of the `overloaded` byte that the fair class reads at every newly idle
 *	balance and enqueue paths write when it changes
 * @map_bytes: bytes of priority map and overload tracking, with what they allocate
 */
struct rd_ops {
	const char *name;
	bool by_index;
	bool only_waiting;
	bool tells_wide;
	struct rd *(*create)(const struct shard_topo *topo, const struct shard_plan *plan,
			     const unsigned long *span);
	void (*destroy)(struct rd *rd);
	void (*set_level)(struct rd *rd, u32 cpu, int level);
	int (*find)(struct rd *rd, int level, u32 this_cpu, const unsigned long *allowed,
		    unsigned long *found, bool (*fits)(u32 cpu, void *arg), void *arg);
	int (*find_near)(struct rd *rd, int level, u32 home_cpu, const unsigned long *allowed,
			 unsigned long *found, bool (*fits)(u32 cpu, void *arg), void *arg);
	void (*overload_set)(struct rd *rd, u32 cpu, bool wide);
	void (*overload_clear)(struct rd *rd, u32 cpu);
	u32 (*overloaded)(const struct rd *rd, u32 this_cpu);
	s64 (*next)(const struct rd *rd, u32 this_cpu, u32 walk, s64 cpu);
	void (*tidy)(struct rd *rd, u32 cpu);
	s64 (*walk_request)(struct rd *rd, u32 this_cpu, u32 walk);
	void (*walk_arrive)(struct rd *rd, u32 this_cpu, u32 walk);
	s64 (*walk_next)(struct rd *rd, u32 this_cpu, u32 walk);
	u8 *(*flag)(struct rd *rd);
	size_t (*map_bytes)(const struct rd *rd);
};

/* The functions of a layout that is one file, by the names that they have in each. */
#define RD_OPERATIONS                                                                       \
	.create = create, .destroy = destroy, .set_level = set_level, .find = find,         \
	.overload_set = overload_set_cpu, .overload_clear = overload_clear_cpu,             \
	.overloaded = overloaded, .next = next, .tidy = tidy, .walk_request = walk_request, \
	.walk_arrive = walk_arrive, .walk_next = walk_next, .flag = flag, .map_bytes = map_bytes

/*
 * stock, pad, split, relayout, node-count, node-mask, series, llc-count, sbm-bits, shard, and the
 * steps from stock to shard: stock-waiting, bytes, bytes-waiting.
 */
extern const struct rd_ops *const rd_layouts[]; /* NULL-terminated */

/*
 * Told what is allocated next: object and C type, for reports. NULL: nobody wants to know.
 * The simulator sets it to arena_label().
 */
extern void (*rd_label_hook)(const char *name, const char *type);

#endif
