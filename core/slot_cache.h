/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A cache of a thread in front of a set of slots: a claim and a put of the same thread take no
 * locked instruction. A cache has at most SLOT_CACHE_MAX slots, and they stay free for others: a
 * claim that finds no slot in the set takes one from a cache, also of a thread that sleeps. So a
 * claim finds a slot that is free throughout the call, wherever it is.
 *
 * Concurrency: a cache belongs to one thread at a time, which alone calls slot_cache_claim() and
 * slot_cache_put(). Making and freeing caches may overlap with all calls of other threads.
 *
 * While a set has caches, a claim that finds the set empty, slot_set_nr_free(), and making or
 * freeing a cache take a lock of the set. So they are not for signal handlers then, and a forked
 * child of a process with threads does not use the set. slot_claim_limit() takes no slot from a
 * cache. Ordering: as claims and puts of slot_set.h. A put hands over to the thread that takes the
 * slot from the cache.
 */
#ifndef SLOT_CACHE_H
#define SLOT_CACHE_H

#include "slot_claim.h"

#define SLOT_CACHE_MAX 10u /* slots in a cache: it fills one line */

/**
 * struct slot_cache - a cache of a thread
 * @set: the set
 * @busy: its thread is in the middle of an operation
 * @nr: slots in it
 * @max: most slots: SLOT_CACHE_MAX, 0 where the kernel lacks port_heavy_barrier()
 * @cpu: CPU number at which the thread claims and puts otherwise; the thread may change it
 * @slot: the slots, the last one is claimed first
 * @next: the next cache of the set
 */
struct slot_cache {
	struct slot_set *set;
	u32 busy;
	u32 nr;
	u32 max;
	u32 cpu;
	u32 slot[SLOT_CACHE_MAX];
	struct slot_cache *next;
} port_cacheline_aligned;

/* Make an empty cache, for a thread near a CPU. NULL: no memory. May sleep. */
struct slot_cache *slot_cache_alloc(struct slot_set *s, u32 cpu);

/* Free a cache, or NULL: its slots return to the set. May sleep. */
void slot_cache_free(struct slot_cache *c);

/*
 * Enter the cache. False: another thread takes a slot out of some cache of the set, and the caller
 * leaves at once. Private to the two functions below.
 */
static port_always_inline bool slot_cache_enter(struct slot_cache *c)
{
	WRITE_ONCE(c->busy, 1);
	port_light_barrier(); /* pairs with port_heavy_barrier() in slot_claim_cached() */
	return likely(!smp_load_acquire(&c->set->thief));
}

static port_always_inline void slot_cache_leave(struct slot_cache *c)
{
	smp_store_release(&c->busy, 0); /* pairs with slot_claim_cached() */
}

/*
 * Claim a slot: of the cache, else the nearest one of the set, else one of another cache. Return:
 * its number, -1: none is free. Lines touched: the cache's, and the line of the set that says
 * whether a thread takes slots out, read.
 */
static port_always_inline s64 slot_cache_claim(struct slot_cache *c)
{
	if (slot_cache_enter(c) && c->nr) {
		u32 slot = c->slot[c->nr - 1];

		WRITE_ONCE(c->nr, c->nr - 1);
		slot_cache_leave(c);
		return slot;
	}
	slot_cache_leave(c);
	return slot_claim_near(c->set, c->cpu);
}

/* Put a slot into the cache, or if the cache is full into the set, by slot_put_near(). */
static port_always_inline void slot_cache_put(struct slot_cache *c, u32 slot)
{
	if (slot_cache_enter(c) && c->nr < c->max) {
		c->slot[c->nr] = slot;
		WRITE_ONCE(c->nr, c->nr + 1);
		slot_cache_leave(c);
		return;
	}
	slot_cache_leave(c);
	slot_put_near(c->set, slot, c->cpu);
}

#endif /* SLOT_CACHE_H */
