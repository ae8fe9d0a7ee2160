// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A part gives each shard a range of its words, as large as its share of the CPUs. Words have as
 * many slots as are left when each shard gets a word: 64 if there are many slots, 1 if few. So the
 * numbers of slots have no gaps, and the word of a slot is found by a shift.
 *
 * No slot is claimed twice, and a search ends, as in sbm_claim.c: an atomic operation that clears
 * the bit tells whether it was set, and a word's bit is tried once.
 *
 * A part never moves. slot_set_grow() stores it before it raises @nr_parts with release. A claim
 * that does not see it finds the slots of before. Who puts a slot of it has claimed it, or got it
 * from who did: so it sees the part.
 */
#include "slot_set.h"

static u32 share(u32 nr, u32 idx, u32 of)
{
	return (u32)port_div64((u64)nr * idx, of);
}

static void free_part(const struct shard_plan *plan, struct slot_part *p)
{
	if (!p)
		return;
	for (u32 shard = 0; shard < plan->nr_shards; shard++) {
		u32 n = p->from[shard + 1] - p->from[shard];

		if (n)
			port_free(p->word[p->from[shard]], n * (size_t)PORT_CACHELINE);
	}
	port_free(p, p->bytes);
}

/* The lines of a shard's words, with their bits set. */
static bool fill_shard(const struct shard_plan *plan, struct slot_part *p, u32 shard)
{
	u32 begin = p->from[shard], n = p->from[shard + 1] - begin;
	u64 *lines;

	if (!n)
		return true;
	lines = (u64 *)port_alloc(n * (size_t)PORT_CACHELINE, plan->shard[shard].node);
	if (!lines)
		return false;
	for (u32 i = 0; i < n; i++) {
		u32 left = p->nr - ((begin + i) << p->shift), bits = 1u << p->shift;

		if (left < bits)
			bits = left;
		p->word[begin + i] = lines + i * (PORT_CACHELINE / sizeof(u64));
		*p->word[begin + i] = ~0ull >> (64 - bits);
	}
	return true;
}

static void fill_own(const struct shard_plan *plan, struct slot_part *p, u32 shard)
{
	const struct shard *s = &plan->shard[shard];
	u32 begin = p->from[shard] << p->shift, end = p->from[shard + 1] << p->shift;

	if (end > p->nr)
		end = p->nr;
	for (u32 pos = 0; pos < s->nr_cpus; pos++)
		p->own[plan->shard_cpus[shard][pos]] =
			begin < end ? begin + share(end - begin, pos, s->nr_cpus) : p->nr;
}

static struct slot_part *make_part(const struct shard_plan *plan, u32 first, u32 nr)
{
	u32 shift = 6, nr_words;
	struct slot_part *p;
	size_t bytes;

	while (shift && nr >> shift < plan->nr_shards)
		shift--;
	nr_words = (nr + (1u << shift) - 1) >> shift;
	bytes = sizeof(*p) + nr_words * sizeof(u64 *) +
		(plan->nr_cpus + plan->nr_shards + 1) * sizeof(u32);
	p = (struct slot_part *)port_alloc(bytes, -1);
	if (!p)
		return NULL;
	p->first = first;
	p->nr = nr;
	p->nr_words = nr_words;
	p->shift = shift;
	p->bytes = bytes;
	p->own = (u32 *)(p->word + nr_words);
	p->from = p->own + plan->nr_cpus;
	for (u32 shard = 0; shard < plan->nr_shards; shard++) {
		u32 end = plan->shard[shard].first_idx + plan->shard[shard].nr_cpus;

		p->from[shard + 1] = share(nr_words, end, plan->nr_possible);
		if (!fill_shard(plan, p, shard)) {
			/* Later shards have no words yet. */
			for (u32 rest = shard; rest < plan->nr_shards; rest++)
				p->from[rest + 1] = p->from[shard];
			free_part(plan, p);
			return NULL;
		}
		fill_own(plan, p, shard);
	}
	return p;
}

bool slot_set_grow(struct slot_set *s, u32 nr)
{
	u32 parts = READ_ONCE(s->nr_parts), size = parts ? slot_set_size(s) : 0;

	if (!nr || nr > SLOT_SET_MAX - size || parts == SLOT_SET_PARTS)
		return false;
	s->part[parts] = make_part(s->plan, size, nr);
	if (!s->part[parts])
		return false;
	smp_store_release(&s->nr_parts, parts + 1); /* pairs with the acquires of nr_parts */
	/* For a caller that wakes waiters: else shard_wait_wake() may look for them too early. */
	smp_mb();
	return true;
}

struct slot_set *slot_set_alloc(const struct shard_plan *plan, u32 nr)
{
	struct slot_set *s = (struct slot_set *)port_alloc(sizeof(*s), -1);

	if (!s)
		return NULL;
	s->plan = plan;
	if (!slot_set_grow(s, nr)) {
		port_free(s, sizeof(*s));
		return NULL;
	}
	return s;
}

void slot_set_free(struct slot_set *s)
{
	if (!s)
		return;
	for (u32 i = 0; i < s->nr_parts; i++)
		free_part(s->plan, s->part[i]);
	port_free(s, sizeof(*s));
}

/* Claim a slot of a word, from a bit on, around. */
static s64 take(const struct slot_part *p, u32 nr, u32 from)
{
	u64 left = ~0ull, word;

	while ((word = READ_ONCE(*p->word[nr]) & left)) {
		u64 after = word & ~0ull << from;
		u32 bit = port_ctz64(after ? after : word);

		if (port_test_and_clear64(p->word[nr], bit))
			return (s64)p->first + (nr << p->shift) + bit;
		left &= ~(1ull << bit);
	}
	return -1;
}

/* Claim a slot of a shard's words, from word @nr, counted from the shard's first, on, around. */
static s64 take_shard(const struct slot_part *p, u32 shard, u32 nr, u32 bit)
{
	u32 begin = p->from[shard], n = p->from[shard + 1] - begin;

	for (u32 i = 0; i < n; i++) {
		s64 got = take(p, begin + (nr + i) % n, bit);

		if (got >= 0)
			return got;
		bit = 0;
	}
	return -1;
}

static s64 claim_part(const struct shard_plan *plan, const struct slot_part *p, u32 cpu)
{
	u32 own = p->own[cpu], word = own >> p->shift, bit = own & ((1u << p->shift) - 1);
	struct shard_near_iter near;
	u32 shard, spread;
	s64 got = -1;

	/* Without a look: as sbm_claim.c. */
	if (own < p->nr && port_test_and_clear64(p->word[word], bit))
		return (s64)p->first + own;
	shard = shard_near_begin(&near, plan, cpu);
	spread = (u32)plan->slot[cpu].pos + plan->slot[cpu].shard;
	if (own < p->nr)
		got = take_shard(p, shard, word - p->from[shard], bit);
	while (got < 0 && shard_near_next(&near, &shard))
		got = take_shard(p, shard, spread, spread & ((1u << p->shift) - 1));
	return got;
}

s64 slot_claim_near(struct slot_set *s, u32 cpu)
{
	/* Pairs with the release in slot_set_grow(): without it a part may be unset. */
	u32 parts = smp_load_acquire(&s->nr_parts);
	s64 got = -1;

	for (u32 i = 0; i < parts && got < 0; i++)
		got = claim_part(s->plan, s->part[i], cpu);
	return got;
}

void slot_put(struct slot_set *s, u32 slot)
{
	struct slot_part *const *part = s->part;
	const struct slot_part *p;

	while (slot - (*part)->first >= (*part)->nr)
		part++;
	p = *part;
	slot -= p->first;
	port_or64_release(p->word[slot >> p->shift], 1ull << (slot & ((1u << p->shift) - 1)));
}

u32 slot_set_nr_free(const struct slot_set *s)
{
	u32 parts = smp_load_acquire(&s->nr_parts), n = 0; /* pairs as in slot_claim_near() */

	for (u32 i = 0; i < parts; i++)
		for (u32 word = 0; word < s->part[i]->nr_words; word++)
			n += port_popcount64(READ_ONCE(*s->part[i]->word[word]));
	return n;
}
