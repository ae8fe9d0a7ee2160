// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A slot that is free has its bit set in one row, the home's; a slot that is taken has none. A
 * claim is an atomic operation that clears the bit and tells whether it was set: of all that clear
 * it between two puts one sees it set. A put sets one bit. So a slot has one owner, or one home.
 *
 * A search ends: it tries each bit of a word once, and visits each word of each shard once. A slot
 * that is free all through the call keeps its home, since only who claims it can put it elsewhere.
 * So the search finds it there, or another one before.
 */
#include "slot_roam.h"

#define WORD_BITS 64u

static u32 share(u32 nr, u32 idx, u32 of)
{
	return (u32)port_div64((u64)nr * idx, of);
}

static size_t row_bytes(const struct slot_roam *s)
{
	return s->nr_words * sizeof(u64);
}

void slot_roam_free(struct slot_roam *s)
{
	if (!s)
		return;
	for (u32 shard = 0; shard < s->plan->nr_shards; shard++)
		port_free(s->row[shard], row_bytes(s));
	port_free(s, s->bytes);
}

struct slot_roam *slot_roam_alloc(const struct shard_plan *plan, u32 nr)
{
	size_t bytes = sizeof(struct slot_roam) + plan->nr_shards * sizeof(u64 *);
	struct slot_roam *s;

	if (!nr || nr > SLOT_ROAM_MAX)
		return NULL;
	s = (struct slot_roam *)port_alloc(bytes, -1);
	if (!s)
		return NULL;
	s->plan = plan;
	s->nr = nr;
	s->nr_words = (nr + WORD_BITS - 1) / WORD_BITS;
	s->bytes = bytes;
	for (u32 shard = 0; shard < plan->nr_shards; shard++) {
		const struct shard *at = &plan->shard[shard];
		u32 slot = share(nr, at->first_idx, plan->nr_possible);
		u32 end = share(nr, at->first_idx + at->nr_cpus, plan->nr_possible);

		s->row[shard] = (u64 *)port_alloc(row_bytes(s), at->node);
		if (!s->row[shard]) {
			slot_roam_free(s); /* later rows are NULL */
			return NULL;
		}
		for (; slot < end; slot++)
			s->row[shard][slot / WORD_BITS] |= 1ull << slot % WORD_BITS;
	}
	return s;
}

/* Claim a slot of a word, from a bit on, around. */
static s64 take(u64 *word, u32 from)
{
	u64 left = ~0ull, seen;

	while ((seen = READ_ONCE(*word) & left)) {
		u64 after = seen & ~0ull << from;
		u32 bit = port_ctz64(after ? after : seen);

		if (port_test_and_clear64(word, bit))
			return bit;
		left &= ~(1ull << bit);
	}
	return -1;
}

s64 slot_roam_claim_near(struct slot_roam *s, u32 cpu)
{
	const struct shard_slot *at = &s->plan->slot[cpu];
	u32 own = share(s->nr, s->plan->shard[at->shard].first_idx + at->pos, s->plan->nr_possible);
	struct shard_near_iter near;
	u32 shard;

	/* Without a look: as sbm_claim.c. */
	if (port_test_and_clear64(&s->row[at->shard][own / WORD_BITS], own % WORD_BITS))
		return own;
	shard = shard_near_begin(&near, s->plan, cpu);
	do {
		u32 nr = own / WORD_BITS, from = own % WORD_BITS;

		for (u32 i = 0; i < s->nr_words; i++, from = 0) {
			s64 bit = take(&s->row[shard][nr], from);

			if (bit >= 0)
				return (s64)nr * WORD_BITS + bit;
			nr = nr + 1 < s->nr_words ? nr + 1 : 0;
		}
	} while (shard_near_next(&near, &shard));
	return -1;
}

void slot_roam_put(struct slot_roam *s, u32 slot, u32 cpu)
{
	u64 *row = s->row[s->plan->slot[cpu].shard];

	port_or64_release(&row[slot / WORD_BITS], 1ull << slot % WORD_BITS);
}

u32 slot_roam_nr_free(const struct slot_roam *s)
{
	u32 n = 0;

	for (u32 shard = 0; shard < s->plan->nr_shards; shard++)
		for (u32 i = 0; i < s->nr_words; i++)
			n += port_popcount64(READ_ONCE(s->row[shard][i]));
	return n;
}
