// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* A bit a CPU: set, clear and test, from any thread at any time. */
#include "example.h"

int main(int argc, char **argv)
{
	struct shard_plan *plan = example_plan(argc, argv);
	struct sbm *set = sbm_alloc(plan, 0);
	u32 cpu = plan->idx_to_cpu[0], last = plan->idx_to_cpu[plan->nr_possible - 1];

	example_need(set, "out of memory");
	printf("empty: %d\n", sbm_empty(set));

	/* no order with other memory accesses ... */
	sbm_set(set, cpu);
	sbm_set(set, last);
	printf("CPU %u: %d, CPU %u: %d\n", cpu, sbm_test(set, cpu), last, sbm_test(set, last));
	printf("weight: %u\n", sbm_weight(set));
	/* "at least one?" need not count them all */
	printf("weight up to 1: %u\n", sbm_weight_upto(set, 1));

	sbm_clear(set, last);
	printf("CPU %u: %d\n", last, sbm_test(set, last));

	/* ... and these are full barriers: one of several competing threads gets it */
	printf("got it: %d\n", sbm_test_and_clear(set, cpu));
	printf("got it again: %d\n", sbm_test_and_clear(set, cpu));
	printf("was set before: %d\n", sbm_test_and_set(set, cpu));

	sbm_free(set);
	shard_plan_free(plan);
	return 0;
}
