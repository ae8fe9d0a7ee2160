// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Lookups in a built plan.
 *
 * Gather and scatter are inverse to each other on the CPUs of a shard because the
 * shard's runs cut its positions 0..nr_cpus-1 into ranges that do not overlap, each of
 * which stands for consecutive CPU numbers of one word of a mask (shard_plan_build.c makes
 * them that way). In such a word bit and position differ by a constant, so that one turn of
 * the whole word brings all bits of the run to their positions at once.
 *
 * The walk from near to far visits each shard once: LLC, node, package and machine are
 * ranges of shard numbers, each containing the one before. The walk keeps the range that
 * it has visited, [first, last], and adds the next larger one's part above it, then its part
 * below. shard_near_rank() counts the same order without walking.
 */
#include "shard_plan.h"
#include "shard_mask.h"

const char *shard_plan_strerror(enum shard_plan_err err)
{
	switch (err) {
	case SHARD_PLAN_OK:
		return "no error";
	case SHARD_PLAN_NO_CPUS:
		return "the topology has no CPUs";
	case SHARD_PLAN_NO_POSSIBLE:
		return "no CPU of the topology is possible";
	case SHARD_PLAN_TOO_MANY_CPUS:
		return "more CPU numbers than a plan can hold (4194240)";
	case SHARD_PLAN_TOO_MANY_SHARDS:
		return "more than 65535 shards";
	case SHARD_PLAN_CAP_RANGE:
		return "shard cap out of range 1..64";
	case SHARD_PLAN_LLC_SPANS_PACKAGES:
		return "one last-level cache in two packages";
	case SHARD_PLAN_L2_SPANS_LLCS:
		return "one L2 cache in two last-level caches, nodes or packages";
	case SHARD_PLAN_CORE_SPANS_LLCS:
		return "one core in two L2 caches, last-level caches, nodes or packages";
	case SHARD_PLAN_CYCLIC:
		return "cyclic topology: a node in two packages, one of which is in two nodes";
	case SHARD_PLAN_NO_MEMORY:
		return "out of memory";
	}
	return "unknown error";
}

void shard_plan_free(struct shard_plan *plan)
{
	if (plan)
		port_free(plan, plan->bytes);
}

u64 shard_gather(const struct shard_plan *plan, u32 shard, const unsigned long *mask)
{
	const struct shard_run *run = plan->shard[shard].run, *end = plan->shard[shard].end_run;
	u64 word = 0;

	for (; run < end; run++)
		word |= shard_run_positions(run, READ_ONCE(mask[run->word]));
	return word;
}

void shard_scatter(const struct shard_plan *plan, u32 shard, u64 word, unsigned long *mask)
{
	shard_runs_scatter(plan->shard[shard].run, plan->shard[shard].end_run, word, mask);
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
	return shard_near_next(it, shard); /* there is one: they are larger than those before */
}

u64 shard_near_rank(const struct shard_plan *plan, u32 own, u32 shard)
{
	const struct shard_span *near = plan->shard[own].near;
	u64 level = 1;

	if (shard == own)
		return 0;
	for (; shard < near->first || shard > near->last; near++) /* the last one has all */
		level++;
	/* Above first, then below, both rising. */
	return level << 32 | (shard > own ? shard - own : shard + plan->nr_shards);
}
