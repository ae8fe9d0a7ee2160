// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Compares the sharded counter with values found by hand. */
#include "shapes.h"
#include "shard_counter.h"
#include "test.h"

static const struct shape shape_48 = { .name = "2 x 2 x 12", 2, 2, 1, 6, 2, 1 };

static struct shard_counter static_counter = SHARD_COUNTER_INIT;

static void counts_before_the_plan_is_known(void)
{
	CHECK_EQ(shard_counter_sum(&static_counter), 0);
	CHECK(shard_counter_is_zero(&static_counter, 0));
	shard_counter_inc(&static_counter, 3);
	shard_counter_add(&static_counter, 99, 5);
	CHECK_EQ(shard_counter_sum(&static_counter), 6);
	CHECK(!shard_counter_is_zero(&static_counter, 0));
	CHECK(shard_counter_more_than(&static_counter, 0, 5));
	CHECK(!shard_counter_more_than(&static_counter, 0, 6));
	shard_counter_add(&static_counter, 0, -6);
	CHECK(shard_counter_is_zero(&static_counter, 0));
}

static void attach_keeps_the_count_and_detach_too(void)
{
	struct shard_plan *plan = shape_plan(&shape_48);
	struct shard_counter c = SHARD_COUNTER_INIT;

	shard_counter_add(&c, 1, 10);
	CHECK(shard_counter_attach(&c, plan));
	CHECK_EQ(shard_counter_sum(&c), 10);
	shard_counter_add(&c, 47, -3);
	shard_counter_inc(&c, 20);
	CHECK_EQ(shard_counter_sum(&c), 8);
	shard_counter_detach(&c);
	CHECK_EQ(shard_counter_sum(&c), 8);
	CHECK(shard_counter_attach(&c, plan));
	shard_counter_dec(&c, 5);
	CHECK_EQ(shard_counter_sum(&c), 7);
	shard_counter_detach(&c);
	shard_counter_detach(&c);
	CHECK_EQ(shard_counter_sum(&c), 7);
	shard_plan_free(plan);
}

static void each_shard_counts_on_its_own_line(void)
{
	struct shard_plan *plan = shape_plan(&shape_48);
	struct shard_counter c = SHARD_COUNTER_INIT;

	CHECK(shard_counter_attach(&c, plan));
	for (u32 cpu = 0; cpu < plan->nr_cpus; cpu++)
		shard_counter_add(&c, cpu, cpu);
	for (u32 s = 0; s < plan->nr_shards; s++) {
		s64 expect = 0;

		for (u32 cpu = 0; cpu < plan->nr_cpus; cpu++)
			if (plan->slot[cpu].shard == s)
				expect += cpu;
		CHECK_EQ(*c.lines->line[s], expect);
		CHECK_EQ((uintptr_t)c.lines->line[s] % PORT_CACHELINE, 0);
	}
	CHECK_EQ(c.early, 0);
	shard_counter_detach(&c);
	shard_plan_free(plan);
}

/*
 * If items are counted early and removed later, shards become negative while the early count is
 * positive; only the sum of both is right.
 */
static void early_items_may_be_taken_off_later(void)
{
	struct shard_plan *plan = shape_plan(&shape_48);
	struct shard_counter c = SHARD_COUNTER_INIT;

	shard_counter_add(&c, 0, 3);
	CHECK(shard_counter_attach(&c, plan));
	shard_counter_dec(&c, 0);
	shard_counter_dec(&c, 20);
	CHECK(!shard_counter_is_zero(&c, 0));
	shard_counter_dec(&c, 40);
	for (u32 cpu = 0; cpu < plan->nr_cpus; cpu++)
		CHECK(shard_counter_is_zero(&c, cpu));
	shard_counter_inc(&c, 30);
	for (u32 cpu = 0; cpu < plan->nr_cpus; cpu++) {
		CHECK(!shard_counter_is_zero(&c, cpu));
		CHECK(!shard_counter_more_than(&c, cpu, 1));
	}
	shard_counter_detach(&c);
	shard_plan_free(plan);
}

static void unpaired_use_sums_exactly(void)
{
	struct shard_plan *plan = shape_plan(&shape_48);
	struct shard_counter c = SHARD_COUNTER_INIT;

	CHECK(shard_counter_attach(&c, plan));
	for (u32 cpu = 0; cpu < plan->nr_cpus; cpu++) {
		shard_counter_add(&c, cpu, (s64)1 << 40);
		shard_counter_add(&c, plan->nr_cpus - 1 - cpu, -((s64)1 << 40));
	}
	CHECK_EQ(shard_counter_sum(&c), 0);
	shard_counter_add(&c, 9, -5);
	CHECK_EQ(shard_counter_sum(&c), -5);
	shard_counter_detach(&c);
	shard_plan_free(plan);
}

static void no_memory_leaves_the_counter_working(void)
{
	struct shard_plan *plan = shape_plan(&shape_48);
	struct shard_counter c = SHARD_COUNTER_INIT;
	size_t before = test_bytes_allocated();

	for (unsigned int n = 1; n <= 5; n++) { /* table, lines of four nodes */
		test_fail_alloc(n);
		CHECK(!shard_counter_attach(&c, plan));
		CHECK_EQ(test_bytes_allocated(), before);
		shard_counter_inc(&c, n);
	}
	test_fail_alloc(0);
	CHECK_EQ(shard_counter_sum(&c), 5);
	shard_plan_free(plan);
}

#define TESTS(TEST)                                 \
	TEST(counts_before_the_plan_is_known)       \
	TEST(attach_keeps_the_count_and_detach_too) \
	TEST(each_shard_counts_on_its_own_line)     \
	TEST(early_items_may_be_taken_off_later)    \
	TEST(unpaired_use_sums_exactly)             \
	TEST(no_memory_leaves_the_counter_working)

TEST_MAIN(counter_test, TESTS)
