// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The sharded bitmap by hand; first of all, by name, what the published prototype got wrong.
 */
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
		sbm_free(b);
	}
	shard_plan_free(plan);
}

static void check_walk(const struct sbm *b, const u32 *expected, u32 n)
{
	u32 cpu, i = 0;

	sbm_for_each_cpu(cpu, it, b) {
		CHECK(i < n);
		CHECK_EQ(cpu, expected[i]);
		i++;
	}
	CHECK_EQ(i, n);
}

/*
 * The prototype's next-bit loop did not leave when a leaf had a bit, only when none was
 * left, and reported the last leaf's (empty) word at the last leaf's place: its caller
 * asked again from there, for ever.
 */
static void endless_loop(struct sbm *b)
{
	u32 steps = 0;

	sbm_set(b, 4);
	CHECK_EQ(sbm_next_idx(b, 0), 4);
	CHECK_EQ(sbm_next_idx(b, 4), 4);
	CHECK_EQ(sbm_next_idx(b, 5), -1);
	for (s64 idx = sbm_next_idx(b, 0); idx >= 0; idx = sbm_next_idx(b, (u32)idx + 1))
		CHECK(steps++ < 16);
	CHECK_EQ(steps, 1);
	sbm_clear(b, 4);
	CHECK_EQ(sbm_next_idx(b, 0), -1);
	check_walk(b, NULL, 0);
}

static void prototype_bug_endless_loop_on_empty_leaves(void)
{
	for_both(&small_leaves, endless_loop);
}

/* A bit behind an empty leaf was never found: the leaf's 0 ended the search. */
static void skipped_leaf(struct sbm *b)
{
	static const u32 set[] = { 1, 6, 15 };

	for (u32 i = 0; i < 3; i++)
		sbm_set(b, set[i]);
	check_walk(b, set, 3);
	CHECK_EQ(sbm_first_cpu(b), 1);
	CHECK_EQ(sbm_next_cpu(b, 1), 6);
	CHECK_EQ(sbm_next_cpu(b, 6), 15);
	CHECK_EQ(sbm_next_cpu(b, 15), -1);
}

static void prototype_bug_leaf_after_empty_leaf_skipped(void)
{
	for_both(&small_leaves, skipped_leaf);
}

/* A leaf was one word however many CPUs its cache domain had: CPU 64 overwrote others. */
static void many_cpus(struct sbm *b)
{
	unsigned long mask[8], expect[8] = { 0 };

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

/*
 * The shift was one less than the width of a leaf's part of the index, so that the CPUs of
 * a leaf's upper half were taken for those of the next leaf.
 */
static void upper_half(struct sbm *b)
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

static void prototype_bug_shift_off_by_one(void)
{
	static const struct shape shape = { .name = "2 x 16", 2, 1, 1, 8, 2, 1 };

	for_both(&shape, upper_half);
}

/* The walk always began at the first CPU: whoever is first got all the work. */
static void wrapped(struct sbm *b)
{
	static const u32 from_6[] = { 6, 15, 1, 3 }, from_2[] = { 3, 6, 15, 1 };
	u32 cpu, i;

	for (i = 0; i < 4; i++)
		sbm_set(b, from_6[i]);
	i = 0;
	sbm_for_each_cpu_wrap(cpu, it, b, 6)
		CHECK_EQ(cpu, from_6[i++]);
	CHECK_EQ(i, 4);
	i = 0;
	sbm_for_each_cpu_wrap(cpu, it, b, 2)
		CHECK_EQ(cpu, from_2[i++]);
	CHECK_EQ(i, 4);
	CHECK_EQ(sbm_first_cpu_wrap(b, 2), 3);
	CHECK_EQ(sbm_next_cpu_wrap(b, 3, 2), 6);
	CHECK_EQ(sbm_next_cpu_wrap(b, 15, 2), 1);
	CHECK_EQ(sbm_next_cpu_wrap(b, 1, 2), -1);
}

static void prototype_bug_unwrapped_walk(void)
{
	for_both(&small_leaves, wrapped);
}

/* Positions on both sides of the start in the start's own word, each visited once. */
static void wrap_in_a_word(struct sbm *b)
{
	for (u32 cpu = 0; cpu < 64; cpu++)
		sbm_set(b, cpu);
	for (u32 start = 0; start < 64; start++) {
		u64 seen = 0;
		u32 cpu;

		sbm_for_each_cpu_wrap(cpu, it, b, start) {
			CHECK(!(seen & 1ull << cpu));
			CHECK(seen || cpu == start);
			seen |= 1ull << cpu;
		}
		CHECK_EQ(seen, ~0ull);
	}
}

static void wrap_around_one_word_visits_each_cpu_once(void)
{
	static const struct shape shape = { .name = "64 in one", 1, 1, 1, 32, 2, 1 };

	for_both(&shape, wrap_in_a_word);
}

static void test_and(struct sbm *b)
{
	CHECK(!sbm_test_and_set(b, 9));
	CHECK(sbm_test_and_set(b, 9));
	CHECK(sbm_test(b, 9));
	CHECK(sbm_test_and_clear(b, 9));
	CHECK(!sbm_test_and_clear(b, 9));
	__sbm_set(b, 9);
	CHECK_EQ(sbm_first_cpu(b), 9);
	CHECK(!sbm_test(b, 8));
	__sbm_clear(b, 9);
	CHECK(sbm_empty(b));
}

static void test_and_set_tells_what_was(void)
{
	for_both(&small_leaves, test_and);
}

static void weight_limit(struct sbm *b)
{
	CHECK_EQ(sbm_weight_upto(b, 1), 0);
	for (u32 cpu = 0; cpu < 16; cpu += 3)
		sbm_set(b, cpu);
	CHECK_EQ(sbm_weight(b), 6);
	CHECK_EQ(sbm_weight_upto(b, 0), 0);
	CHECK_EQ(sbm_weight_upto(b, 2), 2);
	CHECK_EQ(sbm_weight_upto(b, 6), 6);
	CHECK_EQ(sbm_weight_upto(b, 7), 6);
}

static void weight_stops_at_the_limit(void)
{
	for_both(&small_leaves, weight_limit);
}

static void clear_while_walking(struct sbm *b)
{
	u32 cpu, n = 0;

	for (cpu = 0; cpu < 16; cpu++)
		sbm_set(b, cpu);
	sbm_for_each_cpu(cpu, it, b) {
		/* Cleared in the word that is being walked: still visited. Later: not. */
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

/* The summary: set by sbm_set(), left by sbm_clear(), taken away by the next search. */
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
	sbm_free(b);
	shard_plan_free(plan);
}

/* A cleaner that was interrupted half-way: its shard counts as occupied. */
static void shard_that_is_being_cleaned_counts_as_occupied(void)
{
	struct shard_plan *plan = shape_plan(&small_leaves);
	struct sbm *b = sbm_alloc(plan, SBM_SUMMARY);
	u64 *word = &b->summary->word[0];

	__sbm_set(b, 6);
	*word = shard_summary_cleaning(3);
	CHECK(!sbm_empty(b));
	CHECK(!sbm_seems_empty(b));
	CHECK_EQ(sbm_first_cpu(b), 6);
	__sbm_clear(b, 6);
	CHECK(sbm_empty(b));
	CHECK(!sbm_seems_empty(b));
	/* Somebody else is at it: the second cleaner leaves everything as it is. */
	CHECK_EQ(*word, shard_summary_cleaning(3));
	*word |= shard_summary_occupied(3);
	CHECK(sbm_empty(b));
	CHECK_EQ(*word, shard_summary_cleaning(3) | shard_summary_occupied(3));
	sbm_free(b);
	shard_plan_free(plan);
}

/* A cleaner that finds the line occupied when it looks again puts the bit back. */
static void cleaner_puts_the_bit_back(void)
{
	struct shard_plan *plan = shape_plan(&small_leaves);
	struct sbm *b = sbm_alloc(plan, SBM_SUMMARY);

	sbm_set(b, 6);
	shard_summary_clean(b->summary, 3, b->line[3]);
	CHECK_EQ(b->summary->word[0], shard_summary_occupied(3));
	sbm_free(b);
	shard_plan_free(plan);
}

/* What lies behind the words of a line is another's: it keeps no bit up. */
static void cleaner_looks_at_its_words_only(void)
{
	struct shard_plan *plan = shape_plan(&small_leaves);
	struct shard_summary *s = shard_summary_alloc(plan);
	const u64 line[3] = { 0, 0, 1 };

	CHECK(s);
	shard_summary_note(s, 3);
	shard_summary_clean_words(s, 3, line, 2, ~0ull);
	CHECK(!shard_summary_test(s, 3));
	shard_summary_note(s, 3);
	shard_summary_clean_words(s, 3, line, 3, ~0ull);
	CHECK(shard_summary_test(s, 3));
	shard_summary_free(s);
	shard_plan_free(plan);
}

static void nearest_cpu(struct sbm *b)
{
	unsigned long allowed[8] = { 0 };

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
	unsigned long all[8], mask[8];
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
	sbm_free(b);
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
	sbm_free(b);
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
	sbm_free(NULL);
	shard_plan_free(plan);
}

#define TESTS(TEST)                                          \
	TEST(prototype_bug_endless_loop_on_empty_leaves)     \
	TEST(prototype_bug_leaf_after_empty_leaf_skipped)    \
	TEST(prototype_bug_more_than_64_cpus_a_leaf)         \
	TEST(prototype_bug_shift_off_by_one)                 \
	TEST(prototype_bug_unwrapped_walk)                   \
	TEST(wrap_around_one_word_visits_each_cpu_once)      \
	TEST(test_and_set_tells_what_was)                    \
	TEST(weight_stops_at_the_limit)                      \
	TEST(walk_sees_one_snapshot_of_each_word)            \
	TEST(summary_is_cleaned_by_searches)                 \
	TEST(shard_that_is_being_cleaned_counts_as_occupied) \
	TEST(cleaner_puts_the_bit_back)                      \
	TEST(cleaner_looks_at_its_words_only)                \
	TEST(near_cpu_prefers_the_own_shard)                 \
	TEST(holes_in_masks_are_ignored)                     \
	TEST(lines_are_apart_and_aligned)                    \
	TEST(no_memory_leaves_nothing_behind)

TEST_MAIN(sbm_test, TESTS)
