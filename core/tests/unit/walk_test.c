// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests which of two ways a walk over allowed CPUs takes. core/tests/model checks that both ways
 * visit the same shards. Only their costs differ, so no other test sees a wrong choice.
 */
#include "shapes.h"
#include "shard_walk.h"
#include "test.h"

/* Two runs per shard: CPUs 0-3 and 48-51 are the first shard. */
static const struct shape twelve = { .name = "12 LLCs", 1, 1, 12, 4, 2, 1 };
static const struct shape many = { .name = "64 LLCs", 1, 1, 64, 2, 2, 1 };

static bool is_sparse(const struct shard_plan *plan, const unsigned long *allowed)
{
	struct shard_walk w;

	shard_walk_begin(&w, plan, allowed, 0);
	return w.sparse;
}

static bool are_sparse(const struct shard_plan *plan, u32 first, u32 n)
{
	unsigned long *mask = calloc((plan->nr_cpus + TEST_WORD - 1) / TEST_WORD, sizeof(*mask));
	bool sparse;

	CHECK(mask);
	for (u32 cpu = first; cpu < first + n; cpu++)
		test_set_bit(mask, cpu);
	sparse = is_sparse(plan, mask);
	free(mask);
	return sparse;
}

/* A mask of at most half as many CPUs as there are runs is walked CPU by CPU. */
static void few_runs(void)
{
	struct shard_plan *plan = shape_plan(&twelve);

	CHECK_EQ(plan->nr_runs, 24);
	CHECK(are_sparse(plan, 0, 0));
	CHECK(are_sparse(plan, 0, 1));
	CHECK(are_sparse(plan, 0, 12));
	CHECK(!are_sparse(plan, 0, 13));
	CHECK(are_sparse(plan, 52, 12));
	CHECK(!are_sparse(plan, 52, 13)); /* the last one is in the mask's next word */
	CHECK(!are_sparse(plan, 0, 96));
	shard_plan_free(plan);
}

/* However many runs there are, at most SHARD_WALK_SPARSE CPUs are walked one by one. */
static void many_runs(void)
{
	struct shard_plan *plan = shape_plan(&many);

	CHECK_EQ(plan->nr_runs, 128);
	CHECK(are_sparse(plan, 7, SHARD_WALK_SPARSE));
	CHECK(!are_sparse(plan, 7, SHARD_WALK_SPARSE + 1));
	shard_plan_free(plan);
}

/* A sparse walk over as many shards as it has room for, which begins at the ninth. */
static void a_full_table(void)
{
	struct shard_plan *plan = shape_plan(&many);
	unsigned long mask[256 / TEST_WORD] = { 0 };
	struct shard_walk w;
	u32 shard, n = 0;
	u64 word;

	for (u32 i = 0; i < SHARD_WALK_SPARSE; i++)
		test_set_bit(mask, 4 * i);
	shard_walk_begin(&w, plan, mask, 4 * 8);
	CHECK(w.sparse);
	while (shard_walk_next(&w, &shard, &word)) {
		CHECK_EQ(shard, 2 * ((8 + n) % SHARD_WALK_SPARSE));
		CHECK_EQ(word, 1);
		n++;
	}
	CHECK_EQ(n, SHARD_WALK_SPARSE);
	shard_plan_free(plan);
}

#define TESTS(TEST)     \
	TEST(few_runs)  \
	TEST(many_runs) \
	TEST(a_full_table)

TEST_MAIN(walk_test, TESTS)
