/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The overload set: CPUs with RT tasks that wait and could run elsewhere. One byte a
 * CPU, a line a shard, written by plain stores.
 *
 * Concurrency of operations on one set ("ok": any threads, any CPUs, at once):
 *
 *                          | set clear, same CPU | set clear, other | query next tidy | alloc free
 *   set clear, same CPU    | caller serialises   | ok               | ok              | -
 *   set clear, other CPU   | ok                  | ok               | ok              | -
 *   query next test tidy   | ok                  | ok               | ok              | -
 *   alloc free             | -                   | -                | -               | -
 *
 * "Caller serialises": it holds that CPU's run-queue lock, as Linux does.
 *
 * Emptiness is linearisable CPU by CPU: once overload_set() returned, a query or a
 * walk that starts later sees the CPU until it is cleared. Who was told OVERLOAD_OTHERS
 * finds the CPU that made it so with overload_next(), unless it was cleared since:
 * both read the same byte. A CPU that is cleared while another one is set may
 * hide both, as in any set of more than one word.
 *
 * A summary says which shards have had an overloaded CPU since they were last tidied, so that on a
 * machine where RT tasks keep to some shards, or to none, a query reads those lines only.
 * It is set by overload_set() and cleared by overload_tidy() alone, which is called now
 * and then: a set whose CPUs come and go all the time leaves the summary alone.
 *
 * Context: alloc and free may sleep; the rest runs anywhere, interrupts included, and
 * waits for nobody. CPU numbers must be those of possible CPUs; they are not checked.
 */
#ifndef SCHEDSHARD_OVERLOAD_H
#define SCHEDSHARD_OVERLOAD_H

#include "port.h"
#include "bytemap.h"
#include "shard_plan.h"
#include "shard_summary.h"

enum overload_state {
	OVERLOAD_NONE,
	OVERLOAD_ONLY_ME,
	OVERLOAD_OTHERS,
};

/**
 * struct overload_part - CPUs of one shard among 64 consecutive CPU numbers
 * @pos: their positions in the shard
 * @shard: the shard
 */
struct overload_part {
	u64 pos;
	u32 shard;
};

/**
 * struct overload - the set
 * @map: by CPU: 1 when it is overloaded
 * @summary: by shard: it may have an overloaded CPU; NULL for a single shard
 * @slot: the plan's table by CPU number
 * @part: parts of all windows of 64 CPU numbers, window after window
 * @words: words of the longest line
 * @bytes: memory of this header with its tables
 * @first_part: by window: its first part; one more at the end
 *
 * All of it but the lines of @map and @summary is read-only.
 */
struct overload {
	struct bytemap *map;
	struct shard_summary *summary;
	const struct shard_slot *slot;
	const struct overload_part *part;
	u32 words;
	size_t bytes;
	u32 first_part[];
};

/**
 * overload_alloc() - make an empty set
 * @plan: the plan; must outlive it
 *
 * Return: the set, NULL when there is no memory. Context: may sleep.
 */
struct overload *overload_alloc(const struct shard_plan *plan);

/**
 * overload_free() - give a set back
 * @o: the set, or NULL
 */
void overload_free(struct overload *o);

/**
 * overload_set() - the CPU has tasks to push
 * @o: the set
 * @cpu: CPU number; the caller holds its run-queue lock
 *
 * Ordering: a full barrier after the store: pairs with that in overload_query(),
 * push_walk_request() (see cpupri.c) and overload_tidy(). Lines touched: the shard's line,
 * written; the summary's, read, and written when the shard was tidied away.
 */
static port_always_inline void overload_set(struct overload *o, u32 cpu)
{
	bytemap_set(o->map, cpu, 1);
	smp_mb();
	if (o->summary && !shard_summary_is_occupied(o->summary, o->slot[cpu].shard))
		shard_summary_mark(o->summary, o->slot[cpu].shard);
}

/**
 * overload_clear() - it has none any more
 * @o: the set
 * @cpu: CPU number; the caller holds its run-queue lock
 *
 * Ordering: none: seen late, it costs somebody a look at a queue that has nothing to give.
 * Lines touched: the shard's line, written.
 */
static port_always_inline void overload_clear(struct overload *o, u32 cpu)
{
	bytemap_set(o->map, cpu, 0);
}

/**
 * overload_test() - is the CPU in the set?
 * @o: the set
 * @cpu: CPU number
 *
 * Ordering: none. Lines touched: the shard's line, read.
 */
static inline bool overload_test(const struct overload *o, u32 cpu)
{
	return bytemap_get(o->map, cpu);
}

/**
 * overload_query() - is there anybody to take tasks from?
 * @o: the set
 * @this_cpu: CPU number of who asks
 *
 * Return: OVERLOAD_OTHERS as soon as another CPU is seen; OVERLOAD_ONLY_ME when nobody but
 * @this_cpu is, OVERLOAD_NONE when nobody is. Ordering: full barrier before: the caller's
 * lower level is visible before it looks. Lines touched: own shard's; then, unless it has
 * another overloaded CPU, the summary's, read, and those of shards that it names, nearest first,
 * up to one with an overloaded CPU.
 */
enum overload_state overload_query(const struct overload *o, u32 this_cpu);

/**
 * overload_next() - the overloaded CPU that follows in order of CPU numbers
 * @o: the set
 * @cpu: CPU number, need not be in the set nor be possible; -1: from the start
 *
 * For a walk that is kept between calls, as when one CPU after the other is sent an
 * interrupt. Return: its CPU number, -1 when there is none after @cpu. Ordering: none.
 * Lines touched: those of shards with CPUs behind @cpu, in order of CPU numbers, up to the hit.
 */
s64 overload_next(const struct overload *o, s64 cpu);

/**
 * overload_tidy() - if nobody in the CPU's shard is overloaded, let the summary say so
 * @o: the set
 * @cpu: CPU number
 *
 * From a tick or the like, a few times a second for each shard; the longer between, the fewer
 * writes of the summary where CPUs come and go. Need not be called at all. Ordering: none that
 * a caller could use. Lines touched: the summary's, read; when the shard is named there, its line,
 * read; when that is empty, the summary's, written.
 */
void overload_tidy(struct overload *o, u32 cpu);

#endif /* SCHEDSHARD_OVERLOAD_H */
