// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The pool of claim_slots.c as other programs implement it; each thread has a hint where to search.
 *
 * Packed: words of one bit per object, 512 bits per line. The hint is the thread's last object.
 *
 * By words: the scheme of Linux's sbitmap, written from its behaviour (lib/sbitmap.c, 6.12, without
 * the lock that serialises step 4 in later versions). Each word is on its own line, and so are its
 * cleared bits. 1. Search the hint's word for a bit that is not taken, from the hint on. 2. Set it.
 * 3. A put sets the object's bit among the cleared ones, and makes it the hint. 4. A search that
 * finds a word full removes its cleared bits from it and searches again. The initial hints are
 * random. A word has as many bits as Linux chooses: 64, or fewer so that there are four words.
 */
#include "primitive.h"
#include "shard_plan.h"

#define WORD_BITS 64u

/* A thread's hint, on its own line; the originals keep one per CPU. */
struct hint {
	u32 slot;
} port_cacheline_aligned;

struct packed {
	u32 nr, nr_words;
	size_t bytes;
	u64 *word;	    /* set: free */
	struct hint hint[]; /* by thread */
};

static void packed_destroy(void *state)
{
	struct packed *p = state;

	if (!p)
		return;
	port_free(p->word, p->nr_words * sizeof(u64));
	port_free(p, p->bytes);
}

static void *packed_create(const struct primitive_place *place)
{
	size_t bytes = sizeof(struct packed) + place->nr_threads * sizeof(struct hint);
	struct packed *p = primitive_alloc(bytes, -1, "hints", NULL);

	if (!p)
		return NULL;
	p->bytes = bytes;
	p->nr = place->plan->nr_possible;
	p->nr_words = (p->nr + WORD_BITS - 1) / WORD_BITS;
	p->word = primitive_alloc(p->nr_words * sizeof(u64), place->home, "free objects", NULL);
	if (!p->word) {
		port_free(p, bytes);
		return NULL;
	}
	for (u32 i = 0; i < p->nr; i++)
		p->word[i / WORD_BITS] |= 1ull << i % WORD_BITS;
	for (u32 i = 0; i < place->nr_threads; i++)
		p->hint[i].slot = i < p->nr ? i : 0;
	return p;
}

static bool packed_consistent(const void *state, u64 n)
{
	const struct packed *p = state;
	u32 free = 0;

	for (u32 i = 0; i < p->nr_words; i++)
		free += port_popcount64(READ_ONCE(p->word[i]));
	return free == p->nr;
}

static u32 packed_claim(struct packed *p, u32 hint)
{
	u64 from = ~0ull << hint % WORD_BITS;
	u32 i = hint / WORD_BITS;

	for (;;) {
		u64 word = READ_ONCE(p->word[i]) & from;

		if (word) {
			u32 pos = port_ctz64(word);

			if (port_test_and_clear64(&p->word[i], pos))
				return i * WORD_BITS + pos;
		} else {
			from = ~0ull;
			i = i + 1 < p->nr_words ? i + 1 : 0;
		}
	}
}

static void packed_ops(void *state, const struct primitive_thread *thread, u64 n)
{
	struct packed *p = state;

	while (n--) {
		u32 got = packed_claim(p, p->hint[thread->number].slot);

		p->hint[thread->number].slot = got;
		primitive_hold(thread);
		port_or64_release(&p->word[got / WORD_BITS], 1ull << got % WORD_BITS);
	}
}

PRIMITIVE(claim_packed, "claim-packed", "the same in a packed bitmap, each thread with a hint",
	  true, packed_create, packed_ops, packed_consistent, packed_destroy);

struct map_word {
	u64 taken port_cacheline_aligned;
	u64 cleared port_cacheline_aligned;
};

struct by_words {
	u32 nr, nr_words, shift; /* a word has 1 << shift bits */
	size_t bytes;
	struct map_word *word;
	struct hint hint[]; /* by thread */
};

static void words_destroy(void *state)
{
	struct by_words *p = state;

	if (!p)
		return;
	port_free(p->word, p->nr_words * sizeof(*p->word));
	port_free(p, p->bytes);
}

static void *words_create(const struct primitive_place *place)
{
	size_t bytes = sizeof(struct by_words) + place->nr_threads * sizeof(struct hint);
	struct by_words *p = primitive_alloc(bytes, -1, "hints", NULL);
	u64 random = 1;

	if (!p)
		return NULL;
	p->bytes = bytes;
	p->nr = place->plan->nr_possible;
	for (p->shift = 6; p->nr >= 4 && 4u << p->shift > p->nr;)
		p->shift--;
	p->nr_words = (p->nr + (1u << p->shift) - 1) >> p->shift;
	p->word = primitive_alloc(p->nr_words * sizeof(*p->word), place->home, "taken objects",
				  "struct map_word");
	if (!p->word) {
		port_free(p, bytes);
		return NULL;
	}
	/* Bits that stand for no object stay taken. */
	for (u32 i = 0; i < p->nr_words; i++)
		p->word[i].taken = ~0ull;
	for (u32 i = 0; i < p->nr; i++)
		p->word[i >> p->shift].taken &= ~(1ull << (i & ((1u << p->shift) - 1)));
	for (u32 i = 0; i < place->nr_threads; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		p->hint[i].slot = (u32)(random >> 33) % (p->nr ? p->nr : 1);
	}
	return p;
}

static bool words_consistent(const void *state, u64 n)
{
	const struct by_words *p = state;
	u32 taken = 0;

	for (u32 i = 0; i < p->nr_words; i++)
		taken += port_popcount64(READ_ONCE(p->word[i].taken) &
					 ~READ_ONCE(p->word[i].cleared));
	return taken == p->nr_words * WORD_BITS - p->nr;
}

/* Take a free bit of a word. Return: its number, or WORD_BITS if the word is full. */
static u32 take_bit(struct map_word *word, u32 from)
{
	u64 after = ~0ull << from, left;

	while ((left = ~READ_ONCE(word->taken))) {
		u32 pos = port_ctz64(left & after ? left & after : left);

		if (!port_test_and_set64(&word->taken, pos))
			return pos;
	}
	return WORD_BITS;
}

/* Make the cleared objects of a word free. Return: were there any? */
static bool remove_cleared(struct map_word *word)
{
	u64 cleared = READ_ONCE(word->cleared);

	if (!cleared)
		return false;
	cleared = port_xchg64(&word->cleared, 0);
	port_and64(&word->taken, ~cleared);
	return cleared;
}

static u32 words_claim(struct by_words *p, u32 hint)
{
	u32 i = hint >> p->shift, from = hint & ((1u << p->shift) - 1);

	for (;;) {
		u32 pos = take_bit(&p->word[i], from);

		if (pos < WORD_BITS)
			return (i << p->shift) + pos;
		if (remove_cleared(&p->word[i]))
			continue;
		from = 0;
		i = i + 1 < p->nr_words ? i + 1 : 0;
	}
}

static void words_ops(void *state, const struct primitive_thread *thread, u64 n)
{
	struct by_words *p = state;

	while (n--) {
		u32 got = words_claim(p, p->hint[thread->number].slot);

		primitive_hold(thread);
		port_or64_release(&p->word[got >> p->shift].cleared,
				  1ull << (got & ((1u << p->shift) - 1)));
		p->hint[thread->number].slot = got;
	}
}

PRIMITIVE(claim_words, "claim-words",
	  "the same in words on lines of their own, cleared later: Linux's sbitmap", true,
	  words_create, words_ops, words_consistent, words_destroy);
