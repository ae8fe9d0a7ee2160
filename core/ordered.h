/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Operations with release and acquire, for user space. The operations hand over the object that a
 * bit or a count stands for. What a thread did before the release is visible to the thread that
 * acquires its result. ThreadSanitizer understands these operations, but not separate barriers.
 *
 *	releases				acquires; pairs with it
 *
 *	slot_put()				a claim
 *	sbm_set_release()			sbm_test_acquire(), sbm_test_and_clear()
 *	sbm_clear_release()			sbm_test_acquire() that returns false,
 *						sbm_test_and_set()
 *	shard_counter_dec_release()		shard_counter_sum_acquire()
 *
 * All other operations are relaxed, or full barriers, as their comments say. Searches and walks of
 * a bitmap do not acquire. So before a thread reads the data of a CPU that it found, it calls
 * sbm_test_acquire() for that CPU, whose line is then already in its cache.
 *
 * "Publish, then look whether a thread sleeps" needs a full barrier: a release is not enough,
 * because a later load may pass it. sbm_test_and_set() is a full barrier, and so is smp_mb() after
 * any of the stores.
 *
 * Concurrency, context and lines touched are those of the operations without ordering.
 */
#ifndef ORDERED_H
#define ORDERED_H

#include "sbm.h"
#include "shard_counter.h"

/* sbm_set() that releases. */
static port_always_inline void sbm_set_release(struct sbm *b, u32 cpu)
{
	uintptr_t at = b->at[cpu];

	port_or64_release(sbm_word(at), sbm_bit(at));
	if (b->summary)
		shard_summary_note(b->summary, b->plan->slot[cpu].shard);
}

/* sbm_clear() that releases, for example "I no longer use what others may free now". */
static port_always_inline void sbm_clear_release(struct sbm *b, u32 cpu)
{
	uintptr_t at = b->at[cpu];

	port_and64_release(sbm_word(at), ~sbm_bit(at));
}

/* sbm_test() that acquires, whether the bit is set or not. */
static port_always_inline bool sbm_test_acquire(const struct sbm *b, u32 cpu)
{
	uintptr_t at = b->at[cpu];

	return smp_load_acquire(sbm_word(at)) & sbm_bit(at);
}

/*
 * shard_counter_dec() that releases, for a caller that no longer uses the counted item. The release
 * also orders the earlier inc before this dec, as paired use (shard_counter.h) requires.
 */
static inline void shard_counter_dec_release(struct shard_counter *c, u32 cpu)
{
	/* Pairs with the release in shard_counter_attach(): else a line may not be zero yet. */
	struct shard_counter_lines *l = smp_load_acquire(&c->lines);

	port_add64_release(likely(l) ? l->line[l->slot[cpu].shard] : &c->early, (u64)-1);
}

/*
 * shard_counter_sum() that acquires, for ThreadSanitizer too. In paired use (shard_counter.h), if
 * it returns 0 and no item is counted later, the caller sees everything that was done before the
 * decs. It may then free what the items used.
 */
static inline s64 shard_counter_sum_acquire(const struct shard_counter *c)
{
	/* Pairs with the release in shard_counter_attach(). */
	const struct shard_counter_lines *l = smp_load_acquire(&c->lines);
	u64 sum = 0;

	/*
	 * Each add is a read-modify-write, so a line's value continues the release of all decs
	 * before it. The lines are read first, as in shard_counter_sum(): an acquire comes before
	 * later loads.
	 */
	for (u32 shard = 0; l && shard < l->plan->nr_shards; shard++)
		sum += smp_load_acquire(l->line[shard]);
	return (s64)(sum + smp_load_acquire(&c->early));
}

#endif /* ORDERED_H */
