// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Readers of a sequence lock read two words that belong together, and write nothing. Without a
 * writer all readers keep the line in their caches. seqlock-read has no writer. In
 * seqlock-read-written thread 0 also writes in some of its operations, and then every reader loses
 * the line.
 *
 * The words are each other's complement. A reader that accepts words of two different writes aborts
 * the program.
 */
#include <stdlib.h>

#include "primitive.h"

#define WRITE_EVERY 100

struct seqlock_pair {
	u32 sequence; /* odd during a write */
	u64 value, complement;
} port_cacheline_aligned;

/* Only thread 0 uses @reads, which is far enough from the other words not to share a line. */
struct seqlock {
	struct seqlock_pair *pair;
	bool written;
	u8 unused[2 * PORT_CACHELINE];
	u32 reads;
	u8 unused2[PORT_CACHELINE];
};

static void destroy(void *state)
{
	struct seqlock *s = state;

	if (s)
		port_free(s->pair, sizeof(*s->pair));
	free(s);
}

static void *create(const struct primitive_place *place, bool written)
{
	struct seqlock *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->written = written;
	s->pair = primitive_alloc(sizeof(*s->pair), place->home, "seqlock", "struct seqlock_pair");
	if (!s->pair) {
		free(s);
		return NULL;
	}
	s->pair->complement = ~0ull;
	return s;
}

static void *create_read(const struct primitive_place *place)
{
	return create(place, false);
}

static void *create_written(const struct primitive_place *place)
{
	return create(place, true);
}

static void write_pair(struct seqlock_pair *p)
{
	u64 value = READ_ONCE(p->value) + 1;

	WRITE_ONCE(p->sequence, READ_ONCE(p->sequence) + 1);
	smp_wmb(); /* pairs with the second smp_rmb() in read_pair(): its reader retries */
	WRITE_ONCE(p->value, value);
	WRITE_ONCE(p->complement, ~value);
	smp_wmb(); /* pairs with the first: a reader of the new sequence sees both words */
	WRITE_ONCE(p->sequence, READ_ONCE(p->sequence) + 1);
}

static void read_pair(const struct seqlock_pair *p, const struct primitive_thread *thread)
{
	u64 value, complement;
	u32 sequence;

	do {
		while ((sequence = READ_ONCE(p->sequence)) & 1)
			cpu_relax();
		smp_rmb(); /* pairs with the second smp_wmb() in write_pair() */
		value = READ_ONCE(p->value);
		complement = READ_ONCE(p->complement);
		primitive_hold(thread);
		smp_rmb(); /* pairs with the first smp_wmb() in write_pair() */
	} while (READ_ONCE(p->sequence) != sequence);
	PORT_WARN_ON(value != ~complement);
}

static void ops(void *state, const struct primitive_thread *thread, u64 n)
{
	struct seqlock *s = state;
	bool writer = s->written && !thread->number;

	while (n--) {
		read_pair(s->pair, thread);
		if (writer && ++s->reads % WRITE_EVERY == 0)
			write_pair(s->pair);
	}
}

static bool consistent(const void *state, u64 n)
{
	const struct seqlock_pair *p = ((const struct seqlock *)state)->pair;

	return READ_ONCE(p->sequence) == 2 * READ_ONCE(p->value) && p->value == ~p->complement;
}

const struct primitive primitive_seqlock_read = {
	.name = "seqlock-read",
	.what = "read section of a sequence lock, no writer",
	.holds = true,
	.create = create_read,
	.ops = ops,
	.consistent = consistent,
	.destroy = destroy,
};

const struct primitive primitive_seqlock_read_written = {
	.name = "seqlock-read-written",
	.what = "the same, one thread writes every 100th time",
	.holds = true,
	.create = create_written,
	.ops = ops,
	.consistent = consistent,
	.destroy = destroy,
};
