// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A set of CPUs in which each thread sets and clears its own CPU. One variant is the sharded
 * bitmap. The other is packed: an array of words, like the bitmaps of Concurrency Kit and hwloc.
 */
#include "primitive.h"
#include "sbm_more.h"

#define WORD_BITS 64u

/* The type of a line of the bitmap, for reports. */
struct set_line {
	u64 word;
	u8 unused[PORT_CACHELINE - sizeof(u64)];
};

static void destroy(void *state)
{
	sbm_destroy(state);
}

static void *create(const struct primitive_place *place)
{
	if (primitive_label_hook)
		primitive_label_hook("set", "struct set_line");
	return sbm_alloc(place->plan, 0);
}

static bool consistent(const void *state, u64 n)
{
	return sbm_empty(state);
}

static void ops(void *state, const struct primitive_thread *thread, u64 n)
{
	while (n--) {
		sbm_set(state, thread->cpu);
		sbm_clear(state, thread->cpu);
	}
}

PRIMITIVE(set_clear, "set-clear", "set and clear the own CPU: sbm_set(), sbm_clear()", false,
	  create, ops, consistent, destroy);

/* The words are on separate lines, behind a line with the number of bytes and of words. */
struct packed {
	size_t bytes;
	u32 nr_words;
	u64 word[] port_cacheline_aligned;
};

static void packed_destroy(void *state)
{
	struct packed *p = state;

	if (p)
		port_free(p, p->bytes);
}

static void *packed_create(const struct primitive_place *place)
{
	u32 nr_words = (place->plan->nr_cpus + WORD_BITS - 1) / WORD_BITS;
	size_t bytes = sizeof(struct packed) + nr_words * sizeof(u64);
	struct packed *p = primitive_alloc(bytes, place->home, "set", NULL);

	if (p) {
		p->bytes = bytes;
		p->nr_words = nr_words;
	}
	return p;
}

static bool packed_consistent(const void *state, u64 n)
{
	const struct packed *p = state;

	for (u32 i = 0; i < p->nr_words; i++)
		if (READ_ONCE(p->word[i]))
			return false;
	return true;
}

static void packed_ops(void *state, const struct primitive_thread *thread, u64 n)
{
	u64 *word = &((struct packed *)state)->word[thread->cpu / WORD_BITS];
	u64 bit = 1ull << thread->cpu % WORD_BITS;

	while (n--) {
		port_or64(word, bit);
		port_and64(word, ~bit);
	}
}

PRIMITIVE(set_clear_packed, "set-clear-packed", "the same in a packed bitmap", false, packed_create,
	  packed_ops, packed_consistent, packed_destroy);
