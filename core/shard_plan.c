// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Lookups in a plan.
 *
 * shard_gather() and shard_runs_scatter() are inverse to each other on the CPUs of a shard. The
 * shard's runs cut the positions 0..nr_cpus-1 into disjoint ranges. Each range contains consecutive
 * CPU numbers of one word of a cpumask (shard_plan_make.c). Within a range bit number and position
 * differ by a constant, so one rotation of the word moves all bits of the run to their positions.
 *
 * The walk from near to far visits each shard once, because LLC, node, package and machine are
 * ranges of shard numbers, each of which contains the one before. The walk keeps the visited range
 * [first, last]. To it the walk adds the part of the next larger range (such as the node) that lies
 * above, then the part below.
 */
#include "shard_plan.h"
#include "shard_mask.h"

u64 shard_gather(const struct shard_plan *plan, u32 shard, const unsigned long *mask)
{
	const struct shard_run *run = plan->shard[shard].run, *end = plan->shard[shard].end_run;
	u64 word = 0;

	for (; run < end; run++)
		word |= shard_run_positions(run, READ_ONCE(mask[run->word]));
	return word;
}

u32 shard_near_begin(struct shard_near_iter *it, const struct shard_plan *plan, u32 cpu)
{
	u32 own = plan->slot[cpu].shard;
	const struct shard *shard = &plan->shard[own];

	it->wider = shard->near;
	it->end = shard->near + shard->nr_near;
	it->up = own;
	it->last = own;
	it->down = own;
	it->below = own;
	it->first = own;
	return own;
}

bool shard_near_wider(struct shard_near_iter *it, u32 *shard)
{
	if (it->wider == it->end)
		return false;
	it->below = it->first;
	it->first = it->wider->first;
	it->down = it->first;
	it->last = it->wider->last;
	it->wider++;
	return shard_near_next(it, shard); /* there is one: each range is larger than the last */
}
