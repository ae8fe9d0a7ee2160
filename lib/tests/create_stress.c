// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads that create for this machine at the same time, the first ones included, and then share
 * the results. Each thread finds the one plan complete, and no bit or count is lost.
 */
#include "create.h"
#include "threads.h"

#define ROUNDS 20000u

static const struct shard_plan *plan_of[NR_THREADS];
static struct shard_counter *total;
static struct sbm *set;

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

/* Thread t owns every NR_THREADS-th CPU of the machine, possibly none. */
static void use_shared(u32 thread)
{
	const struct shard_plan *plan = set->plan;
	u64 rng = thread + 1;
	u32 cpu;

	for (u32 round = 0; round < ROUNDS; round++) {
		u32 idx = test_below(&rng, plan->nr_possible);

		shard_counter_add(total, shard_this_cpu(), 1);
		if (idx % NR_THREADS != thread)
			continue;
		cpu = plan->idx_to_cpu[idx];
		sbm_set(set, cpu);
		CHECK(sbm_test(set, cpu));
		sbm_for_each_cpu(cpu, it, set)
			CHECK(shard_plan_has_cpu(plan, cpu));
		cpu = plan->idx_to_cpu[idx];
		sbm_clear(set, cpu);
		CHECK(!sbm_test(set, cpu));
	}
}

static void nothing_is_lost(void)
{
	u32 cpu;

	set = sbm_create();
	total = shard_counter_create();
	CHECK(set && total);
	run_threads(use_shared);
	sbm_for_each_cpu(cpu, it, set)
		CHECK(false);
	CHECK_EQ(shard_counter_sum(total), NR_THREADS * ROUNDS);
	shard_counter_destroy(total);
	sbm_destroy(set);
}

int main(void)
{
	RUN(first_calls_race);
	RUN(nothing_is_lost);
	printf("%u passed, 0 failed\n", test_state.passed);
	return 0;
}
