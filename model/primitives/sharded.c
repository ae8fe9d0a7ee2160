// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Two counters of core/. One takes a locked increment on the line of the caller's shard. The other
 * takes a plain increment on the line of the caller's CPU.
 */
#include "primitive.h"
#include "cpu_counter.h"
#include "shard_counter.h"

#define BATCH 1024u

/* The type of a line of the counter, for reports. */
struct sharded_counter_line {
	u64 count;
	u8 unused[PORT_CACHELINE - sizeof(u64)];
};

static void destroy(void *state)
{
	if (state)
		shard_counter_detach(state);
	port_free(state, sizeof(struct shard_counter));
}

static void *create(const struct primitive_place *place)
{
	struct shard_counter *c =
		primitive_alloc(sizeof(*c), place->home, "sharded counter", "struct shard_counter");

	if (!c)
		return NULL;
	if (primitive_label_hook)
		primitive_label_hook("counter line", "struct sharded_counter_line");
	if (!shard_counter_attach(c, place->plan)) {
		port_free(c, sizeof(*c));
		return NULL;
	}
	return c;
}

static void ops(void *state, const struct primitive_thread *thread, u64 n)
{
	while (n--)
		shard_counter_inc(state, thread->cpu);
}

static bool consistent(const void *state, u64 n)
{
	return (u64)shard_counter_sum(state) == n;
}

PRIMITIVE(sharded_counter, "sharded-counter", "increment schedshard's counter, one line per LLC",
	  false, create, ops, consistent, destroy);

static void cpu_destroy(void *state)
{
	cpu_counter_destroy(state);
}

static void *batch_create(const struct primitive_place *place, u32 batch)
{
	if (primitive_label_hook)
		primitive_label_hook("counter lines", "struct cpu_counter_line");
	return cpu_counter_alloc(place->plan, batch);
}

static void *cpu_create(const struct primitive_place *place)
{
	return batch_create(place, 0);
}

static void *about_create(const struct primitive_place *place)
{
	return batch_create(place, BATCH);
}

static void cpu_ops(void *state, const struct primitive_thread *thread, u64 n)
{
	while (n--)
		cpu_counter_add(state, thread->cpu, 1);
}

static bool cpu_consistent(const void *state, u64 n)
{
	return (u64)cpu_counter_sum(state) == n;
}

PRIMITIVE(cpu_counter, "cpu-counter",
	  "increment schedshard's counter, one line per CPU, not locked", false, cpu_create,
	  cpu_ops, cpu_consistent, cpu_destroy);

/* counter_reads.c reads the estimate of this counter. */
PRIMITIVE(cpu_about, NULL, NULL, false, about_create, cpu_ops, cpu_consistent, cpu_destroy);

static void any_ops(void *state, const struct primitive_thread *thread, u64 n)
{
	while (n--)
		cpu_counter_add_any(state, thread->cpu, 1);
}

PRIMITIVE(cpu_counter_any, "cpu-counter-any", "the same by threads that may move, locked", false,
	  cpu_create, any_ops, cpu_consistent, cpu_destroy);
