// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The walks of the sharded bitmap.
 *
 * All of them end and skip nothing, empty shards included, because they all go through
 * sbm_chunk_next() (or its twin in sbm_iter_next()) or chunk_from(): each of their loops
 * counts @step up by one in every turn, whatever the shard's word is, and leaves only with
 * bits left to visit, or at the last step. (The published prototype went on after a word
 * with bits and so came out with the last word whatever that was; its caller then started at
 * the same place again.)
 *
 * Wrap-around visits each CPU once: a walk that starts at (shard, position) takes
 * nr_shards + 1 steps when the position is not 0, and its first and last step see the
 * start's shard through masks that are each other's complement. The steps in between see
 * each other shard once.
 *
 * Positions beyond a shard's CPUs are never set: sbm_set() and the like set only bits of
 * the plan's table, sbm_from_mask() only what shard_gather() returns.
 *
 * With a summary, a shard whose summary bits are clear is skipped. That its line was empty
 * then is shown in shard_summary.c. A line that is read as 0 although the summary calls it
 * occupied is cleaned up by whoever read it, in whichever walk.
 */
#include "sbm.h"
#include "shard_lines.h"
#include "shard_mask.h"
#include "shard_walk.h"

static size_t sbm_bytes(const struct shard_plan *plan)
{
	return sizeof(struct sbm) + plan->nr_cpus * sizeof(u64 *) + plan->nr_shards * sizeof(u64 *);
}

struct sbm *sbm_alloc(const struct shard_plan *plan, unsigned int flags)
{
	size_t bytes = sbm_bytes(plan);
	struct sbm *b = (struct sbm *)port_alloc(bytes, -1);
	u64 **line;

	if (!b)
		return NULL;
	line = b->word + plan->nr_cpus;
	b->line = line;
	b->bit = plan->bit;
	b->cpus = plan->shard_cpus;
	b->plan = plan;
	b->nr_shards = plan->nr_shards;
	b->bytes = bytes;
	if (!shard_lines_alloc(plan, line))
		goto fail;
	if (flags & SBM_SUMMARY) {
		b->summary = shard_summary_alloc(plan);
		if (!b->summary)
			goto fail;
	}
	for (u32 cpu = 0; cpu < plan->nr_cpus; cpu++)
		if (plan->slot[cpu].possible)
			b->word[cpu] = line[plan->slot[cpu].shard];
	return b;
fail:
	sbm_free(b);
	return NULL;
}

void sbm_free(struct sbm *b)
{
	if (!b)
		return;
	shard_summary_free(b->summary);
	shard_lines_free(b->plan, b->line);
	port_free(b, b->bytes);
}

/* One snapshot of a shard; an empty one is reported to the summary. */
static inline u64 read_shard(const struct sbm *b, u32 shard)
{
	u64 word = READ_ONCE(*b->line[shard]);

	if (!word && b->summary)
		shard_summary_clean(b->summary, shard, b->line[shard]);
	return word;
}

/* Not inlined: its saved registers would be paid for by every walk without a summary. */
static port_noinline struct sbm_chunk chunk_next_summary(const struct sbm *b, u32 step)
{
	struct sbm_chunk c = { 0, step };

	for (; c.step < b->nr_shards; c.step++) {
		c.step = shard_summary_next(b->summary, (u32)c.step, b->nr_shards);
		if (c.step == b->nr_shards)
			break;
		c.word = read_shard(b, (u32)c.step);
		if (c.word) {
			c.step++;
			break;
		}
	}
	return c;
}

/* A loop of its own without a summary: an empty shard then costs 7 instructions on x86, not 18. */
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

/*
 * The next step of a walk that starts at a position and goes around; @mask is NULL or what
 * to intersect with, and is looked at before the line: a line without allowed CPUs is not
 * read at all.
 */
static port_always_inline struct sbm_chunk
chunk_from(const struct sbm *b, const unsigned long *mask, u32 step, u32 start, u32 start_pos)
{
	u32 nr = b->nr_shards, steps = nr + (start_pos > 0);
	u64 from_start = ~0ull << start_pos;
	struct sbm_chunk c = { 0, 0 };

	while (step < steps) {
		u32 shard = start + step++;
		u64 allowed = ~0ull;

		if (shard >= nr)
			shard -= nr;
		if (mask) {
			allowed = shard_gather(b->plan, shard, mask);
			if (!allowed)
				continue;
		}
		if (b->summary && !shard_summary_test(b->summary, shard))
			continue;
		c.word = read_shard(b, shard) & allowed;
		if (shard == start)
			c.word &= step == 1 ? from_start : ~from_start;
		if (c.word)
			break;
	}
	c.step = step;
	return c;
}

struct sbm_chunk sbm_chunk_wrap(const struct sbm *b, u32 step, u32 start, u32 start_pos)
{
	return chunk_from(b, NULL, step, start, start_pos);
}

struct sbm_chunk sbm_chunk_and(const struct sbm *b, const unsigned long *mask, u32 step, u32 start,
			       u32 start_pos)
{
	return chunk_from(b, mask, step, start, start_pos);
}

bool sbm_empty(const struct sbm *b)
{
	return !sbm_chunk_next(b, 0).word;
}

bool sbm_seems_empty(const struct sbm *b)
{
	return shard_summary_next(b->summary, 0, b->nr_shards) == b->nr_shards;
}

u32 sbm_weight(const struct sbm *b)
{
	return sbm_weight_upto(b, ~0u);
}

u32 sbm_weight_upto(const struct sbm *b, u32 limit)
{
	struct sbm_chunk c = { 0, 0 };
	u32 n = 0;

	while (n < limit) {
		c = sbm_chunk_next(b, (u32)c.step);
		if (!c.word)
			return n;
		n += port_popcount64(c.word);
	}
	return limit;
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
		c.word = read_shard(b, shard) & ~0ull << slot->pos;
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

s64 sbm_near_cpu(const struct sbm *b, const unsigned long *allowed, u32 from_cpu)
{
	struct shard_walk w;
	u64 word;
	u32 shard;

	shard_walk_begin(&w, b->plan, allowed, from_cpu);
	while (shard_walk_next(&w, &shard, &word)) {
		if (b->summary && !shard_summary_test(b->summary, shard))
			continue;
		word &= read_shard(b, shard);
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
