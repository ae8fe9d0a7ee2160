// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The pool of claim_slots.c as a ring of Concurrency Kit, for many producers and consumers. The
 * code is that of the installed ck_ring.h. On the simulated machine CK's builtins replace CK's
 * assembly. The builtins lack the pause, so cpu_relax() replaces it.
 */
#ifdef WITH_CK
#if defined(__SANITIZE_THREAD__)
#define CK_USE_CC_BUILTINS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CK_USE_CC_BUILTINS 1
#endif
#endif
#include <ck_pr.h>
#ifdef CK_USE_CC_BUILTINS
#define ck_pr_stall cpu_relax
#endif
#include "primitive.h"
#include "shard_plan.h"
#include <ck_ring.h>

struct pool {
	struct ck_ring ring;
	u32 nr;
	struct ck_ring_buffer *place;
};

static void destroy(void *state)
{
	struct pool *p = state;

	if (!p)
		return;
	port_free(p->place, p->ring.size * sizeof(*p->place));
	port_free(p, sizeof(*p));
}

static void put(struct pool *p, void *slot)
{
	while (!ck_ring_enqueue_mpmc(&p->ring, p->place, slot))
		cpu_relax();
}

static void *create(const struct primitive_place *place)
{
	struct pool *p = primitive_alloc(sizeof(*p), place->home, "ends of a ring", NULL);
	u32 size = 2; /* a ring has room for one slot less */

	if (!p)
		return NULL;
	p->nr = place->plan->nr_possible;
	while (size <= p->nr)
		size *= 2;
	ck_ring_init(&p->ring, size);
	p->place = primitive_alloc(size * sizeof(*p->place), place->home, "places of a ring", NULL);
	if (!p->place) {
		destroy(p);
		return NULL;
	}
	for (u32 i = 0; i < p->nr; i++)
		put(p, (void *)(uintptr_t)(i + 1));
	return p;
}

static bool consistent(const void *state, u64 n)
{
	const struct pool *p = state;

	return ck_ring_size(&p->ring) == p->nr && p->ring.c_head == (u32)n;
}

static void ops(void *state, const struct primitive_thread *thread, u64 n)
{
	struct pool *p = state;
	void *slot;

	while (n--) {
		while (!ck_ring_dequeue_mpmc(&p->ring, p->place, &slot))
			cpu_relax();
		primitive_hold(thread);
		put(p, slot);
	}
}

PRIMITIVE(claim_ring, "claim-ring", "the same with Concurrency Kit's ring", true, create, ops,
	  consistent, destroy);
#endif
