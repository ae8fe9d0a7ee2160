// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* A walk over all shards, nearest first: own LLC, own node, own package, the rest. */
#include "example.h"

int main(int argc, char **argv)
{
	struct shard_plan *plan = example_plan(argc, argv);
	struct shard_near_iter walk;
	u32 cpu = plan->nr_cpus - 1;
	u32 shard = shard_near_begin(&walk, plan, cpu);

	printf("from CPU %u:", cpu);
	do {
		printf(" %u", shard);
	} while (shard_near_next(&walk, &shard));
	printf("\n");
	shard_plan_free(plan);
	return 0;
}
