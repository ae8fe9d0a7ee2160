// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * One counter that all threads change: by a locked instruction, by load, add and plain store, and
 * by compare-and-swap. The plain variant loses increments when two threads meet. It shows the cost
 * of a plain store, which waits in the store buffer. fetch-xor needs the old value. x86 has no
 * locked instruction that returns it, so compilers emit a compare-and-swap loop.
 */
#include "primitive.h"

struct shared_counter {
	u64 count;
} port_cacheline_aligned;

static void *counter_create(const struct primitive_place *place)
{
	return primitive_alloc(sizeof(struct shared_counter), place->home, "counter",
			       "struct shared_counter");
}

static void counter_destroy(void *state)
{
	port_free(state, sizeof(struct shared_counter));
}

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

const struct primitive primitive_atomic_inc = {
	.name = "atomic-inc",
	.what = "increment a shared counter, locked",
	.create = counter_create,
	.ops = atomic_inc,
	.consistent = all_counted,
	.destroy = counter_destroy,
};

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

const struct primitive primitive_plain_inc = {
	.name = "plain-inc",
	.what = "load, add and store a shared counter, not locked",
	.create = counter_create,
	.ops = plain_inc,
	.consistent = some_counted,
	.destroy = counter_destroy,
};

static void cas_loop(void *state, const struct primitive_thread *thread, u64 n)
{
	struct shared_counter *c = state;

	while (n--) {
		u64 old = READ_ONCE(c->count), seen;

		while ((seen = port_cmpxchg64(&c->count, old, old + 1)) != old)
			old = seen;
	}
}

const struct primitive primitive_cas_loop = {
	.name = "cas-loop",
	.what = "increment a shared counter by compare-and-swap",
	.create = counter_create,
	.ops = cas_loop,
	.consistent = all_counted,
	.destroy = counter_destroy,
};

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

const struct primitive primitive_fetch_xor = {
	.name = "fetch-xor",
	.what = "exclusive-or whose old value is used",
	.create = counter_create,
	.ops = fetch_xor,
	.consistent = parity_kept,
	.destroy = counter_destroy,
};
