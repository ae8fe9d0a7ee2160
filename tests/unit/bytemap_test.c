// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The byte map in single cases: every pair of values, every position, sparse and dense masks. */
#include "bytemap_find.h"
#include "shapes.h"
#include "test.h"

static const struct shape shape_384 = { .name = "384", 2, 2, 6, 8, 2, 1 };
static const struct shape shape_64 = { .name = "64", 1, 1, 1, 64, 1, 1 };

static void every_value_against_every_other(void)
{
	struct shard_plan *plan = shape_plan(&shape_64);

	for (u32 stored = 0; stored <= BYTEMAP_MAX; stored++) {
		struct bytemap *m = bytemap_alloc(plan, (u8)stored);

		for (u32 asked = 0; asked <= BYTEMAP_MAX + 1; asked++) {
			if (asked <= BYTEMAP_MAX)
				CHECK_EQ(bytemap_find_equal(m, (u8)asked, NULL, 0, NULL, NULL),
					 stored == asked);
			CHECK_EQ(bytemap_find_below(m, (u8)asked, NULL, 0, NULL, NULL),
				 stored < asked);
			CHECK_EQ(bytemap_find_min(m, (u8)asked, NULL, 0, NULL, NULL),
				 stored < asked ? (int)stored : -1);
		}
		bytemap_free(m);
	}
	shard_plan_free(plan);
}

/* A value must not affect the results for its neighbours in the word. */
static void extreme_neighbours_do_not_disturb(void)
{
	static const u8 extremes[] = { 0, 1, 126, 127 };
	struct shard_plan *plan = shape_plan(&shape_64);
	struct bytemap *m = bytemap_alloc(plan, 0);
	unsigned long found[64 / TEST_WORD];

	for (u32 i = 0; i < 4; i++)
		for (u32 j = 0; j < 4; j++) {
			u8 a = extremes[i], b = extremes[j];
			unsigned long equal[64 / TEST_WORD] = { 0 }, below[64 / TEST_WORD] = { 0 };

			for (u32 cpu = 0; cpu < 64; cpu++) {
				u8 value = cpu % 2 ? b : a;

				bytemap_set(m, cpu, value);
				if (value == a)
					test_set_bit(equal, cpu);
				if (value < 126)
					test_set_bit(below, cpu);
			}
			bytemap_find_equal(m, a, NULL, 0, found, NULL);
			CHECK_MASK_EQ(found, equal, 64);
			bytemap_find_below(m, 126, NULL, 0, found, NULL);
			CHECK_MASK_EQ(found, below, 64);
		}
	bytemap_free(m);
	shard_plan_free(plan);
}

static void each_position_is_found_alone(void)
{
	struct shard_plan *plan = shape_plan(&shape_384);
	struct bytemap *m = bytemap_alloc(plan, 100);
	unsigned long found[384 / TEST_WORD];
	s64 first;

	for (u32 cpu = 0; cpu < 384; cpu++) {
		unsigned long expect[384 / TEST_WORD] = { 0 };

		bytemap_set(m, cpu, 7);
		CHECK_EQ(bytemap_get(m, cpu), 7);
		test_set_bit(expect, cpu);
		CHECK_EQ(bytemap_find_equal(m, 7, NULL, 383 - cpu, found, &first), 1);
		CHECK_MASK_EQ(found, expect, 384);
		CHECK_EQ(first, cpu);
		CHECK_EQ(bytemap_find_min(m, 128, expect, 0, found, &first), 7);
		CHECK_MASK_EQ(found, expect, 384);
		CHECK_EQ(first, cpu);
		bytemap_set(m, cpu, 100);
	}
	bytemap_free(m);
	shard_plan_free(plan);
}

static void min_is_the_lowest_of_all_and_first_the_nearest(void)
{
	struct shard_plan *plan = shape_plan(&shape_384);
	struct bytemap *m = bytemap_alloc(plan, 100);
	unsigned long found[384 / TEST_WORD], expect[384 / TEST_WORD] = { 0 };
	s64 first;

	bytemap_set(m, 0, 50); /* near, but not the lowest */
	bytemap_set(m, 60, 20);
	bytemap_set(m, 200, 20);
	bytemap_set(m, 300, 30);
	test_set_bit(expect, 60);
	test_set_bit(expect, 200);
	CHECK_EQ(bytemap_find_min(m, 100, NULL, 0, found, &first), 20);
	CHECK_MASK_EQ(found, expect, 384);
	CHECK_EQ(first, 200); /* node 0 is CPUs 0-47 and 192-239 */
	CHECK_EQ(bytemap_find_min(m, 100, NULL, 61, NULL, &first), 20);
	CHECK_EQ(first, 60);
	CHECK_EQ(bytemap_find_min(m, 20, NULL, 0, found, &first), -1);
	CHECK_EQ(first, -1);
	memset(expect, 0, sizeof(expect));
	CHECK_MASK_EQ(found, expect, 384);
	bytemap_free(m);
	shard_plan_free(plan);
}

static void limit_0_finds_nothing(void)
{
	struct shard_plan *plan = shape_plan(&shape_64);
	struct bytemap *m = bytemap_alloc(plan, 0);
	s64 first = 5;

	CHECK_EQ(bytemap_find_below(m, 0, NULL, 0, NULL, &first), 0);
	CHECK_EQ(first, -1);
	CHECK_EQ(bytemap_find_min(m, 0, NULL, 0, NULL, &first), -1);
	CHECK_EQ(bytemap_find_min(m, 1, NULL, 7, NULL, &first), 0);
	CHECK_EQ(first, 0);
	bytemap_free(m);
	shard_plan_free(plan);
}

static void empty_mask_finds_nothing(void)
{
	struct shard_plan *plan = shape_plan(&shape_384);
	struct bytemap *m = bytemap_alloc(plan, 0);
	unsigned long none[384 / TEST_WORD] = { 0 }, found[384 / TEST_WORD];
	s64 first;

	CHECK_EQ(bytemap_find_equal(m, 0, none, 5, found, &first), 0);
	CHECK_EQ(first, -1);
	CHECK_MASK_EQ(found, none, 384);
	CHECK_EQ(bytemap_find_min(m, 128, none, 5, found, &first), -1);
	bytemap_free(m);
	shard_plan_free(plan);
}

/* Positions that are not a CPU hold a value too; no search may return them. */
static void unused_positions_are_never_found(void)
{
	static const struct shape odd = { .name = "3 x 5", 1, 1, 3, 5, 1, 1 };
	struct shard_plan *plan = shape_plan(&odd);
	struct bytemap *m = bytemap_alloc(plan, 9);
	unsigned long found;

	CHECK_EQ(bytemap_find_equal(m, 9, NULL, 0, &found, NULL), 15);
	CHECK_EQ(found, 0x7fff);
	for (u32 cpu = 0; cpu < 15; cpu++)
		bytemap_set(m, cpu, 50);
	CHECK_EQ(bytemap_find_min(m, 128, NULL, 0, &found, NULL), 50);
	CHECK_EQ(found, 0x7fff);
	bytemap_free(m);
	shard_plan_free(plan);
}

static void no_memory_leaves_nothing_behind(void)
{
	struct shard_plan *plan = shape_plan(&shape_384);
	size_t before = test_bytes_allocated();

	for (unsigned int n = 1; n <= 5; n++) { /* header, lines of four nodes */
		test_fail_alloc(n);
		CHECK(!bytemap_alloc(plan, 1));
		CHECK_EQ(test_bytes_allocated(), before);
	}
	test_fail_alloc(0);
	bytemap_free(NULL);
	shard_plan_free(plan);
}

#define TESTS(TEST)                                          \
	TEST(every_value_against_every_other)                \
	TEST(extreme_neighbours_do_not_disturb)              \
	TEST(each_position_is_found_alone)                   \
	TEST(min_is_the_lowest_of_all_and_first_the_nearest) \
	TEST(limit_0_finds_nothing)                          \
	TEST(empty_mask_finds_nothing)                       \
	TEST(unused_positions_are_never_found)               \
	TEST(no_memory_leaves_nothing_behind)

TEST_MAIN(bytemap_test, TESTS)
