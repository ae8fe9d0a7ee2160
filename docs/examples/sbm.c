// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Sets, clears and tests a bit per CPU. Any thread may do so at any time. */
#include "example.h"

int main(int argc, char **argv)
{
	struct schedshard_plan *plan = example_plan(argc, argv);
	struct schedshard_sbm *set = schedshard_sbm_alloc(plan, 0);
	uint32_t cpu = plan->idx_to_cpu[0], last = plan->idx_to_cpu[plan->nr_possible - 1];

	example_need(set, "out of memory");
	printf("empty: %d\n", schedshard_sbm_empty(set));

	/* these are not ordered with other memory accesses ... */
	schedshard_sbm_set(set, cpu);
	schedshard_sbm_set(set, last);
	printf("CPU %u: %d, CPU %u: %d\n", cpu, schedshard_sbm_test(set, cpu), last,
	       schedshard_sbm_test(set, last));
	printf("weight: %u\n", schedshard_sbm_weight(set));

	schedshard_sbm_clear(set, last);
	printf("CPU %u: %d\n", last, schedshard_sbm_test(set, last));

	/* ... but these are full barriers, and only one of several competing threads wins */
	printf("got it: %d\n", schedshard_sbm_test_and_clear(set, cpu));
	printf("got it again: %d\n", schedshard_sbm_test_and_clear(set, cpu));
	printf("was set before: %d\n", schedshard_sbm_test_and_set(set, cpu));

	schedshard_sbm_destroy(set);
	schedshard_plan_free(plan);
	return 0;
}
