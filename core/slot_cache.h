/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A thread's cache in front of a set of slots. With it the thread claims and puts without a locked
 * instruction. A cache holds at most SLOT_CACHE_RING slots. A cached slot stays free for other
 * threads. A claim that finds no slot in the set takes one from a cache, even from that of a
 * sleeping thread. So a claim succeeds if a slot is free throughout the call, wherever it is.
 *
 * Concurrency: a cache belongs to one thread at a time, and only that thread calls
 * slot_cache_claim() and slot_cache_put(). Making and freeing caches may overlap with all calls of
 * other threads.
 *
 * Once a set has had a cache, a claim that finds the set empty takes the set's lock. So do
 * slot_put_wake() while a waiter asks to be the first, slot_set_nr_free(), and making or freeing a
 * cache. Therefore signal handlers must not call any of these, and a forked child of a process with
 * threads must not use the set. A handler must not use a cache, because it may interrupt the
 * cache's thread. slot_claim_limit() does not take slots from caches. Ordering: as claims and puts
 * of slot_set.h; a put releases to the thread that takes the slot from the cache.
 */
#ifndef SLOT_CACHE_H
#define SLOT_CACHE_H

#include "slot_claim.h"

#define SLOT_CACHE_RING 8u		      /* places in a cache */
#define SLOT_CACHE_MAX	(SLOT_CACHE_RING - 1) /* a thread that sees this many slots puts no more */
#define SLOT_CACHE_STEP 15u		      /* what a put adds to @tail */
#define SLOT_CACHE_OFF	(1u << 30) /* @head where the kernel lacks port_heavy_barrier() */

#define SLOT_CACHE_PLACE(tail) ((u32)((tail) / (SLOT_CACHE_STEP + 1)))

/**
 * struct slot_cache - a cache of a thread
 * @slot: the slots, by place modulo SLOT_CACHE_RING
 * @tail: place of the next slot that the thread puts, times 16, plus how many it may put before it
 *	looks at @head again. Slots are at places @head up to the last one put
 * @head: place of the next slot that another thread takes
 * @cpu: CPU number for claims and puts that go past the cache; the thread may change it
 * @set: the set
 * @next: the next cache of the set
 */
struct slot_cache {
	u32 slot[SLOT_CACHE_RING];
	u64 tail;
	u32 head;
	u32 cpu;
	struct slot_set *set;
	struct slot_cache *next;
} port_cacheline_aligned;

/* Make an empty cache, for a thread near a CPU. Return: NULL if there is no memory. May sleep. */
struct slot_cache *slot_cache_alloc(struct slot_set *s, u32 cpu);

/* Free a cache, or NULL: its slots return to the set. May sleep. */
void slot_cache_free(struct slot_cache *c);

/*
 * Claim a slot of the cache, else the nearest one of the set, else one of another cache. Return:
 * its number, or -1 if none is free. Line touched: the cache's, written.
 */
static port_always_inline s64 slot_cache_claim(struct slot_cache *c)
{
	u64 tail = port_read64(&c->tail), next = tail - SLOT_CACHE_STEP;
	u32 place = SLOT_CACHE_PLACE(next);

	port_write64(&c->tail, next);
	port_light_barrier(); /* pairs with port_heavy_barrier() in slot_cache.c */
	if (likely((s32)(place - READ_ONCE(c->head)) >= 0))
		return READ_ONCE(c->slot[place % SLOT_CACHE_RING]);
	port_write64(&c->tail, tail);
	return slot_claim_near(c->set, c->cpu);
}

/* Put a slot into the cache, or if the cache is full into the set, by slot_put_near(). */
static port_always_inline void slot_cache_put(struct slot_cache *c, u32 slot)
{
	u64 tail = port_read64(&c->tail);
	u32 place = SLOT_CACHE_PLACE(tail);

	if (unlikely(!(tail & SLOT_CACHE_STEP))) {
		u32 nr = place - READ_ONCE(c->head);

		if (nr >= SLOT_CACHE_MAX) {
			slot_put_near(c->set, slot, c->cpu);
			return;
		}
		tail += SLOT_CACHE_MAX - nr;
	}
	WRITE_ONCE(c->slot[place % SLOT_CACHE_RING], slot);
	port_release64(&c->tail, tail + SLOT_CACHE_STEP); /* pairs with slots_in() */
}

#endif /* SLOT_CACHE_H */
