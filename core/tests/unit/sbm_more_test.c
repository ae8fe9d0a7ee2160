// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Compares operations of sbm_more.h on small bitmaps with values found by hand. */
#include "sbm_more.h"
#include "sbm_both.h"
#include "shapes.h"
#include "shard_topo.h"
#include "test.h"

static void test_and(struct sbm *b)
{
	CHECK(!sbm_test_and_set(b, 9));
	CHECK(sbm_test_and_set(b, 9));
	CHECK(sbm_test(b, 9));
	CHECK(sbm_test_and_clear(b, 9));
	CHECK(!sbm_test_and_clear(b, 9));
	CHECK(sbm_empty(b));
}

static void test_and_set_tells_what_was(void)
{
	for_both(&small_leaves, test_and);
}

static void nearest_cpu(struct sbm *b)
{
	unsigned long allowed[512 / TEST_WORD] = { 0 };

	CHECK_EQ(sbm_near_cpu(b, NULL, 3), -1);
	sbm_set(b, 300);
	sbm_set(b, 10);
	CHECK_EQ(sbm_near_cpu(b, NULL, 301), 300);
	CHECK_EQ(sbm_near_cpu(b, NULL, 11), 10);
	test_set_bit(allowed, 300);
	CHECK_EQ(sbm_near_cpu(b, allowed, 11), 300);
	CHECK_EQ(sbm_near_cpu(b, allowed, 300), 300);
	sbm_clear(b, 300);
	CHECK_EQ(sbm_near_cpu(b, allowed, 11), -1);
}

static void near_cpu_prefers_the_own_shard(void)
{
	static const struct shape shape = { .name = "384", 2, 2, 6, 8, 2, 1 };

	for_both(&shape, nearest_cpu);
}

static void holes_in_masks_are_ignored(void)
{
	static const struct shape shape = { .name = "holes", 2, 1, 3, 5, 2, 1, .hole = 3 };
	struct shard_plan *plan = shape_plan(&shape);
	struct sbm *b = sbm_alloc(plan, 0);
	unsigned long all[512 / TEST_WORD], mask[512 / TEST_WORD];
	u32 cpu, n = 0;

	memset(all, 0xff, sizeof(all));
	sbm_from_mask(b, all);
	CHECK_EQ(sbm_weight(b), plan->nr_possible);
	sbm_to_mask(b, mask);
	for (cpu = 0; cpu < plan->nr_cpus; cpu++)
		CHECK_EQ(test_bit(mask, cpu), shard_plan_has_cpu(plan, cpu));
	sbm_for_each_cpu_and(cpu, it, b, all) {
		CHECK(cpu % 3 != 2);
		n++;
	}
	CHECK_EQ(n, plan->nr_possible);
	sbm_destroy(b);
	shard_plan_free(plan);
}

#define TESTS(TEST)                          \
	TEST(test_and_set_tells_what_was)    \
	TEST(near_cpu_prefers_the_own_shard) \
	TEST(holes_in_masks_are_ignored)

TEST_MAIN(sbm_more_test, TESTS)
