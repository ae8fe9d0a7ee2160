// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A summary above the lines: a search of an almost empty set reads one shared word and the lines of
 * occupied shards, instead of all lines. It pays for sets that are mostly empty.
 */
#include "example.h"

static u32 occupied(const struct sbm *set)
{
	u32 nr = 0;

	for (u32 shard = 0; shard < set->nr_shards; shard++)
		nr += shard_summary_test(set->summary, shard);
	return nr;
}

int main(int argc, char **argv)
{
	struct shard_plan *plan = example_plan(argc, argv);
	struct sbm *set = sbm_alloc(plan, SBM_SUMMARY);
	u32 cpu = plan->idx_to_cpu[plan->nr_possible - 1];

	example_need(set, "out of memory");
	printf("lines to read: %u\n", occupied(set));
	sbm_set(set, cpu);
	printf("one CPU set: %u\n", occupied(set));
	/* a clear leaves the summary alone: it costs no more than without one ... */
	sbm_clear(set, cpu);
	printf("cleared: %u\n", occupied(set));
	printf("seems empty: %d\n", sbm_seems_empty(set));
	/* ... the next search that finds the line empty corrects it */
	printf("empty: %d\n", sbm_empty(set));
	printf("searched: %u\n", occupied(set));
	printf("seems empty: %d\n", sbm_seems_empty(set));

	sbm_free(set);
	shard_plan_free(plan);
	return 0;
}
