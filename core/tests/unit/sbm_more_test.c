// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Operations of sbm_more.h on small bitmaps, with expected values found by hand. */
#include "sbm_more.h"
#include "sbm_both.h"
#include "shapes.h"
#include "shard_topo.h"
#include "test.h"

static void loop_by_index(struct sbm *b)
{
	u32 steps = 0, cpu, n = 0;

	sbm_set(b, 4);
	CHECK_EQ(sbm_next_idx(b, 0), 4);
	CHECK_EQ(sbm_next_idx(b, 4), 4);
	CHECK_EQ(sbm_next_idx(b, 5), -1);
	for (s64 idx = sbm_next_idx(b, 0); idx >= 0; idx = sbm_next_idx(b, (u32)idx + 1))
		CHECK(steps++ < 16);
	CHECK_EQ(steps, 1);
	sbm_for_each_cpu(cpu, it, b) {
		CHECK_EQ(cpu, 4);
		n++;
	}
	CHECK_EQ(n, 1);
	sbm_clear(b, 4);
	CHECK_EQ(sbm_next_idx(b, 0), -1);
	sbm_for_each_cpu(cpu, it, b)
		CHECK(false);
}

static void prototype_bug_endless_loop_on_empty_leaves(void)
{
	for_both(&small_leaves, loop_by_index);
}

static void skipped_leaf(struct sbm *b)
{
	static const u32 set[] = { 1, 6, 15 };
	u32 cpu, n = 0;

	for (u32 i = 0; i < 3; i++)
		sbm_set(b, set[i]);
	CHECK_EQ(sbm_first_cpu(b), 1);
	CHECK_EQ(sbm_next_cpu(b, 1), 6);
	CHECK_EQ(sbm_next_cpu(b, 6), 15);
	CHECK_EQ(sbm_next_cpu(b, 15), -1);
	sbm_for_each_cpu(cpu, it, b)
		CHECK_EQ(cpu, set[n++]); /* NOLINT(clang-analyzer-core.uninitialized.Assign): 3 */
	CHECK_EQ(n, 3);
}

static void prototype_bug_leaf_after_empty_leaf_skipped(void)
{
	for_both(&small_leaves, skipped_leaf);
}

static void many_cpus(struct sbm *b)
{
	unsigned long mask[512 / TEST_WORD], expect[512 / TEST_WORD] = { 0 };

	for (u32 cpu = 0; cpu < 480; cpu += 5) {
		sbm_set(b, cpu);
		test_set_bit(expect, cpu);
	}
	CHECK_EQ(sbm_weight(b), 96);
	sbm_to_mask(b, mask);
	CHECK_MASK_EQ(mask, expect, 480);
	for (u32 cpu = 0; cpu < 480; cpu++)
		CHECK_EQ(sbm_test(b, cpu), cpu % 5 == 0);
}

static void prototype_bug_more_than_64_cpus_a_leaf(void)
{
	static const struct shape shape = { .name = "480 in one LLC", 1, 1, 1, 240, 2, 1 };

	for_both(&shape, many_cpus);
}

static void wrapped(struct sbm *b)
{
	static const u32 set[] = { 6, 15, 1, 3 };

	for (u32 i = 0; i < 4; i++)
		sbm_set(b, set[i]);
	CHECK_EQ(sbm_first_cpu_wrap(b, 2), 3);
	CHECK_EQ(sbm_next_cpu_wrap(b, 3, 2), 6);
	CHECK_EQ(sbm_next_cpu_wrap(b, 15, 2), 1);
	CHECK_EQ(sbm_next_cpu_wrap(b, 1, 2), -1);
}

static void prototype_bug_unwrapped_walk(void)
{
	for_both(&small_leaves, wrapped);
}

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

#define TESTS(TEST)                                       \
	TEST(prototype_bug_endless_loop_on_empty_leaves)  \
	TEST(prototype_bug_leaf_after_empty_leaf_skipped) \
	TEST(prototype_bug_more_than_64_cpus_a_leaf)      \
	TEST(prototype_bug_unwrapped_walk)                \
	TEST(test_and_set_tells_what_was)                 \
	TEST(near_cpu_prefers_the_own_shard)              \
	TEST(holes_in_masks_are_ignored)

TEST_MAIN(sbm_more_test, TESTS)
