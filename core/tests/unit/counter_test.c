// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Tests of the sharded counter that core/tests/model cannot make: its lines, errors, no memory. */
#include "shapes.h"
#include "shard_counter.h"
#include "test.h"

static const struct shape shape_48 = { .name = "2 x 2 x 12", 2, 2, 1, 6, 2, 1 };

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

/* The second call changes nothing. */
static void attaching_twice_is_refused(void)
{
	struct shard_plan *plan = shape_plan(&shape_48);
	struct shard_counter c = SHARD_COUNTER_INIT;
	struct shard_counter_lines *lines;
	size_t bytes;

	CHECK(shard_counter_attach(&c, plan));
	shard_counter_add(&c, 47, 3);
	lines = c.lines;
	bytes = test_bytes_allocated();
	CHECK(!shard_counter_attach(&c, plan));
	CHECK(c.lines == lines);
	CHECK_EQ(test_bytes_allocated(), bytes);
	CHECK_EQ(shard_counter_sum(&c), 3);
	shard_counter_detach(&c);
	shard_plan_free(plan);
}

#define TESTS(TEST)                             \
	TEST(each_shard_counts_on_its_own_line) \
	TEST(attaching_twice_is_refused)        \
	TEST(no_memory_leaves_the_counter_working)

TEST_MAIN(counter_test, TESTS)
