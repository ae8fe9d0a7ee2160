// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Walks over a set: in index order, from any CPU on, and with an ordinary mask. */
#include "example.h"

int main(int argc, char **argv)
{
	struct schedshard_plan *plan = example_plan(argc, argv);
	struct schedshard_sbm *set = schedshard_sbm_alloc(plan, 0);
	unsigned long *allowed = example_mask(plan);
	uint32_t cpu, start = plan->idx_to_cpu[plan->nr_possible / 2];
	int64_t next;

	example_need(set, "out of memory");
	/* set every 20th CPU in index order, and allow every other one of these */
	for (uint32_t idx = 0; idx < plan->nr_possible; idx += 20) {
		schedshard_sbm_set(set, plan->idx_to_cpu[idx]);
		if (idx % 40 == 0)
			example_mask_set(allowed, plan->idx_to_cpu[idx]);
	}

	printf("all:");
	schedshard_sbm_for_each_cpu(cpu, it, set)
		printf(" %u", cpu);
	printf("\nfrom CPU %u on, once around:", start);
	schedshard_sbm_for_each_cpu_wrap(cpu, it, set, start)
		printf(" %u", cpu);
	/* reads only the lines of shards that have an allowed CPU */
	printf("\nallowed:");
	schedshard_sbm_for_each_cpu_and(cpu, it, set, allowed)
		printf(" %u", cpu);
	printf("\nallowed, from CPU %u on:", start);
	schedshard_sbm_for_each_cpu_and_wrap(cpu, it, set, allowed, start)
		printf(" %u", cpu);

	/* one step per call, where the CPU found is the only state */
	printf("\nstep by step:");
	for (next = schedshard_sbm_first_cpu_wrap(set, start); next >= 0;
	     next = schedshard_sbm_next_cpu_wrap(set, (uint32_t)next, start))
		printf(" %u", (uint32_t)next);
	printf("\n");

	free(allowed);
	schedshard_sbm_destroy(set);
	schedshard_plan_free(plan);
	return 0;
}
