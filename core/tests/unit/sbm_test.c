// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Tests single cases of the sharded bitmap. */
#include "sbm.h"
#include "shapes.h"
#include "test.h"

/* 8 shards of 2 CPUs: many leaves, most of them empty. */
static const struct shape small_leaves = { .name = "8 x 2", 1, 1, 8, 1, 2, 1, .adjacent = true };

/* Runs @test with and without a summary. */
static void for_both(const struct shape *shape, void (*test)(struct sbm *b))
{
	struct shard_plan *plan = shape_plan(shape);

	for (unsigned int flags = 0; flags <= SBM_SUMMARY; flags++) {
		struct sbm *b = sbm_alloc(plan, flags);

		CHECK(b);
		test(b);
		sbm_destroy(b);
	}
	shard_plan_free(plan);
}

static void check_walk(const struct sbm *b, const u32 *expected, u32 n)
{
	u32 cpu, i = 0;

	sbm_for_each_cpu_wrap(cpu, it, b, b->plan->idx_to_cpu[0]) {
		CHECK(i < n);
		CHECK_EQ(cpu, expected[i]);
		i++;
	}
	CHECK_EQ(i, n);
}

static void each_bit(struct sbm *b)
{
	const struct shard_plan *plan = b->plan;

	for (u32 s = 0; s < plan->nr_shards; s++) {
		const struct shard *shard = &plan->shard[s];

		for (u32 pos = 0; pos < shard->nr_cpus; pos++) {
			sbm_set(b, plan->idx_to_cpu[shard->first_idx + pos]);
			for (u32 other = 0; other < plan->nr_shards; other++)
				CHECK_EQ(*b->line[other], other == s ? 1ull << pos : 0);
			sbm_clear(b, plan->idx_to_cpu[shard->first_idx + pos]);
		}
	}
}

static void each_bit_is_in_its_line(void)
{
	static const struct shape shape = { .name = "2 x 16", 2, 1, 1, 8, 2, 1 };

	for_both(&shape, each_bit);
}

static void clear_while_walking(struct sbm *b)
{
	u32 cpu, n = 0;

	for (cpu = 0; cpu < 16; cpu++)
		sbm_set(b, cpu);
	sbm_for_each_cpu_wrap(cpu, it, b, 0) {
		/* A bit cleared in the current word is still visited; in a later word it is not. */
		if (cpu == 0) {
			sbm_clear(b, 1);
			sbm_clear(b, 2);
		}
		n++;
	}
	CHECK_EQ(n, 15);
}

static void walk_sees_one_snapshot_of_each_word(void)
{
	for_both(&small_leaves, clear_while_walking);
}

/* The summary: sbm_set() sets it, sbm_clear() leaves it, the next search clears it. */
static void summary_is_cleaned_by_searches(void)
{
	struct shard_plan *plan = shape_plan(&small_leaves);
	struct sbm *b = sbm_alloc(plan, SBM_SUMMARY);

	CHECK(!shard_summary_test(b->summary, 3));
	sbm_set(b, 6);
	CHECK(shard_summary_test(b->summary, 3));
	sbm_clear(b, 6);
	CHECK(shard_summary_test(b->summary, 3));
	CHECK(sbm_empty(b));
	CHECK(!shard_summary_test(b->summary, 3));
	sbm_set(b, 7);
	CHECK(!sbm_empty(b));
	CHECK_EQ(shard_summary_next(b->summary, 0, 8), 3);
	CHECK_EQ(shard_summary_next(b->summary, 4, 8), 8);
	CHECK_EQ(shard_summary_next(b->summary, 0, 3), 3);
	sbm_destroy(b);
	shard_plan_free(plan);
}

/* The shard of an interrupted cleaner counts as occupied. */
static void shard_that_is_being_cleaned_counts_as_occupied(void)
{
	struct shard_plan *plan = shape_plan(&small_leaves);
	struct sbm *b = sbm_alloc(plan, SBM_SUMMARY);
	static const u32 set[] = { 6 };
	u64 *word = &b->summary->word[0];

	*b->line[3] = 1ull << plan->slot[6].pos;
	*word = shard_summary_cleaning(3);
	CHECK(!sbm_empty(b));
	CHECK(!sbm_seems_empty(b));
	check_walk(b, set, 1);
	*b->line[3] = 0;
	CHECK(sbm_empty(b));
	CHECK(!sbm_seems_empty(b));
	/* Another CPU is cleaning: the second cleaner changes nothing. */
	CHECK_EQ(*word, shard_summary_cleaning(3));
	*word |= shard_summary_occupied(3);
	CHECK(sbm_empty(b));
	CHECK_EQ(*word, shard_summary_cleaning(3) | shard_summary_occupied(3));
	sbm_destroy(b);
	shard_plan_free(plan);
}

/* sbm_seems_empty() reads only the summary, because idle CPUs often write the lines. */
static void seems_empty_reads_no_line(void)
{
	struct shard_plan *plan = shape_plan(&small_leaves);
	struct sbm *b = sbm_alloc(plan, SBM_SUMMARY);
	u64 *const *line = b->line;

	b->line = NULL;
	CHECK(sbm_seems_empty(b));
	shard_summary_note(b->summary, 3);
	CHECK(!sbm_seems_empty(b));
	b->line = line;
	sbm_destroy(b);
	shard_plan_free(plan);
}

/* A cleaner that finds the line occupied at its second look sets the bit again. */
static void cleaner_puts_the_bit_back(void)
{
	struct shard_plan *plan = shape_plan(&small_leaves);
	struct sbm *b = sbm_alloc(plan, SBM_SUMMARY);

	sbm_set(b, 6);
	shard_summary_clean(b->summary, 3, b->line[3]);
	CHECK_EQ(b->summary->word[0], shard_summary_occupied(3));
	sbm_destroy(b);
	shard_plan_free(plan);
}

static void lines_are_apart_and_aligned(void)
{
	struct shard_plan *plan = shape_plan(&small_leaves);
	struct sbm *b = sbm_alloc(plan, SBM_SUMMARY);

	for (u32 s = 0; s < plan->nr_shards; s++) {
		CHECK_EQ((uintptr_t)b->line[s] % PORT_CACHELINE, 0);
		for (u32 other = 0; other < s; other++)
			CHECK(b->line[other] != b->line[s]);
	}
	CHECK_EQ((uintptr_t)b->summary->word % PORT_CACHELINE, 0);
	sbm_destroy(b);
	shard_plan_free(plan);
}

static void no_memory_leaves_nothing_behind(void)
{
	static const struct shape shape = { .name = "2 nodes", 2, 1, 2, 4, 2, 1 };
	struct shard_plan *plan = shape_plan(&shape);
	size_t before = test_bytes_allocated();

	for (unsigned int n = 1; n <= 4; n++) { /* header, lines of two nodes, summary */
		test_fail_alloc(n);
		CHECK(!sbm_alloc(plan, SBM_SUMMARY));
		CHECK_EQ(test_bytes_allocated(), before);
	}
	test_fail_alloc(0);
	sbm_destroy(NULL);
	shard_plan_free(plan);
}

#define TESTS(TEST)                                          \
	TEST(each_bit_is_in_its_line)                        \
	TEST(walk_sees_one_snapshot_of_each_word)            \
	TEST(summary_is_cleaned_by_searches)                 \
	TEST(shard_that_is_being_cleaned_counts_as_occupied) \
	TEST(seems_empty_reads_no_line)                      \
	TEST(cleaner_puts_the_bit_back)                      \
	TEST(lines_are_apart_and_aligned)                    \
	TEST(no_memory_leaves_nothing_behind)

TEST_MAIN(sbm_test, TESTS)
