/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * More operations of the sharded bitmap, for user space: no user in a kernel needs them.
 *
 * Concurrency of these and of sbm.h's, on one sbm ("ok": any threads, any CPUs, at once):
 *
 *                       | set clear      | __set __clear | test next    | alloc
 *                       | test_and_*     | from_mask     | walks weight | free
 *   set clear test_and_*| ok             | A             | ok           | -
 *   __set __clear       | A              | B             | C            | -
 *   from_mask           | A              | -             | C            | -
 *   test next walks ... | ok             | C             | ok           | -
 *   alloc free          | -              | -             | -            | -
 *
 *   A  not on the same shard: a plain update would undo an atomic one
 *   B  not on the same shard, as A
 *   C  ok without a summary. With one no search may run meanwhile, as it may clean the
 *      summary: nothing orders a plain store before the summary is read (sbm_more.c).
 *      sbm_test() and sbm_to_mask() may
 *   -  the caller excludes
 *
 * Guarantees of a search, context and lines touched: as in sbm.h. A weight and a copy are searches,
 * too. All but walks and copies take a constant number of steps.
 */
#ifndef SBM_MORE_H
#define SBM_MORE_H

#include "sbm.h"

/* sbm_set() with a full barrier that returns the bit's old value. */
static port_always_inline bool sbm_test_and_set(struct sbm *b, u32 cpu)
{
	bool old = port_fetch_or64(b->word[cpu], b->bit[cpu]) & b->bit[cpu];

	if (b->summary)
		shard_summary_note(b->summary, b->plan->slot[cpu].shard);
	return old;
}

/* sbm_clear() with a full barrier that returns the bit's old value. */
static port_always_inline bool sbm_test_and_clear(struct sbm *b, u32 cpu)
{
	return port_fetch_and64(b->word[cpu], ~b->bit[cpu]) & b->bit[cpu];
}

/* sbm_set() by plain accesses: see the table above. Ordering: none. */
static inline void __sbm_set(struct sbm *b, u32 cpu)
{
	WRITE_ONCE(*b->word[cpu], READ_ONCE(*b->word[cpu]) | b->bit[cpu]);
	if (b->summary)
		shard_summary_note(b->summary, b->plan->slot[cpu].shard);
}

/* sbm_clear() by plain accesses: see the table above. Ordering: none. */
static inline void __sbm_clear(struct sbm *b, u32 cpu)
{
	WRITE_ONCE(*b->word[cpu], READ_ONCE(*b->word[cpu]) & ~b->bit[cpu]);
}

/**
 * sbm_weight() - how many bits are set?
 * @b: the bitmap
 *
 * Return: the number. Ordering: none. Lines touched: all, or those that the summary calls occupied.
 */
u32 sbm_weight(const struct sbm *b);

/**
 * sbm_weight_upto() - how many bits are set, up to a limit
 * @b: the bitmap
 * @limit: stop when this many are found
 *
 * Return: the number of set bits, or @limit when there are at least that many. Ordering: none.
 * Lines touched: as sbm_weight(), but none after the one that reaches @limit.
 */
u32 sbm_weight_upto(const struct sbm *b, u32 limit);

/**
 * sbm_next_idx() - first set bit at or after an index
 * @b: the bitmap
 * @idx: index to start at; nr_possible and more find nothing
 *
 * Return: its index (not its CPU number), -1: none. Ordering: none. Lines touched: those from
 * @idx's shard to the one found, or those of them that the summary calls occupied.
 */
s64 sbm_next_idx(const struct sbm *b, u32 idx);

/* The set CPU of lowest index, -1: none. Ordering and lines touched: as sbm_next_idx(). */
s64 sbm_first_cpu(const struct sbm *b);

/**
 * sbm_next_cpu() - the set CPU that follows another in index order
 * @b: the bitmap
 * @cpu: CPU number; need not be set
 *
 * For a walk that lasts longer than one call, such as one that sends an interrupt to one CPU after
 * the other. Ordering and lines touched: as sbm_next_idx().
 *
 * Return: its CPU number, -1 after the last one.
 */
s64 sbm_next_cpu(const struct sbm *b, u32 cpu);

/**
 * sbm_next_cpu_wrap() - as sbm_next_cpu(), once around the machine
 * @b: the bitmap
 * @cpu: CPU number at which the walk is; need not be set
 * @start: CPU number at which the walk began
 *
 * The walk calls sbm_first_cpu_wrap(b, start), then this until -1, and visits each set CPU once.
 * Return: the next CPU number, -1 at the end. Ordering: none. Lines touched: as sbm_next_idx().
 */
s64 sbm_next_cpu_wrap(const struct sbm *b, u32 cpu, u32 start);

/**
 * sbm_first_cpu_wrap() - the first set CPU at or after one, around the machine
 * @b: the bitmap
 * @start: CPU number to start at
 *
 * Return: its CPU number, -1: none. Ordering: none. Lines touched: as sbm_next_idx().
 */
s64 sbm_first_cpu_wrap(const struct sbm *b, u32 start);

/**
 * sbm_near_cpu() - a set CPU in the shard nearest to another CPU
 * @b: the bitmap
 * @allowed: cpumask that it must be in, or NULL
 * @from_cpu: CPU number to start from
 *
 * Own shard, same LLC, same node, same package, the rest. Ordering: none. Lines touched: those of
 * shards with an allowed CPU, up to the first hit, or those of them that the summary calls
 * occupied.
 *
 * Return: its CPU number, -1: none.
 */
s64 sbm_near_cpu(const struct sbm *b, const unsigned long *allowed, u32 from_cpu);

/**
 * sbm_to_mask() - copy to a cpumask
 * @b: the bitmap
 * @mask: the caller's own, plan->nr_cpus bits by CPU number; overwritten
 *
 * Ordering: none. Lines touched: all lines. Never writes the summary.
 */
void sbm_to_mask(const struct sbm *b, unsigned long *mask);

/**
 * sbm_from_mask() - make the bitmap equal to a cpumask
 * @b: the bitmap
 * @mask: cpumask of plan->nr_cpus bits by CPU number; ignores bits of holes
 *
 * One plain store a shard: see the table above. Ordering: none. Lines touched: all.
 */
void sbm_from_mask(struct sbm *b, const unsigned long *mask);

/* The bits of the first shard from @step on that has any; word is 0 at the end. */
struct sbm_chunk sbm_chunk_next(const struct sbm *b, u32 step);

static port_always_inline bool sbm_iter_next_all(struct sbm_iter *it, u32 *cpu)
{
	const struct sbm *b = it->b;

	if (!it->word && b->summary) {
		if (!sbm_iter_load(it, sbm_chunk_next(b, it->step)))
			return false;
	} else if (!it->word) {
		/* As sbm_chunk_next() does, without a call. */
		do {
			if (it->step == b->nr_shards)
				return false;
			it->word = READ_ONCE(*b->line[it->step++]);
		} while (!it->word);
		it->cpu = b->cpus[it->step - 1];
	}
	*cpu = sbm_iter_take(it);
	return true;
}

/**
 * sbm_for_each_cpu() - all set CPUs, in index order
 * @cpu: u32 variable for each CPU number
 * @it: a name for the walk's state, declared here
 * @b: the bitmap
 *
 * The body may change the bitmap. The walk also visits CPUs that the body clears in the current
 * shard, as it read each word once. Ordering: none. Lines touched: all, or those that the summary
 * calls occupied.
 */
#define sbm_for_each_cpu(cpu, it, b) \
	for (struct sbm_iter it = sbm_iter_begin(b, NULL); sbm_iter_next_all(&(it), &(cpu));)

/**
 * sbm_for_each_cpu_and_wrap() - sbm_for_each_cpu_and(), from one CPU on, around the machine
 * @cpu: u32 variable for each CPU number
 * @it: a name for the walk's state, declared here
 * @b: the bitmap
 * @mask: cpumask, plan->nr_cpus bits by CPU number
 * @start_cpu: CPU number to start at; need not be set nor in @mask
 */
#define sbm_for_each_cpu_and_wrap(cpu, it, b, mask, start_cpu)             \
	for (struct sbm_iter it = sbm_iter_begin_wrap(b, mask, start_cpu); \
	     sbm_iter_next(&(it), &(cpu));)

#endif /* SBM_MORE_H */
