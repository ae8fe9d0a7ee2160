/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The overload set: CPUs with RT tasks that wait and could run elsewhere. Each CPU has a byte in
 * the line of its shard.
 *
 * A CPU in the set is wide or not. Wide: a waiting task may run outside the CPU's shard, and all
 * CPUs see it. Not wide: the shard confines every waiting task, and only its CPUs see it.
 *
 * Concurrency: the caller holds the CPU's run-queue lock in set and clear. overload_alloc() and
 * overload_free() exclude everything else. All other calls may overlap.
 *
 * Once overload_set() returned, every later query or walk that the CPU concerns sees it until it is
 * cleared. After OVERLOAD_NEAR overload_next_near() finds that CPU, after OVERLOAD_WIDE
 * overload_next_wide(), unless it was cleared since. If one CPU is cleared while another is set, a
 * query may miss both, as in any set of more than one word.
 *
 * A summary names the shards that had a wide CPU since a query last tidied them. A query reads only
 * those lines and its own.
 *
 * Context of all functions: any, unless said. Ordering: none, unless said. CPU numbers are of
 * possible CPUs; no function checks them.
 */
#ifndef SCHEDSHARD_OVERLOAD_H
#define SCHEDSHARD_OVERLOAD_H

#include "port.h"
#include "bytemap.h"
#include "shard_plan.h"
#include "shard_summary.h"

/* What overload_query() found: an OR of these, 0: no CPU. */
#define OVERLOAD_SELF 1u /* the querying CPU is overloaded */
#define OVERLOAD_NEAR 2u /* another CPU of its shard is */
#define OVERLOAD_WIDE 4u /* a CPU of another shard is, and has a task that may leave that shard */

/* Values of a CPU's byte. */
#define OVERLOAD_BYTE	   1u
#define OVERLOAD_BYTE_WIDE 3u

/* The set; read-only except for the lines of @map, @summary and @tidied. */
struct overload {
	struct bytemap *map;	       /* by CPU: 0, OVERLOAD_BYTE or OVERLOAD_BYTE_WIDE */
	struct shard_summary *summary; /* shards that may have a wide CPU; NULL: one shard */
	const struct shard_slot *slot; /* the plan's table by CPU number */
	u64 *tidied;		       /* by shard: period of the last tidying; NULL: one shard */
	u32 words;		       /* words of the longest line */
	bool alone;		       /* the machine has one CPU */
};

/* Make an empty set; the plan must outlive it. NULL: no memory. Context: may sleep. */
struct overload *overload_alloc(const struct shard_plan *plan);

/* Free a set, or NULL. Context: may sleep. */
void overload_free(struct overload *o);

/**
 * overload_set() - the CPU has tasks to push, or their wideness changed
 * @o: the set
 * @cpu: CPU number
 * @wide: one of them may run on a CPU of another shard; ignored with a single shard
 *
 * Ordering: a full barrier after the store, P2 and S2; if @wide, one at the end (S5). Lines
 * touched: the shard's, written; if @wide, also the summary's, read, and written when it does not
 * name the shard.
 */
static port_always_inline void overload_set(struct overload *o, u32 cpu, bool wide)
{
	bytemap_set(o->map, cpu, wide ? OVERLOAD_BYTE_WIDE : OVERLOAD_BYTE);
	/*
	 * P2: pairs with F2 in overload_query() and R2 in push_walk_request(). Without it F3 and P3
	 * both look too early. S2: pairs with C3 in shard_summary_clean_words(). Without it S3 and
	 * C4 both do.
	 */
	smp_mb();
	if (wide && o->summary)
		shard_summary_ensure(shard_summary_word(o->summary, o->slot[cpu].shard),
				     shard_summary_occupied(o->slot[cpu].shard));
}

/*
 * The CPU has no tasks to push. A CPU that sees the old byte locks this CPU's queue without need.
 * Shard's line: written.
 */
static port_always_inline void overload_clear(struct overload *o, u32 cpu)
{
	bytemap_set(o->map, cpu, 0);
}

/* Is the CPU in the set? Line: the shard's, read. */
static inline bool overload_test(const struct overload *o, u32 cpu)
{
	return bytemap_get(o->map, cpu);
}

/**
 * overload_query() - does any CPU have tasks to pull?
 * @o: the set
 * @this_cpu: CPU number of the caller
 * @period: number of the current period, by the caller's clock. Clocks that differ between CPUs
 *	cause more tidying. A constant is correct too, but then the summary names shards for longer
 *
 * The first query in a period that finds no wide CPU in a named shard tidies it.
 *
 * Return: an OR of OVERLOAD_SELF, OVERLOAD_NEAR and OVERLOAD_WIDE. Ordering: a full barrier before
 * the look, F2, if the machine has more than one CPU. Lines touched: the caller's shard's; the
 * summary's; those of named shards, nearest first, up to one with a wide CPU. To tidy a shard the
 * query writes @tidied's and the summary's, at most once per period.
 */
u32 overload_query(struct overload *o, u32 this_cpu, u64 period);

/* A bit for each position of a shard in the set, or wide. Line: the shard's, read. */
u64 overload_members(const struct overload *o, u32 shard, bool wide);

/*
 * The next overloaded CPU of a shard, in topology order; -1: none. @cpu: the CPU of @shard before
 * it, which need not be in the set; -1: from the start. Line touched: the shard's.
 */
s64 overload_next_near(const struct overload *o, u32 shard, s64 cpu);

/*
 * The same for wide CPUs of all shards. Lines touched: those of shards from @cpu's on, up to the
 * hit.
 */
s64 overload_next_wide(const struct overload *o, s64 cpu);

#endif /* SCHEDSHARD_OVERLOAD_H */
