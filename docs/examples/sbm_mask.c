// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Converts a sharded set to an ordinary mask and back, as a whole or one shard at a time. */
#include "example.h"

int main(int argc, char **argv)
{
	struct schedshard_plan *plan = example_plan(argc, argv);
	struct schedshard_sbm *set = schedshard_sbm_alloc(plan, 0);
	unsigned long *mask = example_mask(plan), *copy = example_mask(plan);
	uint64_t word;

	example_need(set, "out of memory");
	/* the first 12 CPU numbers */
	for (uint32_t cpu = 0; cpu < 12 && cpu < plan->nr_cpus; cpu++)
		example_mask_set(mask, cpu);

	schedshard_sbm_from_mask(set, mask);
	printf("weight: %u\n", schedshard_sbm_weight(set));
	schedshard_sbm_clear(set, 3);
	schedshard_sbm_to_mask(set, copy);
	printf("word 0 of the mask: %#lx\n", copy[0]);

	/* get the mask's bits of one shard, by position in the shard */
	word = schedshard_gather(plan, 0, mask);
	printf("shard 0: %#llx\n", (unsigned long long)word);
	/* and add them to a mask again */
	copy[0] = 0;
	schedshard_scatter(plan, 0, word, copy);
	printf("word 0 of the mask: %#lx\n", copy[0]);

	free(copy);
	free(mask);
	schedshard_sbm_destroy(set);
	schedshard_plan_free(plan);
	return 0;
}
