// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A part gives each shard a range of its words. Where homes stay, it is as large as the shard's
 * share of the CPUs. Words have as many slots as are left when each shard gets a word: 64 if there
 * are many slots, 1 if few. So the numbers of slots have no gaps, and the word of a slot is found
 * by a shift. Where homes follow, each shard has a row of words, with a bit for each slot.
 *
 * A slot that is free has one bit set, in the word of its home, and a slot that is taken has none.
 * A put sets one bit. slot_claim.c has the other half of the argument.
 *
 * A part never moves. slot_set_grow() stores it before it raises @nr_parts with release. A claim
 * that does not see it finds the slots of before. Who puts a slot of it has claimed it, or got it
 * from who did: so it sees the part.
 */
#include "shard_lines.h"
#include "slot_set.h"

#define WORD_BITS  64u
#define LINE_WORDS (PORT_CACHELINE / sizeof(u64))

static u32 share(u32 nr, u32 idx, u32 of)
{
	return (u32)port_div64((u64)nr * idx, of);
}

/* Words of a shard, and the distance of two. */
static u32 words_of(const struct slot_part *p, u32 shard)
{
	return p->from[shard + 1] - p->from[shard];
}

static size_t stride_of(const struct slot_part *p)
{
	return p->row ? 1 : LINE_WORDS;
}

/* Bytes of the shards [@shard, @end), each on lines of its own. */
static size_t block_size(const struct slot_part *p, u32 shard, u32 end)
{
	size_t lines = 0;

	for (; shard < end; shard++)
		lines += (words_of(p, shard) * stride_of(p) + LINE_WORDS - 1) / LINE_WORDS;
	return lines * PORT_CACHELINE;
}

static void free_part(const struct shard_plan *plan, struct slot_part *p)
{
	if (!p)
		return;
	for (u32 shard = 0, end; shard < plan->nr_shards; shard = end) {
		size_t bytes;

		end = shard_node_end(plan, shard);
		bytes = block_size(p, shard, end);
		if (bytes)
			port_free(p->word[p->from[shard]], bytes);
	}
	port_free(p, p->bytes);
}

/* Lines for the shards [@shard, @end), which are on one node. */
static bool alloc_lines(const struct shard_plan *plan, struct slot_part *p, u32 shard, u32 end)
{
	size_t bytes = block_size(p, shard, end);
	u64 *block;

	if (!bytes)
		return true;
	block = (u64 *)port_alloc(bytes, plan->shard[shard].node);
	if (!block)
		return false;
	for (; shard < end; shard++) {
		for (u32 i = 0; i < words_of(p, shard); i++)
			p->word[p->from[shard] + i] = block + i * stride_of(p);
		block += block_size(p, shard, shard + 1) / sizeof(u64);
	}
	return true;
}

/* Slots [@slot, @end), counted from the part's first, are free, with words from @word on. */
static void fill(const struct slot_part *p, u64 *const *word, u32 slot, u32 end)
{
	u32 bits = 1u << p->shift, next;

	for (; slot < end; slot = next) {
		next = (slot | (bits - 1)) + 1;
		if (next > end)
			next = end;
		*word[slot >> p->shift] |= ~0ull >> (WORD_BITS - (next - slot))
							    << (slot & (bits - 1));
	}
}

/* A shard's slots, and those that are its CPUs' own. */
static void fill_shard(const struct shard_plan *plan, struct slot_part *p, u32 shard)
{
	const struct shard *s = &plan->shard[shard];
	u32 begin = p->from[shard] << p->shift, end = p->from[shard + 1] << p->shift;
	u64 **word = p->word + p->row * shard;

	if (p->row) {
		begin = share(p->nr, s->first_idx, plan->nr_possible);
		end = share(p->nr, s->first_idx + s->nr_cpus, plan->nr_possible);
	} else if (end > p->nr) {
		end = p->nr;
	}
	fill(p, word, begin, end);
	for (u32 pos = 0; pos < s->nr_cpus && (p->row || begin < end); pos++) {
		struct slot_own *own = &p->own[plan->shard_cpus[shard][pos]];
		u32 slot = begin + share(end - begin, pos, s->nr_cpus);

		own->word = word[slot >> p->shift];
		own->bit = slot & ((1u << p->shift) - 1);
		own->slot = p->first + slot;
	}
}

static struct slot_part *make_part(const struct slot_set *s, u32 first, u32 nr)
{
	const struct shard_plan *plan = s->plan;
	u32 shift = 6, nr_words, row = 0;
	struct slot_part *p;
	size_t bytes;

	while (!s->follow && shift && nr >> shift < plan->nr_shards)
		shift--;
	nr_words = (nr + (1u << shift) - 1) >> shift;
	if (s->follow) {
		row = nr_words;
		nr_words *= plan->nr_shards;
	}
	bytes = sizeof(*p) + nr_words * sizeof(u64 *) + plan->nr_cpus * sizeof(*p->own) +
		(plan->nr_shards + 1) * sizeof(u32);
	p = (struct slot_part *)port_alloc(bytes, -1);
	if (!p)
		return NULL;
	p->first = first;
	p->nr = nr;
	p->nr_words = nr_words;
	p->shift = shift;
	p->row = row;
	p->bytes = bytes;
	p->own = (struct slot_own *)(p->word + nr_words);
	p->from = (u32 *)(p->own + plan->nr_cpus);
	for (u32 shard = 0; shard < plan->nr_shards; shard++) {
		u32 end = plan->shard[shard].first_idx + plan->shard[shard].nr_cpus;

		p->from[shard + 1] =
			row ? row * (shard + 1) : share(nr_words, end, plan->nr_possible);
	}
	for (u32 shard = 0, end; shard < plan->nr_shards; shard = end) {
		end = shard_node_end(plan, shard);
		if (!alloc_lines(plan, p, shard, end)) {
			free_part(plan, p); /* later lines are NULL */
			return NULL;
		}
		for (; shard < end; shard++)
			fill_shard(plan, p, shard);
	}
	return p;
}

bool slot_set_grow(struct slot_set *s, u32 nr)
{
	u32 parts = READ_ONCE(s->nr_parts), size = parts ? slot_set_size(s) : 0;
	u32 most = s->follow ? SLOT_FOLLOW_MAX : SLOT_SET_MAX;

	if (!nr || nr > most - size || parts == SLOT_SET_PARTS)
		return false;
	s->part[parts] = make_part(s, size, nr);
	if (!s->part[parts])
		return false;
	smp_store_release(&s->nr_parts, parts + 1); /* pairs with the acquires of nr_parts */
	/* For a caller that wakes waiters: else shard_wait_wake() may look for them too early. */
	smp_mb();
	return true;
}

static struct slot_set *make(const struct shard_plan *plan, u32 nr, bool follow)
{
	struct slot_set *s = (struct slot_set *)port_alloc(sizeof(*s), -1);

	if (!s)
		return NULL;
	s->plan = plan;
	s->follow = follow;
	if (!slot_set_grow(s, nr)) {
		port_free(s, sizeof(*s));
		return NULL;
	}
	return s;
}

struct slot_set *slot_set_alloc(const struct shard_plan *plan, u32 nr)
{
	return make(plan, nr, false);
}

struct slot_set *slot_set_alloc_follow(const struct shard_plan *plan, u32 nr)
{
	return make(plan, nr, true);
}

void slot_set_free(struct slot_set *s)
{
	if (!s)
		return;
	for (u32 i = 0; i < s->nr_parts; i++)
		free_part(s->plan, s->part[i]);
	port_free(s, sizeof(*s));
}

static port_always_inline void put(struct slot_set *s, u32 slot, const struct shard_slot *at)
{
	struct slot_part *const *part = s->part;
	const struct slot_part *p;
	u32 word;

	while (slot - (*part)->first >= (*part)->nr)
		part++;
	p = *part;
	slot -= p->first;
	word = slot >> p->shift;
	if (p->row)
		word += p->row * (at ? at->shard : share(s->plan->nr_shards, slot, p->nr));
	port_or64_release(p->word[word], 1ull << (slot & ((1u << p->shift) - 1)));
}

void slot_put(struct slot_set *s, u32 slot)
{
	put(s, slot, NULL);
}

void slot_put_near(struct slot_set *s, u32 slot, u32 cpu)
{
	put(s, slot, &s->plan->slot[cpu]);
}

u32 slot_set_nr_free(const struct slot_set *s)
{
	u32 parts = smp_load_acquire(&s->nr_parts), n = 0; /* pairs as in claim() */

	for (u32 i = 0; i < parts; i++)
		for (u32 word = 0; word < s->part[i]->nr_words; word++)
			n += port_popcount64(READ_ONCE(*s->part[i]->word[word]));
	return n;
}
