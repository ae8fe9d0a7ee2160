// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * No slot is claimed twice: a claim is an atomic operation that clears the slot's bit and returns
 * whether it was set. So of all CPUs that clear it between two puts, only one sees it set.
 *
 * A search ends, because it visits each word of each shard once, and tries once each bit that it
 * may take. A slot that is free throughout the call keeps its home, because only a thread that
 * claimed it can put it elsewhere. So the search finds it at its home, or another slot earlier.
 *
 * With a limit, the first floor(limit * b / size) - floor(limit * a / size) slots of a word with
 * the slots [a, b) may be claimed, where @size is the size of the set. Over all words this adds up
 * to @limit, and while @limit is at most @size no word gets more than it has. In a set whose homes
 * follow users, whether a slot may be used does not depend on its shard.
 */
#include "slot_claim.h"
#include "slot_steal.h"

/* Limit of a claim, and the size of the set. */
struct bounds {
	u32 limit;
	u32 size;
};

/*
 * Return which of the 1 << shift slots from the part's slot @begin on count under a limit, as bits.
 */
static u64 within(const struct slot_part *p, u32 begin, struct bounds of)
{
	u32 end = begin + (1u << p->shift), n;

	if (of.limit >= of.size)
		return ~0ull;
	if (end > p->nr)
		end = p->nr;
	begin += p->first;
	end += p->first;
	n = (u32)(port_div64((u64)of.limit * end, of.size) -
		  port_div64((u64)of.limit * begin, of.size));
	return n ? ~0ull >> (64 - n) : 0;
}

/* The lowest @n set bits of @word, or all of them. */
static u64 lowest(u64 word, u32 n)
{
	u64 rest = word;

	while (rest && n--)
		rest &= rest - 1;
	return word & ~rest;
}

/*
 * Claim up to @n of the slots @left of a word, from bit @from on, with wrap-around. @first: number
 * of the slot of bit 0.
 */
static u32 take(u64 *line, u64 left, u32 from, u32 first, u32 n, u32 *slots)
{
	u64 word;
	u32 got = 0;

	while (got < n && (word = READ_ONCE(*line) & left)) {
		u64 after = word & ~0ull << from;
		u64 want = lowest(after ? after : word, n - got), had = want;

		if (n == 1) /* not a loop of compare-and-swap, see port_test_and_clear64() */
			had = port_test_and_clear64(line, port_ctz64(want)) ? want : 0;
		else
			had &= port_fetch_and64(line, ~want);
		left &= ~want;
		for (; had; had &= had - 1)
			slots[got++] = first + port_ctz64(had);
	}
	return got;
}

/* Claim slots of a shard, from its word @word and the bit @bit on, with wrap-around. */
static u32 take_shard(const struct slot_part *p, u32 shard, u32 word, u32 bit, struct bounds of,
		      u32 n, u32 *slots)
{
	u32 words = p->from[shard + 1] - p->from[shard], got = 0;

	for (u32 i = 0; i < words && got < n; i++, bit = 0) {
		u32 nr = p->from[shard] + (word + i) % words;
		u32 first = (nr - p->row * shard) << p->shift; /* each row starts again at slot 0 */

		got += take(p->word[nr], within(p, first, of), bit, p->first + first, n - got,
			    slots + got);
	}
	return got;
}

/*
 * shard_near_next() past shards without words. In a set of fewer slots than shards these are many,
 * and to visit hundreds takes microseconds.
 */
static bool next_with_words(const struct shard_plan *plan, const struct slot_part *p,
			    struct shard_near_iter *near, u32 *shard)
{
	const u32 *from = p->from;

	do {
		u32 above = from[near->up + 1], below = from[near->down];

		if (near->up < near->last)
			near->up = above < from[near->last + 1]
					   ? slot_home(plan, above, p->nr_words) - 1
					   : near->last;
		else if (near->down < near->below)
			near->down = below < from[near->below] ? slot_home(plan, below, p->nr_words)
							       : near->below;
		if (!shard_near_next(near, shard))
			return false;
	} while (from[*shard] == from[*shard + 1]);
	return true;
}

static u32 claim_part(const struct shard_plan *plan, const struct slot_part *p, u32 cpu,
		      struct bounds of, u32 n, u32 *slots)
{
	const struct shard_slot *at = &plan->slot[cpu];
	const struct slot_own *own = slot_own_of(p->own, cpu);
	u32 spread = (u32)at->pos + at->shard, got = 0;
	bool few = p->nr_words < plan->nr_shards;
	struct shard_near_iter near;
	u32 shard = shard_near_begin(&near, plan, cpu);

	do {
		u32 word = spread, bit = spread & ((1u << p->shift) - 1);

		if (own->word && (p->row || shard == at->shard)) {
			word = (slot_own_slot(own->at) - p->first) >> p->shift;
			word -= p->row ? 0 : p->from[shard];
			bit = slot_own_bit(own->at);
		}
		got += take_shard(p, shard, word, bit, of, n - got, slots + got);
	} while (got < n &&
		 (few ? next_with_words(plan, p, &near, &shard) : shard_near_next(&near, &shard)));
	return got;
}

static u32 claim(struct slot_set *s, u32 cpu, u32 limit, u32 n, u32 *slots)
{
	/* Pairs with the release in slot_set_grow(): without it a part may be unset. */
	u32 parts = smp_load_acquire(&s->nr_parts), got = 0;
	struct bounds of = { limit, s->part[parts - 1]->first + s->part[parts - 1]->nr };

	for (u32 i = 0; i < parts && got < n; i++)
		got += claim_part(s->plan, s->part[i], cpu, of, n - got, slots + got);
	return got;
}

u32 slot_claim_set(struct slot_set *s, u32 cpu, u32 n, u32 *slots)
{
	return claim(s, cpu, SLOT_SET_MAX, n, slots);
}

/* Claim from the set, then from caches. */
static port_noinline u32 claim_anywhere(struct slot_set *s, u32 cpu, u32 n, u32 *slots)
{
	u32 got = slot_claim_set(s, cpu, n, slots);

	if (got < n && READ_ONCE(s->cached))
		got += slot_claim_cached(s, cpu, n - got, slots + got);
	return got;
}

s64 slot_claim_near(struct slot_set *s, u32 cpu)
{
	const struct slot_own *own = slot_own_of(s, cpu);
	u64 *word = own->word, at = own->at;
	u32 slot;

	/* Without a load before it, which would fetch the line shared. */
	if (word && port_test_and_clear64(word, slot_own_bit(at)))
		return slot_own_slot(at);
	return claim_anywhere(s, cpu, 1, &slot) ? (s64)slot : -1;
}

u32 slot_claim_n(struct slot_set *s, u32 cpu, u32 n, u32 *slots)
{
	return claim_anywhere(s, cpu, n, slots);
}

s64 slot_claim_limit(struct slot_set *s, u32 cpu, u32 limit)
{
	u32 slot;

	return claim(s, cpu, limit, 1, &slot) ? (s64)slot : -1;
}
