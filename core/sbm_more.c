// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Walks end and skip nothing, as in sbm.c. sbm_iter_next_all() is sbm_chunk_next(), inlined.
 * sbm_from_mask() sets no position beyond a shard's CPUs, because shard_gather() returns none.
 *
 * The barrier S2 of shard_summary_note() orders only an atomic operation. So after the plain store
 * of sbm_from_mask(), shard_summary_note() may read the summary while the new bit is still in the
 * store buffer. A search that cleans the summary would then clear the summary bit and miss the new
 * bit. Therefore sbm_more.h excludes searches.
 */
#include "sbm_more.h"
#include "shard_mask.h"
#include "shard_topo.h"
#include "shard_walk.h"

/* Not inlined: else every walk without a summary would save its registers. */
static port_noinline struct sbm_chunk chunk_next_summary(const struct sbm *b, u32 step)
{
	struct sbm_chunk c = { 0, step };

	for (; c.step < b->nr_shards; c.step++) {
		c.step = shard_summary_next(b->summary, (u32)c.step, b->nr_shards);
		if (c.step == b->nr_shards)
			break;
		c.word = sbm_read_shard(b, (u32)c.step);
		if (c.word) {
			c.step++;
			break;
		}
	}
	return c;
}

/* Without a summary a separate loop: an empty shard then costs 7 instructions on x86, not 18. */
struct sbm_chunk sbm_chunk_next(const struct sbm *b, u32 step)
{
	u64 *const *line = b->line;
	u64 nr = b->nr_shards;

	if (b->summary)
		return chunk_next_summary(b, step);
	for (u64 i = step; i < nr; i++) {
		u64 word = READ_ONCE(*line[i]);

		if (word)
			return (struct sbm_chunk){ word, i + 1 };
	}
	return (struct sbm_chunk){ 0, nr };
}

u32 sbm_weight(const struct sbm *b)
{
	struct sbm_chunk c = sbm_chunk_next(b, 0);
	u32 n = 0;

	for (; c.word; c = sbm_chunk_next(b, (u32)c.step))
		n += port_popcount64(c.word);
	return n;
}

/* First set index in [@idx, @end), -1 when there is none. */
static s64 next_idx_before(const struct sbm *b, u32 idx, u32 end)
{
	const struct shard_slot *slot;
	struct sbm_chunk c;
	u32 shard;

	if (idx >= end)
		return -1;
	slot = &b->plan->slot[b->plan->idx_to_cpu[idx]];
	shard = slot->shard;
	c.word = 0;
	if (!b->summary || shard_summary_test(b->summary, shard))
		c.word = sbm_read_shard(b, shard) & ~0ull << slot->pos;
	if (!c.word) {
		c = sbm_chunk_next(b, shard + 1);
		if (!c.word)
			return -1;
		shard = (u32)c.step - 1;
	}
	idx = b->plan->shard[shard].first_idx + port_ctz64(c.word);
	return idx < end ? (s64)idx : -1;
}

static s64 cpu_of(const struct sbm *b, s64 idx)
{
	return idx < 0 ? -1 : (s64)b->plan->idx_to_cpu[idx];
}

s64 sbm_next_idx(const struct sbm *b, u32 idx)
{
	return next_idx_before(b, idx, b->plan->nr_possible);
}

s64 sbm_first_cpu(const struct sbm *b)
{
	return cpu_of(b, sbm_next_idx(b, 0));
}

s64 sbm_next_cpu(const struct sbm *b, u32 cpu)
{
	return cpu_of(b, sbm_next_idx(b, b->plan->slot[cpu].idx + 1));
}

/* First set index in [@idx, nr_possible), then [0, @start); @idx is at or after @start. */
static s64 next_idx_wrap(const struct sbm *b, u32 idx, u32 start)
{
	s64 found = sbm_next_idx(b, idx);

	return found < 0 ? next_idx_before(b, 0, start) : found;
}

s64 sbm_first_cpu_wrap(const struct sbm *b, u32 start)
{
	u32 idx = b->plan->slot[start].idx;

	return cpu_of(b, next_idx_wrap(b, idx, idx));
}

s64 sbm_next_cpu_wrap(const struct sbm *b, u32 cpu, u32 start)
{
	u32 idx = b->plan->slot[cpu].idx + 1, start_idx = b->plan->slot[start].idx;

	/* Below the start the walk has wrapped already and ends there. */
	if (idx <= start_idx)
		return cpu_of(b, next_idx_before(b, idx, start_idx));
	return cpu_of(b, next_idx_wrap(b, idx, start_idx));
}

static bool is_set(const struct sbm *b, u32 cpu)
{
	return (!b->summary || shard_summary_test(b->summary, b->plan->slot[cpu].shard)) &&
	       sbm_test(b, cpu);
}

s64 sbm_near_search(const struct sbm *b, const unsigned long *allowed, u32 from_cpu)
{
	struct shard_walk w;
	u64 word;
	u32 shard;

	if ((!allowed || shard_mask_test(allowed, from_cpu)) && is_set(b, from_cpu))
		return from_cpu;
	shard_walk_begin(&w, b->plan, allowed, from_cpu);
	while (shard_walk_next(&w, &shard, &word)) {
		if (b->summary && !shard_summary_test(b->summary, shard))
			continue;
		word &= sbm_read_shard(b, shard);
		if (word)
			return cpu_of(b, b->plan->shard[shard].first_idx + port_ctz64(word));
	}
	return -1;
}

void sbm_to_mask(const struct sbm *b, unsigned long *mask)
{
	shard_mask_zero(mask, b->plan->nr_cpus);
	for (u32 shard = 0; shard < b->nr_shards; shard++) {
		u64 word = READ_ONCE(*b->line[shard]);

		if (word)
			shard_scatter(b->plan, shard, word, mask);
	}
}

void sbm_from_mask(struct sbm *b, const unsigned long *mask)
{
	for (u32 shard = 0; shard < b->nr_shards; shard++) {
		u64 word = shard_gather(b->plan, shard, mask);

		WRITE_ONCE(*b->line[shard], word);
		if (word && b->summary)
			shard_summary_note(b->summary, shard);
	}
}
