/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * rd.h - one interface for every layout of the RT scheduler's global state: priority map, overload
 * tracking, and the state of the push-IPI walk. The simulated RT class (model/experiments/rt/)
 * calls nothing else. The semantic tests run every layout through it.
 *
 * Levels: CPUPRI_INVALID, CPUPRI_NORMAL, 1-99 for RT priorities, CPUPRI_HIGHER. CPU masks are
 * cpumasks, by CPU number.
 *
 *               | set_level    | find          | overload set/clear | overloaded, next
 *  set_level    | other CPUs   | ok, see below | ok                 | ok
 *  overload s/c | ok           | ok            | other CPUs         | ok, see below
 *  walk_*       | ok           | ok            | ok                 | ok
 *
 * "other CPUs": the caller holds the run-queue lock of the CPU it sets, as Linux does.
 * walk_request: any CPU. walk_arrive, walk_next: only the CPU to which the walk was sent.
 *
 * The scheduler relies on two orderings in every layout (on x86; where locked operations are not
 * barriers, Linux's layouts guarantee less). A lowered level is visible before a later overloaded()
 * or walk_request() of the same CPU reads. overload_set() is visible before a later find() of the
 * same CPU reads. Otherwise both CPUs may read too early, and a task may wait while a CPU that
 * could run it idles.
 */
#ifndef LAYOUTS_RD_H
#define LAYOUTS_RD_H

#include "port.h"
#include "shard_topo.h"

/* As in core/sched/cpupri.h: the compiler reports a difference. */
#define CPUPRI_INVALID (-1)
#define CPUPRI_NORMAL  0
#define CPUPRI_HIGHER  100

/* What a pull sees of the CPUs with pushable RT tasks: an OR of these bits; 0: no such CPU. */
enum rd_overload {
	RD_ONLY_ME = 1, /* the caller's CPU, and no other from which it may pull */
	RD_OTHERS = 2,	/* CPUs from which it may pull */
};

#define RD_FROM_ALL (~0ull)

/* Where a task may run: see core/sched/rto.h. */
struct rd_reach {
	u64 shards, places;
};

struct rd;

/**
 * struct rd_ops - one layout
 * @name: as in every table
 * @by_index: @next follows topology order, not CPU numbers
 * @create: returns a root domain for the CPUs in @span, all at CPUPRI_INVALID, or NULL
 * @set_level: the CPU's highest runnable level is now @level
 * @destroy: frees the root domain; no other function runs meanwhile
 * @find: find the lowest level below @level with a CPU of @allowed that @fits accepts. If @fits is
 *	NULL, or accepts no CPU at any level, all CPUs fit. Stores that level's CPUs, of @span and
 *	@allowed, in @found, which is undefined when there are none. Returns the level + 1, or 0 if
 *	there is none. With @found NULL it ignores @fits and the active CPUs, as Linux does, and
 *	returns any number but 0 if there is such a level. A CPU whose level rises meanwhile is seen
 *	at the old or the new level, never at neither
 * @find_near: as @find, for a caller that takes one CPU, preferably near @home_cpu, where the task
 *	ran last. At CPUPRI_NORMAL, a search that found a CPU may leave farther ones out of @found
 *	(not NULL). Linux has no such search: its layouts do as @find
 * @only_waiting: the CPU must be in the overload set only while a pushable task waits that does
 *	not outrank the running one. A task that outranks it will run here, and no CPU may take it
 * @reach: where a task may run whose allowed CPUs are @allowed. NULL: the layout does not use it
 * @reaches: may a task with this reach run on @cpu? The answer may be a wrong yes
 * @place: a CPU's place in the order of @next; NULL: see @by_index
 * @overload_set: the CPU has pushable RT tasks. @shards: the shards of all tasks that were pushable
 *	since the CPU last had none. Also called when only @shards changes
 * @overload_clear: the CPU no longer has pushable RT tasks
 * @overloaded: are there CPUs with pushable RT tasks? An OR of enum rd_overload; @next then sees
 *	them. @from: for @next; RD_FROM_ALL: they may be anywhere, or the layout does not know
 * @next: first CPU after @cpu (-1: from the start) from which @this_cpu may pull, in the order of
 *	CPU numbers or, with @by_index, of topology from the own shard on; -1: none
 * @walk_request: @this_cpu wants all overloaded CPUs to push. Returns the CPU to interrupt, which
 *	then calls walk_arrive() and, after its push, walk_next(). -1: a walk under way starts over
 *	after this call, or there is no CPU to visit
 * @walk_arrive: the interrupt has come
 * @walk_next: the CPU to interrupt next, or -1: the walk is over
 * @flag: address of the `overloaded` byte, which the fair class reads at every newly idle balance,
 *	and enqueue paths write when it changes
 * @map_bytes: size of priority map and overload tracking, with their allocations
 */
struct rd_ops {
	const char *name;
	bool by_index;
	bool only_waiting;
	struct rd_reach (*reach)(const unsigned long *allowed);
	bool (*reaches)(struct rd_reach reach, u32 cpu);
	u32 (*place)(u32 cpu);
	struct rd *(*create)(const struct shard_topo *topo, const struct shard_plan *plan,
			     const unsigned long *span);
	void (*destroy)(struct rd *rd);
	void (*set_level)(struct rd *rd, u32 cpu, int level);
	int (*find)(struct rd *rd, int level, u32 this_cpu, const unsigned long *allowed,
		    unsigned long *found, bool (*fits)(u32 cpu, void *arg), void *arg);
	int (*find_near)(struct rd *rd, int level, u32 home_cpu, const unsigned long *allowed,
			 unsigned long *found, bool (*fits)(u32 cpu, void *arg), void *arg);
	void (*overload_set)(struct rd *rd, u32 cpu, u64 shards);
	void (*overload_clear)(struct rd *rd, u32 cpu);
	u32 (*overloaded)(struct rd *rd, u32 this_cpu, u64 *from);
	s64 (*next)(const struct rd *rd, u32 this_cpu, u64 from, s64 cpu);
	s64 (*walk_request)(struct rd *rd, u32 this_cpu);
	void (*walk_arrive)(struct rd *rd, u32 this_cpu);
	s64 (*walk_next)(struct rd *rd, u32 this_cpu);
	u8 *(*flag)(struct rd *rd);
	size_t (*map_bytes)(const struct rd *rd);
};

/* The functions of a layout, which have the same names in each file. */
#define RD_OPERATIONS                                                               \
	.create = create, .destroy = destroy, .set_level = set_level, .find = find, \
	.overload_set = overload_set_cpu, .overload_clear = overload_clear_cpu,     \
	.overloaded = overloaded, .next = next, .walk_request = walk_request,       \
	.walk_arrive = walk_arrive, .walk_next = walk_next, .flag = flag, .map_bytes = map_bytes

extern const struct rd_ops *const rd_layouts[]; /* all of rd_layouts.h, NULL-terminated */

/*
 * If set, it is called before each allocation with the object's name and C type, which reports
 * show. The simulator sets it to arena_label().
 */
extern void (*rd_label_hook)(const char *name, const char *type);

#endif
