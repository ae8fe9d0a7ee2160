/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * More operations of the sharded bitmap, for user space; a kernel does not need them.
 *
 * Concurrency: as in sbm.h, except for sbm_from_mask(), which updates every shard by plain stores.
 * The caller must exclude all other updates meanwhile, because sbm_from_mask() would undo them.
 * With a summary the caller must also exclude searches: a search may clean the summary, and nothing
 * orders a plain store before the load of the summary (sbm_more.c). sbm_test() and sbm_to_mask()
 * are not searches.
 *
 * Guarantees of a search, context, ordering and lines touched: as in sbm.h. sbm_weight() is a
 * search too. A CPU number of -1 means none.
 */
#ifndef SBM_MORE_H
#define SBM_MORE_H

#include "sbm.h"

/* sbm_set() that returns the bit's old value. Ordering: a full barrier, for the caller. */
static port_always_inline bool sbm_test_and_set(struct sbm *b, u32 cpu)
{
	uintptr_t at = b->at[cpu];
	bool old = port_test_and_set64(sbm_word(at), sbm_pos(at));

	if (b->summary)
		shard_summary_note(b->summary, b->plan->slot[cpu].shard);
	return old;
}

/*
 * sbm_clear() that returns the bit's old value. Ordering: a full barrier, for the caller. In
 * docs/examples/first_pool.c stop() pairs this barrier with the release in work().
 */
static port_always_inline bool sbm_test_and_clear(struct sbm *b, u32 cpu)
{
	uintptr_t at = b->at[cpu];

	return port_test_and_clear64(sbm_word(at), sbm_pos(at));
}

/* How many bits are set? Lines touched: all. */
u32 sbm_weight(const struct sbm *b);

/* The index of the first set bit at or after @idx, or -1; -1 also for an index too large. */
s64 sbm_next_idx(const struct sbm *b, u32 idx);

/*
 * The CPU of lowest index whose bit is set, or -1 if there is none. Lines touched, also by the next
 * three functions: those from the shard where the search starts to that of the CPU found.
 */
s64 sbm_first_cpu(const struct sbm *b);

/*
 * The next CPU in index order after @cpu whose bit is set; @cpu's own bit need not be set. For a
 * walk that lasts longer than one call, such as one that interrupts one CPU after the other.
 */
s64 sbm_next_cpu(const struct sbm *b, u32 cpu);

/*
 * sbm_next_cpu() of a walk that wraps around and began at @start. To visit once each CPU whose bit
 * is set, call sbm_first_cpu_wrap(b, start), then this function until it returns -1.
 */
s64 sbm_next_cpu_wrap(const struct sbm *b, u32 cpu, u32 start);

/* The first CPU at or after @start, in index order with wrap-around, whose bit is set. */
s64 sbm_first_cpu_wrap(const struct sbm *b, u32 start);

/* The part of sbm_near_cpu() that looks at more than the CPU's own bit. */
s64 sbm_near_search(const struct sbm *b, const unsigned long *allowed, u32 from_cpu);

/**
 * sbm_near_cpu() - @from_cpu if its bit is set, else a CPU of the nearest shard that has a bit set
 * @b: the bitmap
 * @allowed: cpumask that the CPU must be in; NULL: any CPU
 * @from_cpu: CPU number; the search visits its shard, its LLC, its node, its package, the rest
 *
 * Return: a CPU number, or -1. Lines touched: those of shards with an allowed CPU, up to the hit.
 */
static inline s64 sbm_near_cpu(const struct sbm *b, const unsigned long *allowed, u32 from_cpu)
{
	if (!allowed && !b->summary && sbm_test(b, from_cpu))
		return from_cpu;
	return sbm_near_search(b, allowed, from_cpu);
}

/*
 * Copy the bitmap to the caller's own cpumask, of plan->nr_cpus bits. Lines touched: all but the
 * summary's.
 */
void sbm_to_mask(const struct sbm *b, unsigned long *mask);

/*
 * Make the bitmap equal to a cpumask, by a plain store per shard. CPU numbers that are holes get no
 * bits. Lines touched: all.
 */
void sbm_from_mask(struct sbm *b, const unsigned long *mask);

/* The first shard from step @step on that has bits, and these bits; @word is 0 at the end. */
struct sbm_chunk sbm_chunk_next(const struct sbm *b, u32 step);

static port_always_inline bool sbm_iter_next_all(struct sbm_iter *it, u32 *cpu)
{
	const struct sbm *b = it->b;

	if (!it->word && b->summary) {
		if (!sbm_iter_load(it, sbm_chunk_next(b, it->step)))
			return false;
	} else if (!it->word) {
		/*
		 * Does what sbm_chunk_next() does, without a call: so a walk over 48 of 384 CPUs in
		 * 24 shards takes 821 instructions instead of 1,217 (callgrind).
		 */
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
 * sbm_for_each_cpu() - all CPUs whose bit is set, in index order
 * @cpu: u32 variable for each CPU number
 * @it: a name for the walk's state, declared here
 * @b: the bitmap
 *
 * The body may change the bitmap. The walk also visits CPUs that the body clears in the current
 * shard, because it reads each word before it visits the word's CPUs. Lines touched: all.
 */
#define sbm_for_each_cpu(cpu, it, b) \
	for (struct sbm_iter it = sbm_iter_begin(b, NULL); sbm_iter_next_all(&(it), &(cpu));)

/*
 * sbm_for_each_cpu_and() from @start_cpu on, with wrap-around. @start_cpu need not be set or in
 * @mask.
 */
#define sbm_for_each_cpu_and_wrap(cpu, it, b, mask, start_cpu)             \
	for (struct sbm_iter it = sbm_iter_begin_wrap(b, mask, start_cpu); \
	     sbm_iter_next(&(it), &(cpu));)

#endif /* SBM_MORE_H */
