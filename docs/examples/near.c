// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Walks over all shards, nearest first: own LLC, own node, own package, all others. */
#include "example.h"

int main(int argc, char **argv)
{
	struct schedshard_plan *plan = example_plan(argc, argv);
	struct schedshard_near_iter walk;
	uint32_t cpu = plan->nr_cpus - 1;
	uint32_t shard = schedshard_near_begin(&walk, plan, cpu);

	printf("from CPU %u:", cpu);
	do {
		printf(" %u", shard);
	} while (schedshard_near_next(&walk, &shard));
	printf("\n");
	schedshard_plan_free(plan);
	return 0;
}
