// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A byte per CPU: here the priority that each CPU runs at, 0 idle to 100. A set is a plain store;
 * the caller ensures that a CPU's byte has one writer at a time.
 */
#include "example.h"

int main(int argc, char **argv)
{
	struct schedshard_plan *plan = example_plan(argc, argv);
	struct schedshard_bytemap *prio = schedshard_bytemap_alloc(plan, 50);
	unsigned long *allowed = example_mask(plan), *found = example_mask(plan);
	uint32_t here = plan->idx_to_cpu[0], far_cpu = plan->idx_to_cpu[plan->nr_possible - 1];
	int64_t cpu;
	int lowest;

	example_need(prio, "out of memory");
	schedshard_bytemap_set(prio, here, 90);
	schedshard_bytemap_set(prio, far_cpu, 10);
	printf("CPU %u runs at %u\n", here, schedshard_bytemap_get(prio, here));

	/* which CPU is below 60? the nearest one will do, and the search stops there */
	if (schedshard_bytemap_find_below(prio, 60, NULL, here, NULL, &cpu))
		printf("below 60, nearest: CPU %lld\n", (long long)cpu);

	/* all CPUs at the lowest priority, if that is below 60 */
	lowest = schedshard_bytemap_find_min(prio, 60, NULL, here, found, &cpu);
	printf("lowest: %d, at CPU %lld\n", lowest, (long long)cpu);

	/* a task that may use few CPUs costs only the lines of those */
	example_mask_set(allowed, here);
	printf("allowed CPUs at 90: %u\n",
	       schedshard_bytemap_find_equal(prio, 90, allowed, here, found, NULL));
	printf("allowed CPUs below 60: %u\n",
	       schedshard_bytemap_find_below(prio, 60, allowed, here, NULL, NULL));

	free(found);
	free(allowed);
	schedshard_bytemap_free(prio);
	schedshard_plan_free(plan);
	return 0;
}
