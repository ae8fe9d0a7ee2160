// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * No slot is claimed twice, and a search ends, as in slot_set.c: of the bits of a word that a claim
 * may take, it tries each once.
 *
 * A limit gives slots [a, b) of a set of @size floor(limit * b / size) - floor(limit * a / size) of
 * the limited ones: a word's first ones. Over all words this adds up to @limit, and no word gets
 * more than it has while @limit is at most @size.
 */
#include "slot_more.h"

/* The bits of a word that count for a limit. */
static u64 within(const struct slot_part *p, u32 nr, u32 limit, u32 size)
{
	u32 begin = p->first + (nr << p->shift), end = begin + (1u << p->shift), n;

	if (limit >= size)
		return ~0ull;
	if (end > p->first + p->nr)
		end = p->first + p->nr;
	n = (u32)(port_div64((u64)limit * end, size) - port_div64((u64)limit * begin, size));
	return n ? ~0ull >> (64 - n) : 0;
}

/* The lowest @n bits of @word, or all. */
static u64 lowest(u64 word, u32 n)
{
	u64 rest = word;

	while (rest && n--)
		rest &= rest - 1;
	return word & ~rest;
}

/* Claim up to @n of the slots @left of a word, from a bit on, around. */
static u32 take_some(const struct slot_part *p, u32 nr, u64 left, u32 from, u32 n, u32 *slots)
{
	u64 word;
	u32 got = 0;

	while (got < n && (word = READ_ONCE(*p->word[nr]) & left)) {
		u64 after = word & ~0ull << from;
		u64 want = lowest(after ? after : word, n - got), had = want;

		if (n == 1) /* not a loop of compare-and-swap, see port_test_and_clear64() */
			had = port_test_and_clear64(p->word[nr], port_ctz64(want)) ? want : 0;
		else
			had &= port_fetch_and64(p->word[nr], ~want);
		left &= ~want;
		for (; had; had &= had - 1)
			slots[got++] = p->first + (nr << p->shift) + port_ctz64(had);
	}
	return got;
}

static u32 claim_part(const struct slot_set *s, const struct slot_part *p, u32 cpu, u32 limit,
		      u32 n, u32 *slots)
{
	const struct shard_slot *at = &s->plan->slot[cpu];
	u32 bits = 1u << p->shift, size = slot_set_size(s), got = 0;
	struct shard_near_iter near;
	u32 shard = shard_near_begin(&near, s->plan, cpu);

	do {
		u32 begin = p->from[shard], words = p->from[shard + 1] - begin;
		u32 first = (u32)at->pos + at->shard, from = first & (bits - 1);

		if (shard == at->shard && p->own[cpu] < p->nr) {
			first = (p->own[cpu] >> p->shift) - begin;
			from = p->own[cpu] & (bits - 1);
		}
		for (u32 i = 0; i < words && got < n; i++, from = 0) {
			u32 nr = begin + (first + i) % words;

			got += take_some(p, nr, within(p, nr, limit, size), from, n - got,
					 slots + got);
		}
	} while (got < n && shard_near_next(&near, &shard));
	return got;
}

static u32 claim(struct slot_set *s, u32 cpu, u32 limit, u32 n, u32 *slots)
{
	/* Pairs with the release in slot_set_grow(): without it a part may be unset. */
	u32 parts = smp_load_acquire(&s->nr_parts), got = 0;

	for (u32 i = 0; i < parts && got < n; i++)
		got += claim_part(s, s->part[i], cpu, limit, n - got, slots + got);
	return got;
}

u32 slot_claim_n(struct slot_set *s, u32 cpu, u32 n, u32 *slots)
{
	return claim(s, cpu, SLOT_SET_MAX, n, slots);
}

s64 slot_claim_limit(struct slot_set *s, u32 cpu, u32 limit)
{
	u32 slot;

	return claim(s, cpu, limit, 1, &slot) ? (s64)slot : -1;
}
