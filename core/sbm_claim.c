// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * No bit is claimed twice: a claim is an atomic operation that clears the bit and returns whether
 * it was set. Of all CPUs that clear it between two puts, one sees it set.
 *
 * A search ends, because @left loses a bit in each turn of take_one() and take_some(), and because
 * a walk visits each shard once. A search finds a bit that is set throughout the call. The summary,
 * if there is one, names the bit's shard. And the bit leaves @left only after an attempt to clear
 * the bit, which finds it set.
 */
#include "sbm_claim.h"
#include "shard_mask.h"
#include "shard_walk.h"

/* The first bit of @word at or after @pos, with wrap-around. */
static u64 next_bit(u64 word, u32 pos)
{
	u64 after = word & ~0ull << pos;

	if (after)
		word = after;
	return word & -word;
}

/* Return the bit nearest to a CPU in @word of its shard, which is not 0. */
static u64 nearest_bit(const struct shard_plan *plan, u32 cpu, u64 word)
{
	const struct shard_close *close = &plan->close[cpu];

	if (word & close->core)
		word &= close->core;
	else if (word & close->l2)
		word &= close->l2;
	return next_bit(word, plan->slot[cpu].pos);
}

/* The bit of a shard's @word, not 0, that a caller tries first. */
static u64 choose(const struct shard_plan *plan, u32 cpu, u32 shard, u64 word)
{
	const struct shard_slot *slot = &plan->slot[cpu];

	if (shard == slot->shard)
		return nearest_bit(plan, cpu, word);
	return next_bit(word, ((u32)slot->pos + slot->shard) % plan->shard[shard].nr_cpus);
}

static bool may_hold(const struct sbm *b, u32 shard)
{
	return !b->summary || shard_summary_test(b->summary, shard);
}

/* Claim one of the positions @left of a shard. */
static s64 take_one(struct sbm *b, u32 cpu, u32 shard, u64 left)
{
	u64 word, bit;

	while ((word = sbm_read_shard(b, shard) & left)) {
		u32 pos;

		bit = choose(b->plan, cpu, shard, word);
		pos = port_ctz64(bit);
		if (port_test_and_clear64(b->line[shard], pos))
			return b->cpus[shard][pos];
		left &= ~bit;
	}
	return -1;
}

/*
 * Claim the CPU's bit without a load before it, which would fetch the line shared. Reads the plan's
 * table of slots only if there is a summary.
 */
static port_always_inline bool take_own(struct sbm *b, u32 cpu)
{
	uintptr_t at = b->at[cpu];

	if (b->summary && !shard_summary_test(b->summary, b->plan->slot[cpu].shard))
		return false;
	return port_test_and_clear64(sbm_word(at), sbm_pos(at));
}

/* Claim the nearest set bit, by a walk over the shards. */
static port_noinline s64 search(struct sbm *b, const unsigned long *allowed, u32 from_cpu)
{
	struct shard_walk w;
	u64 word;
	u32 shard;

	shard_walk_begin(&w, b->plan, allowed, from_cpu);
	while (shard_walk_next(&w, &shard, &word)) {
		s64 cpu = may_hold(b, shard) ? take_one(b, from_cpu, shard, word) : -1;

		if (cpu >= 0)
			return cpu;
	}
	return -1;
}

s64 sbm_claim_and(struct sbm *b, const unsigned long *allowed, u32 from_cpu)
{
	if ((!allowed || shard_mask_test(allowed, from_cpu)) && take_own(b, from_cpu))
		return from_cpu;
	return search(b, allowed, from_cpu);
}

s64 sbm_claim_near(struct sbm *b, u32 from_cpu)
{
	return take_own(b, from_cpu) ? from_cpu : search(b, NULL, from_cpu);
}

/* Claim up to @n CPUs of a shard. */
static u32 take_some(struct sbm *b, u32 cpu, u32 shard, u32 n, u32 *cpus)
{
	u64 left = b->plan->shard[shard].valid, word;
	u32 got = 0;

	while (got < n && (word = sbm_read_shard(b, shard) & left)) {
		u64 want = 0, had;

		for (u32 i = got; i < n && word != want; i++)
			want |= choose(b->plan, cpu, shard, word & ~want);
		had = port_fetch_and64(b->line[shard], ~want) & want;
		left &= ~want;
		for (; had; had &= had - 1)
			cpus[got++] = b->cpus[shard][port_ctz64(had)];
	}
	return got;
}

u32 sbm_claim_n(struct sbm *b, u32 from_cpu, u32 n, u32 *cpus)
{
	struct shard_near_iter near;
	u32 shard = shard_near_begin(&near, b->plan, from_cpu), got = 0;

	do {
		if (may_hold(b, shard))
			got += take_some(b, from_cpu, shard, n - got, cpus + got);
	} while (got < n && shard_near_next(&near, &shard));
	return got;
}
