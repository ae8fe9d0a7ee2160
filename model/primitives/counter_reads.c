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
	u32 adds; /* since its last read */
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
	memset(s->reader, 0, place->nr_threads * sizeof(*s->reader));
	return s;
}

static void ops(struct counted *s, const struct primitive_thread *thread, u64 n,
		const struct primitive *of, u64 (*read)(const void *))
{
	u32 *adds = &s->reader[thread->number].adds;

	for (u64 now; n; n -= now) {
		now = n < READ_EVERY - *adds ? n : READ_EVERY - *adds;
		of->ops(s->counter, thread, now);
		*adds += (u32)now;
		if (*adds == READ_EVERY) {
			u64 found = read(s->counter);

			__asm__ volatile("" : : "r"(found));
			*adds = 0;
		}
	}
}

#define READ(of, count, label, text)                                                    \
	static u64 of##_read(const void *counter)                                       \
	{                                                                               \
		return (u64)(count);                                                    \
	}                                                                               \
	static void *of##_create(const struct primitive_place *place)                   \
	{                                                                               \
		return create(place, &(of));                                            \
	}                                                                               \
	static void of##_ops(void *state, const struct primitive_thread *thread, u64 n) \
	{                                                                               \
		ops(state, thread, n, &(of), of##_read);                                \
	}                                                                               \
	static bool of##_consistent(const void *state, u64 n)                           \
	{                                                                               \
		return (of).consistent(((const struct counted *)state)->counter, n);    \
	}                                                                               \
	static void of##_destroy(void *state)                                           \
	{                                                                               \
		destroy(state, &(of));                                                  \
	}                                                                               \
	const struct primitive read_##of = {                                            \
		.name = (label),                                                        \
		.what = (text),                                                         \
		.create = of##_create,                                                  \
		.ops = of##_ops,                                                        \
		.consistent = of##_consistent,                                          \
		.destroy = of##_destroy,                                                \
	}

READ(primitive_atomic_inc, READ_ONCE(*(const u64 *)counter), "read-word",
     "one word, locked; every 100th add reads it");
READ(primitive_sharded_counter, shard_counter_sum(counter), "read-sharded",
     "schedshard's counter, one line per LLC; every 100th add sums it");
READ(primitive_cpu_counter, cpu_counter_sum(counter), "read-cpu",
     "schedshard's counter, one line per CPU; every 100th add sums it");
READ(primitive_cpu_about, cpu_counter_about(counter), "read-cpu-about",
     "the same; every 100th add reads the estimate");
READ(primitive_counter_split, counter_peer_about(counter), "read-split",
     "liburcu's split counter; every 100th add reads the count of all");
READ(primitive_counter_cached, counter_peer_sum(counter), "read-cached",
     "folly's cached counter; every 100th add sums it");
READ(primitive_counter_striped, counter_peer_sum(counter), "read-striped",
     "64 padded atomic words; every 100th add sums them");
