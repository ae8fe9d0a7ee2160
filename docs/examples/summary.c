// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A summary says which lines may have a bit set, so a search reads one shared word and the lines of
 * occupied shards instead of all lines. That pays off for sets that are mostly empty.
 */
#include "example.h"

static uint32_t occupied(const struct schedshard_sbm *set)
{
	uint32_t nr = 0;

	for (uint32_t shard = 0; shard < set->nr_shards; shard++)
		nr += schedshard_summary_test(set->summary, shard);
	return nr;
}

int main(int argc, char **argv)
{
	struct schedshard_plan *plan = example_plan(argc, argv);
	struct schedshard_sbm *set = schedshard_sbm_alloc(plan, SCHEDSHARD_SBM_SUMMARY);
	uint32_t cpu = plan->idx_to_cpu[plan->nr_possible - 1];

	example_need(set, "out of memory");
	printf("lines to read: %u\n", occupied(set));
	schedshard_sbm_set(set, cpu);
	printf("one CPU set: %u\n", occupied(set));
	/* a clear does not change the summary, so it costs no more than without one ... */
	schedshard_sbm_clear(set, cpu);
	printf("cleared: %u\n", occupied(set));
	printf("seems empty: %d\n", schedshard_sbm_seems_empty(set));
	/* ... but the next search that finds the line empty corrects the summary */
	printf("empty: %d\n", schedshard_sbm_empty(set));
	printf("searched: %u\n", occupied(set));
	printf("seems empty: %d\n", schedshard_sbm_seems_empty(set));

	schedshard_sbm_destroy(set);
	schedshard_plan_free(plan);
	return 0;
}
