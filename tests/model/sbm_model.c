// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The sharded bitmap against an array of bools by index, with and without a summary, for
 * every shape. The model's order is the plan's index order, which plan_model.c checks.
 */
#include "sbm.h"
#include "shapes.h"
#include "test.h"

struct model {
	const struct shard_plan *plan;
	struct sbm *b;
	u64 random;
	bool set[TEST_MAX_CPUS];	    /* by index */
	unsigned long mask[TEST_MAX_WORDS]; /* ordinary mask, holes included */
};

static u32 any_idx(struct model *m)
{
	return test_below(&m->random, m->plan->nr_possible);
}

static u32 cpu_at(const struct model *m, u32 idx)
{
	return m->plan->idx_to_cpu[idx];
}

static void random_mask(struct model *m)
{
	u32 few = test_below(&m->random, 12), kind = test_below(&m->random, 3);

	memset(m->mask, kind == 0 ? 0xff : 0, sizeof(m->mask));
	if (kind == 1)
		for (u32 i = 0; i < few; i++)
			test_set_bit(m->mask, test_below(&m->random, m->plan->nr_cpus));
	if (kind == 2)
		for (u32 cpu = 0; cpu < m->plan->nr_cpus; cpu++)
			if (test_below(&m->random, 2))
				test_set_bit(m->mask, cpu);
	if (test_below(&m->random, 2))
		test_set_tail(m->mask, m->plan->nr_cpus);
}

/* First set index from @idx on, in @mask if that is given; -1: none. */
static s64 model_next(const struct model *m, u32 idx, u32 end, const unsigned long *mask)
{
	for (; idx < end; idx++)
		if (m->set[idx] && (!mask || test_bit(mask, cpu_at(m, idx))))
			return idx;
	return -1;
}

static u32 model_weight(const struct model *m)
{
	u32 n = 0;

	for (u32 idx = 0; idx < m->plan->nr_possible; idx++)
		n += m->set[idx];
	return n;
}

/* One step of a walk: @cpu must be the next one of the model from @*idx on. */
static void expect_next(const struct model *m, u32 cpu, u32 *idx, u32 end,
			const unsigned long *mask)
{
	s64 expect = model_next(m, *idx, end, mask);

	CHECK(expect >= 0);
	CHECK_EQ(cpu, cpu_at(m, (u32)expect));
	*idx = (u32)expect + 1;
}

static void check_walks(struct model *m)
{
	u32 nr = m->plan->nr_possible, cpu, idx = 0;

	sbm_for_each_cpu(cpu, it, m->b)
		expect_next(m, cpu, &idx, nr, NULL);
	CHECK_EQ(model_next(m, idx, nr, NULL), -1);

	random_mask(m);
	idx = 0;
	sbm_for_each_cpu_and(cpu, it, m->b, m->mask)
		expect_next(m, cpu, &idx, nr, m->mask);
	CHECK_EQ(model_next(m, idx, nr, m->mask), -1);
}

/* The model of a wrapped walk: from the start to the end, then from 0 to the start. */
struct round {
	u32 idx, start;
	bool wrapped;
};

static s64 round_next(const struct model *m, struct round *r, const unsigned long *mask)
{
	s64 found;

	if (!r->wrapped) {
		found = model_next(m, r->idx, m->plan->nr_possible, mask);
		if (found >= 0) {
			r->idx = (u32)found + 1;
			return cpu_at(m, (u32)found);
		}
		r->wrapped = true;
		r->idx = 0;
	}
	found = model_next(m, r->idx, r->start, mask);
	if (found < 0)
		return -1;
	r->idx = (u32)found + 1;
	return cpu_at(m, (u32)found);
}

static void check_wrapped_walks(struct model *m)
{
	u32 start = any_idx(m), start_cpu = cpu_at(m, start), cpu;
	struct round r = { start, start, false };
	s64 at;

	sbm_for_each_cpu_wrap(cpu, it, m->b, start_cpu)
		CHECK_EQ(cpu, round_next(m, &r, NULL));
	CHECK_EQ(round_next(m, &r, NULL), -1);

	r = (struct round){ start, start, false };
	for (at = sbm_first_cpu_wrap(m->b, start_cpu); at >= 0;
	     at = sbm_next_cpu_wrap(m->b, (u32)at, start_cpu))
		CHECK_EQ(at, round_next(m, &r, NULL));
	CHECK_EQ(round_next(m, &r, NULL), -1);

	random_mask(m);
	r = (struct round){ start, start, false };
	sbm_for_each_cpu_and_wrap(cpu, it, m->b, m->mask, start_cpu)
		CHECK_EQ(cpu, round_next(m, &r, m->mask));
	CHECK_EQ(round_next(m, &r, m->mask), -1);
}

static void check_next(struct model *m)
{
	u32 nr = m->plan->nr_possible, idx = test_below(&m->random, nr + 2);
	s64 expect = model_next(m, idx, nr, NULL);

	CHECK_EQ(sbm_next_idx(m->b, idx), expect);
	expect = model_next(m, 0, nr, NULL);
	CHECK_EQ(sbm_first_cpu(m->b), expect < 0 ? -1 : (s64)cpu_at(m, (u32)expect));
	idx = any_idx(m);
	expect = model_next(m, idx + 1, nr, NULL);
	CHECK_EQ(sbm_next_cpu(m->b, cpu_at(m, idx)), expect < 0 ? -1 : (s64)cpu_at(m, (u32)expect));
}

static void check_weights(struct model *m)
{
	u32 weight = model_weight(m), limit = test_below(&m->random, 20);

	CHECK_EQ(sbm_weight(m->b), weight);
	CHECK_EQ(sbm_weight_upto(m->b, limit), weight < limit ? weight : limit);
	if (m->b->summary)
		CHECK(!weight || !sbm_seems_empty(m->b));
	CHECK_EQ(sbm_empty(m->b), !weight);
	if (m->b->summary) /* a search of all lines has just put the summary right */
		CHECK_EQ(sbm_seems_empty(m->b), !weight);
}

static void check_to_mask(struct model *m)
{
	static unsigned long got[TEST_MAX_WORDS], expect[TEST_MAX_WORDS];

	memset(expect, 0, sizeof(expect));
	for (u32 idx = 0; idx < m->plan->nr_possible; idx++)
		if (m->set[idx])
			test_set_bit(expect, cpu_at(m, idx));
	memset(got, 0xa5, sizeof(got));
	sbm_to_mask(m->b, got);
	CHECK_MASK_EQ(got, expect, m->plan->nr_cpus);
}

/* The set allowed CPU whose shard has the lowest rank, then the lowest position. */
static void check_near(struct model *m)
{
	u32 from = any_idx(m), own = m->plan->slot[cpu_at(m, from)].shard;
	const unsigned long *mask = test_below(&m->random, 2) ? m->mask : NULL;
	s64 expect = -1;
	u64 best = ~0ull;

	random_mask(m);
	for (u32 idx = 0; idx < m->plan->nr_possible; idx++) {
		u32 cpu = cpu_at(m, idx);
		u64 rank = shard_near_rank(m->plan, own, m->plan->slot[cpu].shard);

		if (m->set[idx] && (!mask || test_bit(mask, cpu)) && rank < best) {
			best = rank;
			expect = cpu;
		}
	}
	CHECK_EQ(sbm_near_cpu(m->b, mask, cpu_at(m, from)), expect);
}

static void from_mask(struct model *m)
{
	random_mask(m);
	sbm_from_mask(m->b, m->mask);
	for (u32 idx = 0; idx < m->plan->nr_possible; idx++)
		m->set[idx] = test_bit(m->mask, cpu_at(m, idx));
}

/* As a caller does that keeps the place. */
static void change_at(struct model *m, u32 idx)
{
	struct sbm_place at = sbm_place(m->b, cpu_at(m, idx));

	m->set[idx] = test_below(&m->random, 2);
	if (m->set[idx])
		sbm_set_at(&at);
	else
		sbm_clear_at(&at);
}

static void change(struct model *m)
{
	u32 idx = any_idx(m), cpu = cpu_at(m, idx);

	switch (test_below(&m->random, 9)) {
	case 0:
		sbm_set(m->b, cpu);
		m->set[idx] = true;
		break;
	case 1:
		sbm_clear(m->b, cpu);
		m->set[idx] = false;
		break;
	case 2:
		CHECK_EQ(sbm_test_and_set(m->b, cpu), m->set[idx]);
		m->set[idx] = true;
		break;
	case 3:
		CHECK_EQ(sbm_test_and_clear(m->b, cpu), m->set[idx]);
		m->set[idx] = false;
		break;
	case 4:
		__sbm_set(m->b, cpu);
		m->set[idx] = true;
		break;
	case 5:
		__sbm_clear(m->b, cpu);
		m->set[idx] = false;
		break;
	case 6: /* empty a whole shard: leaves must become empty for walks to meet empty ones */
		for (u32 i = 0; i < m->plan->nr_possible; i++)
			if (m->plan->slot[cpu_at(m, i)].shard == m->plan->slot[cpu].shard) {
				sbm_clear(m->b, cpu_at(m, i));
				m->set[i] = false;
			}
		break;
	case 7:
		if (m->b->summary)
			change_at(m, idx);
		break;
	default:
		CHECK_EQ(sbm_test(m->b, cpu), m->set[idx]);
	}
}

static void check(struct model *m)
{
	switch (test_below(&m->random, 7)) {
	case 0:
		check_walks(m);
		break;
	case 1:
		check_wrapped_walks(m);
		break;
	case 2:
		check_next(m);
		break;
	case 3:
		check_weights(m);
		break;
	case 4:
		check_to_mask(m);
		break;
	case 5:
		check_near(m);
		break;
	default:
		if (!test_below(&m->random, 16))
			from_mask(m);
	}
}

static void run(const struct shape *shape, unsigned int flags)
{
	static struct model m;
	struct shard_plan *plan = shape_plan(shape);
	u32 steps = TEST_STEPS(plan->nr_possible > 1000 ? 1500 : 4000);

	memset(&m, 0, sizeof(m));
	m.plan = plan;
	m.random = test_state.start;
	m.b = sbm_alloc(plan, flags);
	test_state.shape = shape->name;
	test_state.seed = test_state.start;
	for (test_state.step = 0; test_state.step < steps; test_state.step++) {
		change(&m);
		check(&m);
	}
	sbm_free(m.b);
	shard_plan_free(plan);
}

static void without_summary(void)
{
	for (u32 i = 0; i < nr_shapes; i++)
		run(&shapes[i], 0);
}

static void with_summary(void)
{
	for (u32 i = 0; i < nr_shapes; i++)
		run(&shapes[i], SBM_SUMMARY);
}

#define TESTS(TEST)           \
	TEST(without_summary) \
	TEST(with_summary)

TEST_MAIN(sbm_model, TESTS)
