// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Counters that are also read: each thread adds, and reads the count at every 100th add. So an
 * operation is an add and a hundredth of a read, and the lines are in other caches when they are
 * read, as in a program.
 */
#include <stdlib.h>

#include "counter_peers.h"
#include "cpu_counter.h"
#include "primitive.h"
#include "shard_counter.h"

#define READ_EVERY 100u

/* State of one thread. */
struct reader {
	u32 adds;
} port_cacheline_aligned;

struct counted {
	void *counter;
	struct reader *reader;
};

extern const struct primitive primitive_atomic_inc, primitive_sharded_counter,
	primitive_cpu_counter, primitive_cpu_about, primitive_counter_split,
	primitive_counter_cached, primitive_counter_striped;

static void destroy(struct counted *s, const struct primitive *of)
{
	if (!s)
		return;
	if (s->counter)
		of->destroy(s->counter);
	free(s->reader);
	free(s);
}

static void *create(const struct primitive_place *place, const struct primitive *of)
{
	struct counted *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->reader = aligned_alloc(PORT_CACHELINE, place->nr_threads * sizeof(*s->reader));
	s->counter = of->create(place);
	if (!s->reader || !s->counter) {
		destroy(s, of);
		return NULL;
	}
	for (u32 i = 0; i < place->nr_threads; i++)
		s->reader[i].adds = 0;
	return s;
}

static void ops(struct counted *s, const struct primitive_thread *thread, u64 n,
		const struct primitive *of, u64 (*read)(const void *))
{
	while (n--) {
		of->ops(s->counter, thread, 1);
		if (++s->reader[thread->number].adds % READ_EVERY == 0) {
			u64 found = read(s->counter);

			__asm__ volatile("" : : "r"(found));
		}
	}
}

static u64 read_word(const void *counter)
{
	return READ_ONCE(*(const u64 *)counter);
}

static u64 read_shards(const void *counter)
{
	return (u64)shard_counter_sum(counter);
}

static u64 read_cpus(const void *counter)
{
	return (u64)cpu_counter_sum(counter);
}

static u64 read_about(const void *counter)
{
	return (u64)cpu_counter_about(counter);
}

#define READ(of, read, label, text)                                                              \
	static void *read##_##of##_create(const struct primitive_place *place)                   \
	{                                                                                        \
		return create(place, &(of));                                                     \
	}                                                                                        \
	static void read##_##of##_ops(void *state, const struct primitive_thread *thread, u64 n) \
	{                                                                                        \
		ops(state, thread, n, &(of), read);                                              \
	}                                                                                        \
	static bool read##_##of##_consistent(const void *state, u64 n)                           \
	{                                                                                        \
		return (of).consistent(((const struct counted *)state)->counter, n);             \
	}                                                                                        \
	static void read##_##of##_destroy(void *state)                                           \
	{                                                                                        \
		destroy(state, &(of));                                                           \
	}                                                                                        \
	const struct primitive read##_##of = {                                                   \
		.name = (label),                                                                 \
		.what = (text),                                                                  \
		.create = read##_##of##_create,                                                  \
		.ops = read##_##of##_ops,                                                        \
		.consistent = read##_##of##_consistent,                                          \
		.destroy = read##_##of##_destroy,                                                \
	}

READ(primitive_atomic_inc, read_word, "read-word", "one word, locked; every 100th add reads it");
READ(primitive_sharded_counter, read_shards, "read-sharded",
     "schedshard's counter, one line per LLC; every 100th add sums it");
READ(primitive_cpu_counter, read_cpus, "read-cpu",
     "schedshard's counter, one line per CPU; every 100th add sums it");
READ(primitive_cpu_about, read_about, "read-cpu-about",
     "the same; every 100th add reads the estimate");
READ(primitive_counter_split, counter_peer_about, "read-split",
     "liburcu's split counter; every 100th add reads the count of all");
READ(primitive_counter_cached, counter_peer_sum, "read-cached",
     "folly's cached counter; every 100th add sums it");
READ(primitive_counter_striped, counter_peer_sum, "read-striped",
     "64 padded atomic words; every 100th add sums them");
