// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads create structures for this machine at the same time, also the first ones of the process.
 * All threads find the same complete plan.
 */
#include "create.h"
#include "threads.h"

static const struct shard_plan *plan_of[NR_THREADS];

static void create_use_destroy(u32 thread)
{
	for (u32 round = 0; round < 50; round++) {
		struct sbm *own = sbm_create();
		struct shard_counter *counter = shard_counter_create();
		u32 cpu = shard_this_cpu(), other;

		CHECK(own && counter);
		CHECK(shard_plan_has_cpu(own->plan, cpu));
		sbm_set(own, cpu);
		sbm_for_each_cpu(other, it, own)
			CHECK_EQ(other, cpu);
		shard_counter_add(counter, cpu, 5);
		CHECK_EQ(shard_counter_sum(counter), 5);
		plan_of[thread] = own->plan;
		CHECK(counter->lines->plan == own->plan);
		sbm_destroy(own);
		shard_counter_destroy(counter);
	}
}

static void first_calls_race(void)
{
	run_threads(create_use_destroy);
	for (u32 thread = 1; thread < NR_THREADS; thread++)
		CHECK(plan_of[thread] == plan_of[0]);
}

int main(void)
{
	RUN(first_calls_race);
	printf("%u passed, 0 failed\n", test_state.passed);
	return 0;
}
