/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The overload set: CPUs with RT tasks that wait and could run elsewhere. One byte a
 * CPU, a line a shard, written by plain stores.
 *
 * A CPU is in it in one of two ways. Wide: one of its waiting tasks may run outside of the
 * CPU's shard; everybody is told. Not wide: all of them are confined to the shard (pinned
 * to a few CPUs, say); only CPUs of the shard could take one, and only they are told. So a
 * workload that is pinned inside of shards costs what it would cost if each shard were a
 * machine of its own: nobody reads or writes a line of another one.
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
 * walk that starts later sees the CPU until it is cleared, as long as it is one that the CPU
 * concerns. Who was told OVERLOAD_NEAR finds the CPU that made it so with
 * overload_next_near(), who was told OVERLOAD_WIDE with overload_next_wide(), unless it was
 * cleared since: both read the same byte. A CPU that is cleared while another one is set may
 * hide both, as in any set of more than one word.
 *
 * A summary says which shards have had a wide CPU since they were last tidied, so that a query
 * reads those lines only, besides its own. It is set by overload_set(), and cleared now and
 * then: by overload_tidy(), from a tick, or by the query that looked in vain,
 * overload_query_tidy(). A set whose CPUs come and go all the time leaves the summary alone.
 * Ticks can be stopped: a shard whose CPUs have none is then named for ever, and every query
 * elsewhere reads its line. A query that tidies needs nobody's tick.
 *
 * Bytes are stored, words are loaded: bytemap.h says what makes that right.
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

/* What overload_query() found: an OR of these, 0 for nobody. */
#define OVERLOAD_SELF 1u /* who asks is overloaded itself */
#define OVERLOAD_NEAR 2u /* another CPU of its shard is */
#define OVERLOAD_WIDE 4u /* a CPU of another shard is, and has a task that may leave that shard */

/* Values of a CPU's byte. */
#define OVERLOAD_BYTE	   1u
#define OVERLOAD_BYTE_WIDE 3u

/**
 * struct overload - the set
 * @map: by CPU: 0, OVERLOAD_BYTE or OVERLOAD_BYTE_WIDE
 * @summary: by shard: it may have a wide CPU; NULL for a single shard
 * @slot: the plan's table by CPU number
 * @words: words of the longest line
 * @tidied: by shard: the period in which a query tidied it last; NULL for a single shard
 * @alone: the machine has one CPU
 *
 * All of it but the lines of @map, @summary and @tidied is read-only.
 */
struct overload {
	struct bytemap *map;
	struct shard_summary *summary;
	const struct shard_slot *slot;
	u64 *tidied;
	u32 words;
	bool alone;
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
 * @wide: one of them may run on a CPU of another shard. With a single shard it does not matter
 *
 * Also to say that this has changed. Ordering: a full barrier after the store: pairs with that
 * in overload_query(), push_walk_request() (see cpupri.c) and overload_tidy(). Lines touched: the
 * shard's line, written; the summary's when @wide, read, and written when the shard was
 * tidied away.
 */
static port_always_inline void overload_set(struct overload *o, u32 cpu, bool wide)
{
	bytemap_set(o->map, cpu, wide ? OVERLOAD_BYTE_WIDE : OVERLOAD_BYTE);
	smp_mb(); /* the pairs are named above */
	if (wide && o->summary)
		shard_summary_ensure(shard_summary_word(o->summary, o->slot[cpu].shard),
				     shard_summary_occupied(o->slot[cpu].shard));
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
 * Return: true when it is. Ordering: none. Lines touched: the shard's line, read.
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
 * Return: an OR of OVERLOAD_SELF, OVERLOAD_NEAR and OVERLOAD_WIDE. Ordering: full barrier before:
 * the caller's lower level is visible before it looks; none on a machine of one CPU. Lines
 * touched: own shard's; the summary's, read; those of shards that it names, nearest first, up to
 * one with a wide CPU.
 */
u32 overload_query(const struct overload *o, u32 this_cpu);

/**
 * overload_query_tidy() - overload_query(), after which the summary names fewer shards in vain
 * @o: the set
 * @this_cpu: CPU number of who asks
 * @period: which period it is, by a clock of the caller's: jiffies divided by a quarter of a
 *	second, say. Where CPUs' clocks differ a shard is tidied more often
 *
 * A shard that the summary names, and in which nobody is wide, is taken out of the summary by the
 * first query that sees it so in a period. Each shard costs the summary at most one write a period,
 * and one more when it is marked again, however many CPUs ask; no CPU needs a tick for that.
 *
 * Return, ordering: as overload_query(). Lines touched: as there; for a shard named in vain also
 * that of @tidied, read, and once a period written, as the summary's.
 */
u32 overload_query_tidy(struct overload *o, u32 this_cpu, u64 period);

/**
 * overload_next_near() - the overloaded CPU of a shard that follows
 * @o: the set
 * @shard: the shard
 * @cpu: CPU number, of @shard, need not be in the set; -1: from the start
 *
 * For a walk that is kept between calls, as when one CPU after the other is sent an
 * interrupt; in order of topology. Ordering: none. Lines touched: the shard's.
 *
 * Return: its CPU number, -1 when there is none after @cpu.
 */
s64 overload_next_near(const struct overload *o, u32 shard, s64 cpu);

/**
 * overload_next_wide() - the wide CPU that follows, of all shards
 * @o: the set
 * @cpu: CPU number, need not be in the set; -1: from the start
 *
 * The same for the whole machine. Lines touched: the shards' from that of @cpu on, up to the hit.
 *
 * Return: its CPU number, -1 when there is none after @cpu.
 */
s64 overload_next_wide(const struct overload *o, s64 cpu);

/**
 * overload_tidy() - if nobody in the CPU's shard is wide, let the summary say so
 * @o: the set
 * @cpu: CPU number
 *
 * From a tick or the like, a few times a second for each shard; the longer between, the fewer
 * writes of the summary where CPUs come and go. Need not be called at all. Ordering: none that
 * a caller could use. Lines touched: the summary's, read; when the shard is named there, its line,
 * read; when nobody in it is wide, the summary's, written.
 */
void overload_tidy(struct overload *o, u32 cpu);

#endif /* SCHEDSHARD_OVERLOAD_H */
