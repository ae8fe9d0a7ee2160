// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The walks of the sharded bitmap. A walk ends and does not skip a shard, because sbm_chunk()
 * increments @step in every turn, whatever the shard's word is. sbm_chunk() returns only with bits
 * to visit or at the last step.
 *
 * A walk visits each CPU once. If it starts at a position other than 0, it takes nr_shards + 1
 * steps. Its first and last step see the start's shard through complementary masks, and each step
 * in between sees another shard. Writers use only the plan's bits, so no step sees a bit beyond a
 * shard's CPUs. shard_summary.c proves that a shard whose summary bits are clear was empty.
 */
#include "sbm.h"
#include "shard_lines.h"

struct sbm *sbm_alloc(const struct shard_plan *plan, unsigned int flags)
{
	size_t tables = shard_whole_lines(sizeof(struct sbm) + plan->nr_cpus * sizeof(uintptr_t) +
					  plan->nr_shards * sizeof(u64 *));
	size_t bytes = tables + (plan->nr_possible < plan->nr_cpus ? PORT_CACHELINE : 0);
	struct sbm *b = (struct sbm *)port_alloc(bytes, -1);
	u64 **line;

	if (!b)
		return NULL;
	line = (u64 **)(b->at + plan->nr_cpus);
	b->line = line;
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
		b->at[cpu] = plan->slot[cpu].possible
				     ? (uintptr_t)line[plan->slot[cpu].shard] + plan->slot[cpu].pos
				     : (uintptr_t)b + tables;
	return b;
fail:
	sbm_destroy(b);
	return NULL;
}

void sbm_destroy(struct sbm *b)
{
	if (!b)
		return;
	shard_summary_free(b->summary);
	shard_lines_free(b->plan, b->line);
	port_free(b, b->bytes);
}

/* Checks @mask first, and so reads no line of a shard without allowed CPUs. */
struct sbm_chunk sbm_chunk(const struct sbm *b, const unsigned long *mask, u32 step, u32 start,
			   u32 start_pos)
{
	u32 nr = b->nr_shards, steps = nr + (start_pos > 0);
	u64 from_start = ~0ull << start_pos, word = 0;

	while (step < steps && !word) {
		u32 shard = start + step++;
		u64 allowed = ~0ull;

		if (shard >= nr)
			shard -= nr;
		if (shard == start)
			allowed = step == 1 ? from_start : ~from_start;
		if (mask)
			allowed &= shard_gather(b->plan, shard, mask);
		if (allowed && (!b->summary || shard_summary_test(b->summary, shard)))
			word = sbm_read_shard(b, shard) & allowed;
	}
	return (struct sbm_chunk){ word, step };
}

bool sbm_empty(const struct sbm *b)
{
	return !sbm_chunk(b, NULL, 0, 0, 0).word;
}

bool sbm_seems_empty(const struct sbm *b)
{
	return shard_summary_next(b->summary, 0, b->nr_shards) == b->nr_shards;
}
