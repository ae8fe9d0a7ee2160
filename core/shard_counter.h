/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The sharded counter has one count per shard, each on a separate line on the shard's home node. A
 * read sums the counts. The counter also works before the plan is known: a statically initialised
 * counter counts in one place until a caller attaches the counter to a plan.
 *
 * Concurrency: one attach at a time. shard_counter_detach() excludes everything else. All other
 * calls may overlap.
 *
 * Guarantees of a sum. Each add goes to exactly one place and stays there (attach moves nothing). A
 * sum reads the places one after the other, so:
 *
 *   1. With no concurrent add the sum is exact, before, during and after an attach.
 *   2. With concurrent adds the sum contains every add that was complete when the sum began, and
 *      some of the others.
 *
 * Guarantee 2 is weak. If an item moves (dec for one CPU, inc for another, in any order), the sum
 * may count it at both CPUs, at one, or at neither. So a sum of 0 does not mean that there was a
 * moment without items. Further guarantees depend on the use:
 *
 *   3. Paired use: each dec names a CPU of the same shard as its inc did. For example, an item
 *      belongs to a CPU, and every caller names that CPU. Then every place counts its own items.
 *      The sum is at least the number of items that stay counted throughout the call. It is at most
 *      the number of items counted at any moment of the call. So shard_counter_is_zero() is never
 *      true while an item stays counted from before the call to its end. shard_counter_more_than(n)
 *      is never false while n + 1 items stay counted.
 *   4. Unpaired use (an inc on one CPU, its dec on whichever CPU the thread runs then): places may
 *      be negative. Use only shard_counter_sum(), which then has only guarantee 1; is_zero and
 *      more_than stop early and would be wrong.
 *
 * In both uses an item that was counted before the attach may be uncounted after it, for any CPU;
 * is_zero and more_than take this into account.
 *
 * "Complete" and "counted" mean: visible to the CPU that sums. Except on x86 an atomic operation
 * without a result may take effect after the function returns, so an add that has returned is not
 * necessarily complete. Therefore the caller must order an inc before its dec, and before it tells
 * another CPU about the item. An smp_mb__after_atomic(), a release, or the handover of a lock does
 * that. This order pairs with smp_rmb() in shard_counter_sum() and shard_counter_more_than().
 *
 * Ordering: none, unless said. Context: attach may sleep; the rest runs anywhere, interrupts
 * included, and never waits. CPU numbers are of possible CPUs of the plan; no function checks them.
 */
#ifndef SHARD_COUNTER_H
#define SHARD_COUNTER_H

#include "port.h"
#include "shard_plan.h"

/* The places of an attached counter; read-only. */
struct shard_counter_lines {
	const struct shard_slot *slot; /* the plan's table by CPU number */
	const struct shard_plan *plan; /* the plan */
	size_t bytes;		       /* memory of this header with its table */
	u64 *line[];		       /* by shard: its count, at the start of its own line */
};

/**
 * struct shard_counter - a sharded counter
 * @lines: NULL until attached
 * @early: the count before the attach, two's complement. Shares a line with @lines: adds write it
 *	only before the attach, and a sum reads both
 *
 * Public so that it can be a static object; a zeroed one is ready too.
 */
struct shard_counter {
	struct shard_counter_lines *lines;
	u64 early;
} port_cacheline_aligned;

static_assert(sizeof(struct shard_counter) == PORT_CACHELINE, "one line before the plan is known");

#define SHARD_COUNTER_INIT \
	{                  \
		NULL, 0    \
	}

/**
 * shard_counter_attach() - count per shard from now on
 * @c: the counter, not attached
 * @plan: the plan; must outlive the attachment
 *
 * Adds that started earlier count in the early place, which stays part of every sum. Later adds
 * count in the place of their shard. Return: false without memory, or if the counter is attached
 * already; it then works as it did. Ordering: releases the new lines to later adds and sums.
 */
bool shard_counter_attach(struct shard_counter *c, const struct shard_plan *plan);

/* Undo an attach, if there was one, and free its memory. The counter keeps its count. */
void shard_counter_detach(struct shard_counter *c);

/*
 * Add @n, which may be negative, for a CPU: the caller's own in unpaired use. Lines touched: the
 * counter's own, read (written before the attach); the shard's line, written.
 */
static inline void shard_counter_add(struct shard_counter *c, u32 cpu, s64 n)
{
	/* Pairs with the release in shard_counter_attach(): else a line may not be zero yet. */
	struct shard_counter_lines *l = smp_load_acquire(&c->lines);

	port_add64(likely(l) ? l->line[l->slot[cpu].shard] : &c->early, (u64)n);
}

/* Count one more item for @cpu. */
static inline void shard_counter_inc(struct shard_counter *c, u32 cpu)
{
	shard_counter_add(c, cpu, 1);
}

/* Count one item less; in paired use @cpu must be in the same shard as the inc's CPU. */
static inline void shard_counter_dec(struct shard_counter *c, u32 cpu)
{
	shard_counter_add(c, cpu, -1);
}

/*
 * Return the count, with guarantees 1 and 2 above, and 3 in paired use. In unpaired use it may be
 * negative for a moment. Lines touched: all shards' lines, which are only read.
 */
s64 shard_counter_sum(const struct shard_counter *c);

/*
 * Is the count greater than @n, which must be 0 or more? For paired use. Returns true as soon as
 * the sum exceeds @n. Lines touched: that of @from_cpu's shard, then those of other shards, nearest
 * first, until the answer is known; all lines if the answer is false.
 */
bool shard_counter_more_than(const struct shard_counter *c, u32 from_cpu, s64 n);

/* Is the count 0? Lines touched: as shard_counter_more_than(). */
static inline bool shard_counter_is_zero(const struct shard_counter *c, u32 from_cpu)
{
	return !shard_counter_more_than(c, from_cpu, 0);
}

#endif /* SHARD_COUNTER_H */
