// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Statistics counters of other libraries, written from their behaviour. Each thread has a line.
 *
 * Split, as liburcu counts the items of its hash table: a locked add on the thread's line, by a
 * pointer to the line. At each multiple of 1024 the thread moves 1024 to the global count by
 * another locked add. A read loads the global count, which misses up to 1023 per line.
 *
 * Cached, as folly's ThreadCachedInt: plain adds to the thread's line; every 1000th add moves them
 * to the global count by a locked add. A read sums the global count and all lines.
 *
 * Striped, as padded atomic words: a locked add to one of 64, by thread number. A read sums all.
 */
#include "counter_peers.h"
#include "primitive.h"

#define SPLIT_BATCH  1024u
#define CACHED_BATCH 1000u
#define STRIPES	     64u

struct count_line {
	u64 count;
	u64 updates; /* number since the last flush; only the thread uses it */
} port_cacheline_aligned;

struct counts {
	u32 nr;
	size_t bytes;
	struct count_line *split;
	u64 all port_cacheline_aligned;
	struct count_line line[];
};

static void destroy(void *state)
{
	struct counts *c = state;

	if (c)
		port_free(c, c->bytes);
}

static void *create_lines(u32 nr)
{
	size_t bytes = sizeof(struct counts) + nr * sizeof(struct count_line);
	struct counts *c = primitive_alloc(bytes, -1, "counter lines", NULL);

	if (c) {
		c->nr = nr;
		c->bytes = bytes;
		c->split = c->line;
	}
	return c;
}

static void *create_threads(const struct primitive_place *place)
{
	return create_lines(place->nr_threads);
}

static void *create_stripes(const struct primitive_place *place)
{
	return create_lines(STRIPES);
}

u64 counter_peer_sum(const void *state)
{
	const struct counts *c = state;
	u64 found = READ_ONCE(c->all);

	for (u32 i = 0; i < c->nr; i++)
		found += READ_ONCE(c->line[i].count);
	return found;
}

u64 counter_peer_about(const void *state)
{
	const struct counts *c = state;

	return READ_ONCE(c->all);
}

static bool all_counted(const void *state, u64 ops)
{
	return counter_peer_sum(state) == ops;
}

static void split_add(struct counts *c, u32 thread)
{
	if ((port_fetch_add64(&READ_ONCE(c->split)[thread].count, 1) + 1) % SPLIT_BATCH == 0)
		port_add64(&c->all, SPLIT_BATCH);
}

static bool split_counted(const void *state, u64 ops)
{
	const struct counts *c = state;
	u64 found = 0, moved = 0;

	for (u32 i = 0; i < c->nr; i++) {
		found += READ_ONCE(c->line[i].count);
		moved += READ_ONCE(c->line[i].count) / SPLIT_BATCH * SPLIT_BATCH;
	}
	return found == ops && READ_ONCE(c->all) == moved;
}

static void split_ops(void *state, const struct primitive_thread *thread, u64 n)
{
	while (n--)
		split_add(state, thread->number);
}

PRIMITIVE(counter_split, "counter-split", "increment a split counter: liburcu's scheme", false,
	  create_threads, split_ops, split_counted, destroy);

static void cached_add(struct counts *c, u32 thread)
{
	struct count_line *line = &c->line[thread];

	WRITE_ONCE(line->count, READ_ONCE(line->count) + 1);
	if (++line->updates > CACHED_BATCH) {
		port_add64(&c->all, line->count);
		WRITE_ONCE(line->count, 0);
		line->updates = 0;
	}
}

static void cached_ops(void *state, const struct primitive_thread *thread, u64 n)
{
	while (n--)
		cached_add(state, thread->number);
}

PRIMITIVE(counter_cached, "counter-cached",
	  "increment a counter that threads cache: folly's scheme", false, create_threads,
	  cached_ops, all_counted, destroy);

static void striped_ops(void *state, const struct primitive_thread *thread, u64 n)
{
	struct counts *c = state;

	while (n--)
		port_add64(&c->line[thread->number % STRIPES].count, 1);
}

PRIMITIVE(counter_striped, "counter-striped", "increment one of 64 padded atomic words", false,
	  create_stripes, striped_ops, all_counted, destroy);
