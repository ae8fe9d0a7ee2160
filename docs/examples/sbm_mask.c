// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Between a sharded set and an ordinary mask, whole or one shard at a time. */
#include "example.h"

int main(int argc, char **argv)
{
	struct shard_plan *plan = example_plan(argc, argv);
	struct sbm *set = sbm_alloc(plan, 0);
	unsigned long *mask = example_mask(plan), *copy = example_mask(plan);
	u64 word;

	example_need(set, "out of memory");
	/* the first 12 CPU numbers */
	for (u32 cpu = 0; cpu < 12 && cpu < plan->nr_cpus; cpu++)
		example_mask_set(mask, cpu);

	sbm_from_mask(set, mask);
	printf("weight: %u\n", sbm_weight(set));
	sbm_clear(set, 3);
	sbm_to_mask(set, copy);
	printf("word 0 of the mask: %#lx\n", copy[0]);

	/* the bits of one shard, by position in it */
	word = shard_gather(plan, 0, mask);
	printf("shard 0: %#llx\n", (unsigned long long)word);
	/* and added back to a mask */
	copy[0] = 0;
	shard_scatter(plan, 0, word, copy);
	printf("word 0 of the mask: %#lx\n", copy[0]);

	free(copy);
	free(mask);
	sbm_free(set);
	shard_plan_free(plan);
	return 0;
}
