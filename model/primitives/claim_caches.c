// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The pool of claim_slots.c with a cache per thread, twice the slots, and initially one slot in
 * each cache. The first pool has our caches, whose slots other threads can take. The second has
 * plain caches over a shared stack, like DPDK's mempool, whose slots others cannot take. The
 * stack's head contains a count of changes, so that a compare-and-swap fails if a slot was taken
 * and put back meanwhile. Each slot's link to its successor is on a separate line.
 *
 * A third pool has a stack for each core, like folly's IndexedMemPool. A put goes to the core's
 * stack. A claim that finds its core's stack empty looks at others, near ones first.
 */
#include "primitive.h"
#include "shard_plan.h"
#include "slot_cache.h"

struct ours {
	struct slot_set *set;
	u32 nr;
	struct slot_cache *cache[];
};

static size_t ours_bytes(u32 nr)
{
	return sizeof(struct ours) + nr * sizeof(struct slot_cache *);
}

static void ours_destroy(void *state)
{
	struct ours *o = state;

	if (!o)
		return;
	for (u32 i = 0; i < o->nr; i++)
		slot_cache_free(o->cache[i]);
	slot_set_destroy(o->set);
	port_free(o, ours_bytes(o->nr));
}

static void *ours_create(const struct primitive_place *place)
{
	const struct shard_plan *plan = place->pools;
	struct ours *o = primitive_alloc(ours_bytes(place->nr_threads), -1, "caches", NULL);

	if (!o)
		return NULL;
	o->nr = place->nr_threads;
	o->set = slot_set_alloc(plan, 2 * plan->nr_possible, 0);
	for (u32 i = 0; o->set && i < o->nr; i++) {
		u32 cpu = plan->idx_to_cpu[i % plan->nr_possible];
		s64 slot;

		o->cache[i] = slot_cache_alloc(o->set, cpu);
		slot = o->cache[i] ? slot_claim_near(o->set, cpu) : -1;
		if (slot < 0) {
			ours_destroy(o);
			return NULL;
		}
		slot_cache_put(o->cache[i], (u32)slot);
	}
	return o;
}

static bool ours_consistent(const void *state, u64 n)
{
	const struct ours *o = state;

	return slot_set_nr_free(o->set) == slot_set_size(o->set);
}

static void ours_ops(void *state, const struct primitive_thread *thread, u64 n)
{
	struct ours *o = state;
	struct slot_cache *cache = o->cache[thread->number];

	while (n--) {
		s64 slot;

		do
			slot = slot_cache_claim(cache);
		while (slot < 0);
		primitive_hold(thread);
		slot_cache_put(cache, (u32)slot);
	}
}

PRIMITIVE(claim_cached, "claim-cached",
	  "the same with a cache per thread: slot_cache_claim(), slot_cache_put()", true,
	  ours_create, ours_ops, ours_consistent, ours_destroy);

#define CACHE_SLOTS 8u

struct plain_cache {
	u32 nr;
	u32 slot[CACHE_SLOTS] __aligned(8); /* aligned as in DPDK: @nr has a word of its own */
} port_cacheline_aligned;

struct next {
	u32 slot;
} port_cacheline_aligned;

struct plain {
	u32 nr, nr_threads;
	struct next *next; /* by slot: the slot below it in the stack, plus 1 */
	struct plain_cache *cache;
	u64 head port_cacheline_aligned; /* low half: the topmost slot, plus 1 */
};

static void plain_destroy(void *state)
{
	struct plain *p = state;

	if (!p)
		return;
	port_free(p->next, p->nr * sizeof(*p->next));
	port_free(p->cache, p->nr_threads * sizeof(*p->cache));
	port_free(p, sizeof(*p));
}

static void push_on(u64 *top, struct next *next, u32 slot)
{
	u64 head = port_read64(top), seen;

	for (;; head = seen) {
		WRITE_ONCE(next[slot].slot, (u32)head);
		seen = port_cmpxchg64(top, head, ((head >> 32) + 1) << 32 | (slot + 1));
		if (seen == head)
			return;
	}
}

static s64 pop_from(u64 *top, const struct next *next)
{
	u64 head = port_read64(top), seen;

	for (; (u32)head; head = seen) {
		u32 slot = (u32)head - 1;

		seen = port_cmpxchg64(top, head,
				      ((head >> 32) + 1) << 32 | READ_ONCE(next[slot].slot));
		if (seen == head)
			return slot;
	}
	return -1;
}

static void *plain_create(const struct primitive_place *place)
{
	struct plain *p = primitive_alloc(sizeof(*p), place->home, "shared stack", NULL);

	if (!p)
		return NULL;
	p->nr = 2 * place->plan->nr_possible;
	if (p->nr < place->nr_threads)
		p->nr = place->nr_threads;
	p->nr_threads = place->nr_threads;
	p->next = primitive_alloc(p->nr * sizeof(*p->next), -1, "successors", NULL);
	p->cache = primitive_alloc(p->nr_threads * sizeof(*p->cache), -1, "caches", NULL);
	if (!p->next || !p->cache) {
		plain_destroy(p);
		return NULL;
	}
	for (u32 slot = 0; slot < p->nr; slot++) {
		if (slot >= p->nr_threads)
			push_on(&p->head, p->next, slot);
		else
			p->cache[slot] = (struct plain_cache){ 1, { slot } };
	}
	return p;
}

static bool plain_consistent(const void *state, u64 n)
{
	const struct plain *p = state;
	u32 found = 0;

	for (u32 i = 0; i < p->nr_threads; i++)
		found += p->cache[i].nr;
	for (u32 at = (u32)p->head; at; at = p->next[at - 1].slot)
		found++;
	return found == p->nr;
}

static void plain_ops(void *state, const struct primitive_thread *thread, u64 n)
{
	struct plain *p = state;
	struct plain_cache *mine = &p->cache[thread->number];

	while (n--) {
		s64 slot = mine->nr ? (s64)mine->slot[--mine->nr] : -1;

		while (slot < 0)
			slot = pop_from(&p->head, p->next);
		primitive_hold(thread);
		if (mine->nr < CACHE_SLOTS)
			mine->slot[mine->nr++] = (u32)slot;
		else
			push_on(&p->head, p->next, (u32)slot);
	}
}

PRIMITIVE(claim_caches, "claim-caches",
	  "the same with a plain cache per thread over a shared stack: DPDK's mempool", true,
	  plain_create, plain_ops, plain_consistent, plain_destroy);

struct stacks {
	const struct shard_plan *plan;
	size_t bytes;
	struct next *next;
	struct top {
		u64 head port_cacheline_aligned;
	} * top; /* by core */
};

static void stacks_destroy(void *state)
{
	struct stacks *p = state;

	if (!p)
		return;
	port_free(p->next, p->plan->nr_possible * sizeof(*p->next));
	port_free(p->top, p->plan->nr_shards * sizeof(*p->top));
	port_free(p, sizeof(*p));
}

static void *stacks_create(const struct primitive_place *place)
{
	struct stacks *p = primitive_alloc(sizeof(*p), -1, "stacks", NULL);
	const struct shard_plan *plan = place->pools;

	if (!p)
		return NULL;
	p->plan = plan;
	p->next = primitive_alloc(plan->nr_possible * sizeof(*p->next), -1, "successors", NULL);
	p->top = primitive_alloc(plan->nr_shards * sizeof(*p->top), -1, "stacks of cores", NULL);
	if (!p->next || !p->top) {
		stacks_destroy(p);
		return NULL;
	}
	for (u32 i = 0; i < plan->nr_possible; i++)
		push_on(&p->top[plan->slot[plan->idx_to_cpu[i]].shard].head, p->next, i);
	return p;
}

static bool stacks_consistent(const void *state, u64 n)
{
	const struct stacks *p = state;
	u32 found = 0;

	for (u32 i = 0; i < p->plan->nr_shards; i++)
		for (u32 at = (u32)p->top[i].head; at; at = p->next[at - 1].slot)
			found++;
	return found == p->plan->nr_possible;
}

static void stacks_ops(void *state, const struct primitive_thread *thread, u64 n)
{
	struct stacks *p = state;
	u32 own = p->plan->slot[thread->cpu].shard;

	while (n--) {
		s64 slot = pop_from(&p->top[own].head, p->next);
		struct shard_near_iter near;
		u32 shard;

		while (slot < 0) {
			shard = shard_near_begin(&near, p->plan, thread->cpu);
			do
				slot = pop_from(&p->top[shard].head, p->next);
			while (slot < 0 && shard_near_next(&near, &shard));
		}
		primitive_hold(thread);
		push_on(&p->top[own].head, p->next, (u32)slot);
	}
}

PRIMITIVE(claim_stacks, "claim-stacks",
	  "the same with a stack for each core: folly's IndexedMemPool", true, stacks_create,
	  stacks_ops, stacks_consistent, stacks_destroy);
