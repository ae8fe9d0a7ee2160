// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * One counter that all threads change, in three ways: a locked instruction; load, add and plain
 * store; compare-and-swap. The plain variant loses increments when two threads increment at once.
 * It shows the cost of a plain store, which waits in the store buffer. The variant fetch-xor is a
 * compare-and-swap loop, because it needs the old value, and x86 has no locked xor that returns it.
 */
#include "primitive.h"

struct shared_counter {
	u64 count;
} port_cacheline_aligned;

PRIMITIVE_OBJECT(shared_counter, "counter")

static bool all_counted(const void *state, u64 ops)
{
	const struct shared_counter *c = state;

	return READ_ONCE(c->count) == ops;
}

static void atomic_inc(void *state, const struct primitive_thread *thread, u64 n)
{
	struct shared_counter *c = state;

	while (n--)
		port_add64(&c->count, 1);
}

PRIMITIVE(atomic_inc, "atomic-inc", "increment a shared counter, locked", false, create, atomic_inc,
	  all_counted, destroy);

static void plain_inc(void *state, const struct primitive_thread *thread, u64 n)
{
	struct shared_counter *c = state;

	while (n--)
		WRITE_ONCE(c->count, READ_ONCE(c->count) + 1);
}

/* Increments may be lost, but none may be counted twice. */
static bool some_counted(const void *state, u64 ops)
{
	const struct shared_counter *c = state;
	u64 count = READ_ONCE(c->count);

	return count <= ops && (count || !ops);
}

PRIMITIVE(plain_inc, "plain-inc", "load, add and store a shared counter, not locked", false, create,
	  plain_inc, some_counted, destroy);

static void cas_loop(void *state, const struct primitive_thread *thread, u64 n)
{
	struct shared_counter *c = state;

	while (n--) {
		u64 old = READ_ONCE(c->count), seen;

		while ((seen = port_cmpxchg64(&c->count, old, old + 1)) != old)
			old = seen;
	}
}

PRIMITIVE(cas_loop, "cas-loop", "increment a shared counter by compare-and-swap", false, create,
	  cas_loop, all_counted, destroy);

static void fetch_xor(void *state, const struct primitive_thread *thread, u64 n)
{
	struct shared_counter *c = state;

	while (n--) {
		u64 old = READ_ONCE(c->count), seen;

		while ((seen = port_cmpxchg64(&c->count, old, old ^ 1)) != old)
			old = seen;
		port_compiler_barrier();
	}
}

static bool parity_kept(const void *state, u64 ops)
{
	const struct shared_counter *c = state;

	return READ_ONCE(c->count) == ops % 2;
}

PRIMITIVE(fetch_xor, "fetch-xor", "exclusive-or whose old value is used", false, create, fetch_xor,
	  parity_kept, destroy);
