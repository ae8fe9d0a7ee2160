// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads that claim and put. The owner of a bit counts by plain stores: two owners at once are a
 * data race for ThreadSanitizer, and lose an update.
 */
#include "sbm_claim.h"
#include "sbm_more.h"
#include "shapes.h"
#include "threads.h"

#define ROUNDS 60000u

static struct shard_plan *plan;
static struct sbm *b;
static u64 used[TEST_MAX_CPUS]; /* by CPU: its owners' plain count */
static u64 claims[NR_THREADS];

static void use(u32 cpu, u64 *n)
{
	used[cpu]++;
	++*n;
}

static void claim_and_put(u32 thread)
{
	u64 random = 31 + thread, n = 0;

	for (u32 i = 0; i < ROUNDS; i++) {
		u32 from = test_below(&random, plan->nr_cpus), cpus[5], got = 0;
		unsigned long mask[TEST_MAX_WORDS];
		s64 cpu;

		switch (test_below(&random, 3)) {
		case 0:
			cpu = sbm_claim_near(b, from);
			break;
		case 1:
			memset(mask, test_below(&random, 2) ? 0x55 : 0xff, sizeof(mask));
			cpu = sbm_claim_and(b, mask, from);
			break;
		default:
			cpu = -1;
			got = sbm_claim_n(b, from, 5, cpus);
		}
		if (cpu >= 0)
			cpus[got++] = (u32)cpu;
		for (u32 j = 0; j < got; j++)
			use(cpus[j], &n);
		for (u32 j = 0; j < got; j++)
			sbm_put(b, cpus[j]);
	}
	claims[thread] = n;
}

static void run(const struct shape *shape, unsigned int flags, u32 bits)
{
	u64 claimed = 0, counted = 0;

	plan = shape_plan(shape);
	b = sbm_alloc(plan, flags);
	memset(used, 0, sizeof(used));
	for (u32 i = 0; i < bits; i++)
		sbm_put(b, plan->idx_to_cpu[i * plan->nr_possible / bits]);
	run_threads(claim_and_put);
	for (u32 thread = 0; thread < NR_THREADS; thread++)
		claimed += claims[thread];
	for (u32 cpu = 0; cpu < plan->nr_cpus; cpu++)
		counted += used[cpu];
	CHECK_EQ(counted, claimed);
	CHECK(claimed);
	CHECK_EQ(sbm_weight(b), bits);
	sbm_free(b);
	shard_plan_free(plan);
}

static void each_bit_has_one_owner(void)
{
	static const struct shape few = { .name = "4 x 2", 1, 1, 4, 1, 2, 1, .adjacent = true };
	static const struct shape many = { .name = "2 x 64", 2, 1, 1, 32, 2, 2, .adjacent = true };

	for (unsigned int flags = 0; flags <= SBM_SUMMARY; flags++) {
		run(&few, flags, 3);
		run(&few, flags, 8);
		run(&many, flags, 4);
		run(&many, flags, 128);
	}
}

int main(void)
{
	RUN(each_bit_has_one_owner);
	return test_done();
}
