// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Take a reference on one shared object and drop it, as Linux's refcount_t does. Both locked
 * instructions return the old value, and a count that was 0 or negative saturates. The object keeps
 * one reference throughout, so no thread drops the last one.
 */
#include "primitive.h"

#define SATURATED 0xc0000000u

struct shared_refcount {
	u32 count;
} port_cacheline_aligned;

static void *create(const struct primitive_place *place)
{
	struct shared_refcount *r =
		primitive_alloc(sizeof(*r), place->home, "refcount", "struct shared_refcount");

	if (r)
		r->count = 1;
	return r;
}

static void destroy(void *state)
{
	port_free(state, sizeof(struct shared_refcount));
}

static void ops(void *state, const struct primitive_thread *thread, u64 n)
{
	struct shared_refcount *r = state;

	while (n--) {
		if (unlikely((s32)__atomic_fetch_add(&r->count, 1, __ATOMIC_RELAXED) <= 0))
			WRITE_ONCE(r->count, SATURATED);
		primitive_hold(thread);
		if (unlikely((s32)__atomic_fetch_sub(&r->count, 1, __ATOMIC_RELEASE) <= 1))
			WRITE_ONCE(r->count, SATURATED);
	}
}

static bool consistent(const void *state, u64 n)
{
	const struct shared_refcount *r = state;

	return READ_ONCE(r->count) == 1;
}

PRIMITIVE(refcount, "refcount", "take a reference and drop it", true, create, ops, consistent,
	  destroy);
