// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A counter with a line per shard, which counts items that belong to CPUs. Each item is added and
 * removed under the number of its CPU ("paired use"), so schedshard_counter_is_zero() and
 * schedshard_counter_more_than() are exact.
 */
#include "example.h"

/* counts in one place until it is attached to a plan */
static struct schedshard_counter items = SCHEDSHARD_COUNTER_INIT;

int main(int argc, char **argv)
{
	struct schedshard_plan *plan;
	uint32_t here, there;

	schedshard_counter_inc(&items, 0);
	printf("without a plan: %lld\n", (long long)schedshard_counter_sum(&items));

	plan = example_plan(argc, argv);
	example_need(schedshard_counter_attach(&items, plan), "out of memory");
	here = plan->idx_to_cpu[0];
	there = plan->idx_to_cpu[plan->nr_possible - 1];
	schedshard_counter_inc(&items, here);
	schedshard_counter_add(&items, there, 5);
	printf("with one: %lld\n", (long long)schedshard_counter_sum(&items));

	/* these read the CPU's own line first, and stop as soon as the answer is known */
	printf("more than 1: %d\n", schedshard_counter_more_than(&items, there, 1));
	printf("more than 7: %d\n", schedshard_counter_more_than(&items, there, 7));

	schedshard_counter_dec(&items, here);
	schedshard_counter_add(&items, there, -5);
	schedshard_counter_dec(&items, 0);
	printf("zero: %d\n", schedshard_counter_is_zero(&items, here));

	schedshard_counter_detach(&items);
	schedshard_plan_free(plan);
	return 0;
}
