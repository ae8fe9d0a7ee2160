// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The overload set against an array with each CPU's state, overloaded or wide, for every shape. One
 * caller at a time: the explorer covers races.
 */
#include "overload.h"
#include "shapes.h"
#include "test.h"

enum { CALM, NARROW, WIDE };

struct model {
	const struct shard_plan *plan;
	struct overload *set;
	u64 random;
	u8 state[TEST_MAX_CPUS]; /* by index */
};

static u32 any_idx(struct model *m)
{
	return test_below(&m->random, m->plan->nr_possible);
}

static u32 shard_of_idx(const struct model *m, u32 idx)
{
	return m->plan->slot[m->plan->idx_to_cpu[idx]].shard;
}

static void set_state(struct model *m, u32 idx, u8 state)
{
	u32 cpu = m->plan->idx_to_cpu[idx];

	m->state[idx] = state;
	if (state == CALM)
		overload_clear(m->set, cpu);
	else
		overload_set(m->set, cpu, state == WIDE);
}

/* Mostly few CPUs are overloaded, so that a change of one CPU changes an answer. */
static void change(struct model *m)
{
	u32 keep = test_below(&m->random, 4);

	set_state(m, any_idx(m), (u8)test_below(&m->random, 3));
	if (!test_below(&m->random, 6))
		for (u32 idx = 0; idx < m->plan->nr_possible; idx++)
			if (m->state[idx] != CALM && (!keep || !keep--))
				set_state(m, idx, CALM);
}

static void check_query(struct model *m)
{
	u32 me = any_idx(m), expect = 0;

	for (u32 idx = 0; idx < m->plan->nr_possible; idx++) {
		if (m->state[idx] == CALM)
			continue;
		if (idx == me)
			expect |= OVERLOAD_SELF;
		else if (shard_of_idx(m, idx) == shard_of_idx(m, me))
			expect |= OVERLOAD_NEAR;
		else if (m->state[idx] == WIDE)
			expect |= OVERLOAD_WIDE;
	}
	CHECK_EQ(overload_query(m->set, m->plan->idx_to_cpu[me], test_state.step / 4), expect);
	CHECK_EQ(overload_test(m->set, m->plan->idx_to_cpu[me]), m->state[me] != CALM);
}

/* The first index in [@idx, @end) whose state is at least @least; -1: none. */
static s64 model_next(const struct model *m, u32 idx, u32 end, u8 least)
{
	for (; idx < end; idx++)
		if (m->state[idx] >= least)
			return idx;
	return -1;
}

static s64 cpu_at(const struct model *m, s64 idx)
{
	return idx < 0 ? -1 : (s64)m->plan->idx_to_cpu[idx];
}

static void check_members(struct model *m)
{
	u32 shard = shard_of_idx(m, any_idx(m));
	u32 first = m->plan->shard[shard].first_idx, nr = m->plan->shard[shard].nr_cpus;
	u64 any = 0, wide = 0;

	for (u32 pos = 0; pos < nr; pos++) {
		any |= (u64)(m->state[first + pos] >= NARROW) << pos;
		wide |= (u64)(m->state[first + pos] >= WIDE) << pos;
	}
	CHECK_EQ(overload_members(m->set, shard, false), any);
	CHECK_EQ(overload_members(m->set, shard, true), wide);
}

static void check_near_walk(struct model *m)
{
	u32 shard = shard_of_idx(m, any_idx(m));
	u32 idx = m->plan->shard[shard].first_idx, end = idx + m->plan->shard[shard].nr_cpus;

	for (s64 cpu = -1, found;; cpu = cpu_at(m, found), idx = (u32)found + 1) {
		found = model_next(m, idx, end, NARROW);
		CHECK_EQ(overload_next_near(m->set, shard, cpu), cpu_at(m, found));
		if (found < 0)
			break;
	}
}

static void check_wide_walk(struct model *m)
{
	u32 idx = test_below(&m->random, 2) ? 0 : any_idx(m) + 1;
	s64 cpu = idx ? (s64)m->plan->idx_to_cpu[idx - 1] : -1;

	for (s64 found;; cpu = cpu_at(m, found), idx = (u32)found + 1) {
		found = model_next(m, idx, m->plan->nr_possible, WIDE);
		CHECK_EQ(overload_next_wide(m->set, cpu), cpu_at(m, found));
		if (found < 0)
			break;
	}
}

static void run(const struct shape *shape)
{
	static struct model m;
	struct shard_plan *plan = shape_plan(shape);
	u32 steps = plan->nr_possible > 1000 ? 400 : 2500;

	memset(&m, 0, sizeof(m));
	m.plan = plan;
	m.random = test_state.start;
	m.set = overload_alloc(plan);
	CHECK(m.set);
	test_state.shape = shape->name;
	test_state.seed = test_state.start;
	for (test_state.step = 0; test_state.step < steps; test_state.step++) {
		change(&m);
		check_query(&m);
		check_members(&m);
		if (test_below(&m.random, 2))
			check_near_walk(&m);
		else
			check_wide_walk(&m);
	}
	overload_free(m.set);
	shard_plan_free(plan);
}

static void every_shape(void)
{
	for (u32 i = 0; i < nr_shapes; i++)
		run(&shapes[i]);
}

/* Only a query of another shard removes a shard from the summary, if no CPU of it is wide. */
static void tidying_hides_nobody(void)
{
	static const struct shape shape = { .name = "4 x 4", 1, 1, 4, 2, 2, 1, .adjacent = true };
	struct shard_plan *plan = shape_plan(&shape);
	struct overload *set = overload_alloc(plan);

	CHECK(set);
	overload_set(set, 5, true);
	overload_set(set, 6, false);
	CHECK_EQ(overload_query(set, 0, 1), OVERLOAD_WIDE);
	CHECK(shard_summary_test(set->summary, 1));
	overload_clear(set, 5);
	CHECK_EQ(overload_query(set, 7, 1), OVERLOAD_NEAR);
	CHECK(shard_summary_test(set->summary, 1));
	CHECK_EQ(overload_query(set, 0, 1), 0);
	CHECK(!shard_summary_test(set->summary, 1));
	CHECK_EQ(overload_query(set, 7, 2), OVERLOAD_NEAR);
	overload_set(set, 6, true);
	CHECK_EQ(overload_query(set, 15, 2), OVERLOAD_WIDE);
	overload_free(set);
	shard_plan_free(plan);
}

static void no_memory_leaves_nothing_behind(void)
{
	static const struct shape shape = { .name = "2 nodes", 2, 1, 2, 4, 2, 1 };
	struct shard_plan *plan = shape_plan(&shape);
	size_t before = test_bytes_allocated();

	for (unsigned int n = 1; n <= 5; n++) { /* header, map, lines of two nodes, summary */
		test_fail_alloc(n);
		CHECK(!overload_alloc(plan));
		CHECK_EQ(test_bytes_allocated(), before);
	}
	test_fail_alloc(0);
	overload_free(NULL);
	shard_plan_free(plan);
}

#define TESTS(TEST)                \
	TEST(every_shape)          \
	TEST(tidying_hides_nobody) \
	TEST(no_memory_leaves_nothing_behind)

TEST_MAIN(overload_model, TESTS)
