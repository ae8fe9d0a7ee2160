// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Cases of the overload set that are rare on the random machines of tests/model. */
#include "overload.h"
#include "shapes.h"
#include "test.h"

static struct shard_plan *plan;
static struct overload *set;

static void begin(const struct shape *shape)
{
	plan = shape_plan(shape);
	set = overload_alloc(plan);
	CHECK(set);
}

static void end(void)
{
	overload_free(set);
	shard_plan_free(plan);
}

static u32 cpu_of(u32 shard, u32 pos)
{
	return plan->shard_cpus[shard][pos];
}

/* A walk in topology order does not start over at CPU 0. */
static void cpu_0_in_a_later_shard(void)
{
	static const struct shard_cpu cpu[4] = {
		{ .llc = 1, .l2 = -1, .core = 2, .possible = true },
		{ .llc = 0, .l2 = -1, .core = 0, .possible = true },
		{ .llc = 1, .l2 = -1, .core = 3, .possible = true },
		{ .llc = 0, .l2 = -1, .core = 1, .possible = true }
	};
	static const struct shard_topo topo = { 4, cpu };
	struct shard_plan *p;

	CHECK_EQ(shard_plan_build(&p, &topo, NULL), SHARD_PLAN_OK);
	set = overload_alloc(p);
	CHECK(set);
	CHECK_EQ(p->slot[0].shard, 1);
	for (u32 i = 0; i < 4; i++)
		overload_set(set, i, true);
	CHECK_EQ(overload_next_wide(set, -1), 1);
	CHECK_EQ(overload_next_wide(set, 1), 3);
	CHECK_EQ(overload_next_wide(set, 3), 0);
	CHECK_EQ(overload_next_wide(set, 0), 2);
	CHECK_EQ(overload_next_wide(set, 2), -1);
	overload_free(set);
	shard_plan_free(p);
}

/* With two words of the summary, a query ignores its own shard's bit only in that bit's word. */
static void a_shard_of_the_same_bit(void)
{
	static const struct shape shape = { .name = "64 LLCs of 2", 1, 1, 64, 2, 1, 1 };

	begin(&shape);
	for (u32 shard = 0; shard < 64; shard++) {
		u32 other = (shard + SHARD_SUMMARY_SHARDS) % 64;

		overload_set(set, cpu_of(other, 1), true);
		CHECK_EQ(overload_query(set, cpu_of(shard, 0), 1), OVERLOAD_WIDE);
		overload_clear(set, cpu_of(other, 1));
		CHECK_EQ(overload_query(set, cpu_of(shard, 0), 1), 0);
		CHECK(!shard_summary_names_other(set->summary, shard));
	}
	end();
}

/* The last shard has the last bit of the summary's word. */
static void as_many_shards_as_bits(void)
{
	static const struct shape shape = { .name = "32 LLCs of 2", 1, 1, 32, 2, 1, 1 };
	const struct shard_summary *s;

	begin(&shape);
	s = set->summary;
	CHECK(!shard_summary_names_other(s, 0));
	CHECK_EQ(shard_summary_next(s, 0, 32), 32);
	CHECK_EQ(shard_summary_next(s, 32, 32), 32);
	overload_set(set, cpu_of(31, 0), true);
	CHECK(shard_summary_names_other(s, 0));
	CHECK(!shard_summary_names_other(s, 31));
	CHECK_EQ(shard_summary_next(s, 0, 32), 31);
	end();
}

/* A query removes a shard that it found empty from the summary, once per period. */
static void a_query_tidies_once_a_period(void)
{
	static const struct shape shape = { .name = "4 LLCs of 2", 1, 1, 4, 2, 1, 1 };
	u32 asks, far;

	begin(&shape);
	asks = cpu_of(0, 0);
	far = cpu_of(2, 1);
	overload_set(set, far, true);
	CHECK_EQ(overload_query(set, asks, 7), OVERLOAD_WIDE);
	CHECK(shard_summary_test(set->summary, 2));
	overload_clear(set, far);
	CHECK_EQ(overload_query(set, asks, 0), 0);
	CHECK(shard_summary_test(set->summary, 2));
	CHECK_EQ(overload_query(set, asks, 7), 0);
	CHECK(!shard_summary_test(set->summary, 2));
	/* Empty again in the same period, the shard stays; the next period's query removes it. */
	overload_set(set, far, true);
	CHECK_EQ(overload_query(set, asks, 7), OVERLOAD_WIDE);
	overload_clear(set, far);
	CHECK_EQ(overload_query(set, asks, 7), 0);
	CHECK(shard_summary_test(set->summary, 2));
	CHECK_EQ(overload_query(set, cpu_of(2, 0), 8), 0); /* does not remove its own shard */
	CHECK(shard_summary_test(set->summary, 2));
	CHECK_EQ(overload_query(set, asks, 8), 0);
	CHECK(!shard_summary_test(set->summary, 2));
	/* Of two shards the empty one is removed, though the other one ends the search. */
	overload_set(set, far, true);
	overload_set(set, cpu_of(3, 0), true);
	overload_clear(set, far);
	CHECK_EQ(overload_query(set, asks, 9), OVERLOAD_WIDE);
	CHECK(!shard_summary_test(set->summary, 2));
	CHECK(shard_summary_test(set->summary, 3));
	end();
}

/* Nothing leaks, whichever allocation fails. */
static void no_memory(void)
{
	static const struct shape shape = { .name = "4 LLCs of 2", 1, 1, 4, 2, 1, 1 };
	u32 i;

	plan = shape_plan(&shape);
	for (i = 1; i < 20; i++) {
		test_fail_alloc(i);
		set = overload_alloc(plan);
		if (set)
			break;
	}
	test_fail_alloc(0);
	CHECK(i > 4);
	CHECK(i < 20);
	end();
}

/* A single shard needs no summary. */
static void no_summary_of_one_shard(void)
{
	static const struct shape shape = { .name = "one LLC of 64", 1, 1, 1, 64, 1, 1 };

	begin(&shape);
	CHECK(!set->summary);
	overload_set(set, cpu_of(0, 63), true);
	CHECK_EQ(overload_query(set, cpu_of(0, 0), 1), OVERLOAD_NEAR);
	CHECK_EQ(overload_next_near(set, 0, -1), cpu_of(0, 63));
	CHECK_EQ(overload_next_near(set, 0, cpu_of(0, 63)), -1);
	end();
}

#define TESTS(TEST)                        \
	TEST(cpu_0_in_a_later_shard)       \
	TEST(a_shard_of_the_same_bit)      \
	TEST(as_many_shards_as_bits)       \
	TEST(a_query_tidies_once_a_period) \
	TEST(no_memory)                    \
	TEST(no_summary_of_one_shard)

TEST_MAIN(schedshard_overload_unit, TESTS)
