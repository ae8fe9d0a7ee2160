// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Compares the counter with one integer, for every shape. In paired use an array contains the
 * number of items per CPU, so that no CPU removes more items than it added. In unpaired use the
 * test adds any numbers on any CPUs.
 */
#include "shapes.h"
#include "shard_counter.h"
#include "test.h"

static u32 any_cpu(const struct shard_plan *plan, u64 *random)
{
	return plan->idx_to_cpu[test_below(random, plan->nr_possible)];
}

static void maybe_attach(struct shard_counter *c, const struct shard_plan *plan, u64 *random)
{
	if (test_below(random, 200))
		return;
	if (c->lines)
		shard_counter_detach(c);
	else
		CHECK(shard_counter_attach(c, plan));
}

static void run_paired(const struct shape *shape)
{
	struct shard_plan *plan = shape_plan(shape);
	struct shard_counter c = SHARD_COUNTER_INIT;
	u32 *items = calloc(plan->nr_cpus, sizeof(*items));
	u64 random = test_state.start;
	s64 total = 0;

	CHECK(items);
	test_state.shape = shape->name;
	for (test_state.step = 0; test_state.step < 3000; test_state.step++) {
		u32 cpu = any_cpu(plan, &random), from = any_cpu(plan, &random);
		s64 n = test_below(&random, 20);

		maybe_attach(&c, plan, &random);
		if (items[cpu] && test_below(&random, 100) < 55) {
			shard_counter_dec(&c, cpu);
			items[cpu]--;
			total--;
		} else {
			shard_counter_inc(&c, cpu);
			items[cpu]++;
			total++;
		}
		CHECK_EQ(shard_counter_sum(&c), total);
		CHECK_EQ(shard_counter_is_zero(&c, from), total == 0);
		CHECK_EQ(shard_counter_more_than(&c, from, n), total > n);
		if (total > 0)
			CHECK(shard_counter_more_than(&c, from, total - 1));
	}
	free(items);
	shard_counter_detach(&c);
	CHECK_EQ(shard_counter_sum(&c), total);
	shard_plan_free(plan);
}

static void run_unpaired(const struct shape *shape)
{
	struct shard_plan *plan = shape_plan(shape);
	struct shard_counter c = SHARD_COUNTER_INIT;
	u64 random = test_state.start;
	s64 total = 0;

	test_state.shape = shape->name;
	for (test_state.step = 0; test_state.step < 3000; test_state.step++) {
		s64 n = (s64)test_random(&random) >> test_below(&random, 40) >> 12;

		maybe_attach(&c, plan, &random);
		shard_counter_add(&c, any_cpu(plan, &random), n);
		total += n;
		CHECK_EQ(shard_counter_sum(&c), total);
	}
	shard_counter_detach(&c);
	shard_plan_free(plan);
}

static void paired_use(void)
{
	test_state.seed = test_state.start;
	for (u32 i = 0; i < nr_shapes; i++)
		run_paired(&shapes[i]);
}

static void unpaired_use(void)
{
	test_state.seed = test_state.start;
	for (u32 i = 0; i < nr_shapes; i++)
		run_unpaired(&shapes[i]);
}

#define TESTS(TEST)      \
	TEST(paired_use) \
	TEST(unpaired_use)

TEST_MAIN(counter_model, TESTS)
