// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why a cache's thread and a thief exclude each other without a locked instruction of the former:
 *
 *   The cache's thread:                 A thief, one at a time in a set:
 *
 *   C1  set @busy                       T1  set @thief
 *   C2  light barrier                   T2  heavy barrier
 *   C3  load @thief; set: C5            T3  load @busy of a cache until it is clear
 *   C4  change the cache                T4  change the cache
 *   C5  clear @busy, with release       T5  clear @thief, with release
 *
 * A heavy barrier makes every thread of the process execute a full barrier before it returns, and a
 * light one keeps only the compiler from moving accesses. So together they are two full barriers,
 * and either C3 sees T1 or T3 sees C1: store buffering. In the first case the thread leaves its
 * cache alone. In the second the thief waits for C5, which is a few instructions away, and its
 * acquire sees C4. A later C3 that sees T5 sees T4.
 *
 * Why a claim finds a slot that is free throughout the call: it fails only as a thief, after it searched the set and
 * then all caches. While @thief is set, no slot moves from a cache to the set or back: C4 does not
 * happen, and slot_cache_free() takes the lock. So a slot that is free from T2 to T5 is found in
 * one of them.
 *
 * A cache's memory is read only by its thread and under the lock, so slot_cache_free() may free it.
 */
#include "slot_cache.h"

static void lock(struct slot_set *s)
{
	while (port_test_and_set64(&s->thief, 0))
		while (port_read64(&s->thief))
			cpu_relax();
}

static void unlock(struct slot_set *s)
{
	port_release64(&s->thief, 0); /* pairs with slot_cache_enter() */
}

/* Wait until a cache's thread is not in it. Under the lock, after a heavy barrier. */
static u32 still(const struct slot_cache *c)
{
	while (smp_load_acquire(&c->busy)) /* pairs with slot_cache_leave() */
		cpu_relax();
	return READ_ONCE(c->nr);
}

u32 slot_claim_cached(struct slot_set *s, u32 cpu, u32 n, u32 *slots)
{
	u32 got, nr;

	lock(s);
	port_heavy_barrier();
	got = slot_claim_set(s, cpu, n, slots);
	for (struct slot_cache *c = s->caches; c && got < n; c = c->next) {
		for (nr = still(c); nr && got < n; nr--)
			slots[got++] = READ_ONCE(c->slot[nr - 1]);
		WRITE_ONCE(c->nr, nr);
	}
	unlock(s);
	return got;
}

u32 slot_cache_nr(const struct slot_set *set)
{
	struct slot_set *s = (struct slot_set *)(uintptr_t)set; /* the lock changes */
	u32 n = 0;

	if (!READ_ONCE(s->caches))
		return 0;
	lock(s);
	port_heavy_barrier();
	for (const struct slot_cache *c = s->caches; c; c = c->next)
		n += still(c);
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
	c->max = port_has_heavy_barrier() ? SLOT_CACHE_MAX : 0;
	lock(s);
	c->next = s->caches;
	WRITE_ONCE(s->caches, c);
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
	WRITE_ONCE(*at, c->next);
	for (u32 i = 0; i < c->nr; i++)
		slot_put_near(c->set, c->slot[i], c->cpu);
	unlock(c->set);
	port_free(c, sizeof(*c));
}
