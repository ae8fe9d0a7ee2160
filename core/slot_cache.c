// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why a cache's thread and a thief never take the same slot, although the thread executes no locked
 * instruction (protocol THE of Cilk's deques, with an asymmetric barrier):
 *
 *   The cache's thread:                 A thief, under the set's lock:
 *
 *   C1  store @tail - 1                 T1  store @head + 1
 *   C2  light barrier                   T2  heavy barrier
 *   C3  load @head; beyond the place:   T3  load @tail; at or before the place:
 *       store @tail again, leave            store @head again, leave
 *   C4  take the slot                   T4  take the slot
 *
 * A heavy barrier makes every thread of the process execute a full barrier before it returns, and a
 * light one keeps only the compiler from moving accesses. Together they act as two full barriers,
 * so C3 sees T1 or T3 sees C1 (store buffering). So at most one of the two takes the slot. If both
 * leave, the slot stays in the cache. If the thread has put another slot at that place before T3,
 * the thief takes that one.
 *
 * A put during a theft does not overwrite the place that the thief may read. Let h be @head before
 * T1. The thief reads place h, and only place h + SLOT_CACHE_RING uses the same memory. When the
 * thread looks at @head, it grants itself puts into SLOT_CACHE_MAX places, from @head on. At most
 * it sees h + 1, by T1 of this thief or of an earlier one that then left. So the last place that it
 * may fill is h + SLOT_CACHE_MAX, which is one before h + SLOT_CACHE_RING.
 *
 * Why a claim finds a slot that is free throughout the call: a claim fails only as a thief, after
 * it searched the set and then all caches under the set's lock. Meanwhile no free slot moves from
 * the set to a cache. None moves from a cache to the set, as slot_cache_free() takes this lock. A
 * cache's thread that left at C3 becomes a thief, too, if it finds no other slot. Once the set has
 * had a cache, all claims that find nothing become thieves. They do not first look for a cache,
 * because while the last one is being freed, its slots may be neither there nor in the set.
 *
 * Other threads read a cache's memory only under the set's lock, so slot_cache_free() may free it.
 */
#include "slot_cache.h"
#include "slot_steal.h"

static void lock(struct slot_set *s)
{
	while (port_test_and_set64(&s->lock, 0))
		while (port_read64(&s->lock))
			cpu_relax();
}

static void unlock(struct slot_set *s)
{
	port_release64(&s->lock, 0); /* pairs with lock() */
}

/* How many slots a cache has. Under the lock. */
static u32 slots_in(const struct slot_cache *c)
{
	/* Pairs with slot_cache_put(): what was done with the slots before is visible. */
	s32 nr = (s32)(SLOT_CACHE_PLACE(smp_load_acquire(&c->tail)) - READ_ONCE(c->head));

	return nr > 0 ? (u32)nr : 0;
}

/* Take a slot out of a cache. Return: the slot, or -1 if there is none. Under the lock. */
static s64 steal(struct slot_cache *c)
{
	u32 head = READ_ONCE(c->head);

	if (!slots_in(c))
		return -1;
	smp_store_release(&c->head, head + 1); /* T1; after T4 of the theft before */
	port_heavy_barrier();		       /* T2: pairs with slot_cache_claim() */
	/* T3; acquires as in slots_in() */
	if ((s32)(SLOT_CACHE_PLACE(smp_load_acquire(&c->tail)) - head - 1) >= 0)
		return READ_ONCE(c->slot[head % SLOT_CACHE_RING]);
	WRITE_ONCE(c->head, head);
	return -1;
}

u32 slot_claim_cached(struct slot_set *s, u32 cpu, u32 n, u32 *slots)
{
	u32 got;

	lock(s);
	if (s->caches)
		port_heavy_barrier(); /* to see what slot_cache_put_wake() put before its look */
	got = slot_claim_set(s, cpu, n, slots);
	for (struct slot_cache *c = s->caches; c && got < n; c = c->next) {
		s64 slot;

		while (got < n && (slot = steal(c)) >= 0)
			slots[got++] = (u32)slot;
	}
	unlock(s);
	return got;
}

u32 slot_cache_nr(const struct slot_set *set)
{
	struct slot_set *s = (struct slot_set *)(uintptr_t)set; /* the lock changes */
	u32 n = 0;

	if (!READ_ONCE(s->cached))
		return 0;
	lock(s);
	for (const struct slot_cache *c = s->caches; c; c = c->next)
		n += slots_in(c);
	unlock(s);
	return n;
}

struct slot_cache *slot_cache_alloc(struct slot_set *s, u32 cpu)
{
	s32 node = s->plan->shard[s->plan->slot[cpu].shard].node;
	struct slot_cache *c = (struct slot_cache *)port_alloc(sizeof(*c), node);

	if (!c)
		return NULL;
	c->set = s;
	c->cpu = cpu;
	c->head = port_has_heavy_barrier() ? 0 : SLOT_CACHE_OFF; /* always full, and empty */
	/*
	 * This store comes before the lock's full barrier. So either a waiter sees it, or
	 * slot_cache_put_wake() sees the waiter.
	 */
	WRITE_ONCE(s->cached, true);
	lock(s);
	c->next = s->caches;
	s->caches = c;
	unlock(s);
	return c;
}

void slot_cache_free(struct slot_cache *c)
{
	struct slot_cache **at;

	if (!c)
		return;
	lock(c->set);
	for (at = &c->set->caches; *at != c;)
		at = &(*at)->next;
	*at = c->next;
	for (u32 nr = slots_in(c); nr; nr--)
		slot_put_near(c->set, c->slot[(c->head + nr - 1) % SLOT_CACHE_RING], c->cpu);
	unlock(c->set);
	port_free(c, sizeof(*c));
}
