/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The sharded bitmap's model: an array of bools by index. The model's order is the plan's index
 * order, which plan_model.c checks. Each test adds its own checks.
 */
#ifndef SBM_MODEL_H
#define SBM_MODEL_H

#include "sbm_more.h"
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

/* The first set index in [@idx, @end), in @mask if that is not NULL; -1: none. */
static inline s64 model_next(const struct model *m, u32 idx, u32 end, const unsigned long *mask)
{
	for (; idx < end; idx++)
		if (m->set[idx] && (!mask || test_bit(mask, cpu_at(m, idx))))
			return idx;
	return -1;
}

static inline u32 model_weight(const struct model *m)
{
	u32 n = 0;

	for (u32 idx = 0; idx < m->plan->nr_possible; idx++)
		n += m->set[idx];
	return n;
}

/* One step of a walk: @cpu must be the next one of the model from @*idx on. */
static inline void expect_next(const struct model *m, u32 cpu, u32 *idx, u32 end,
			       const unsigned long *mask)
{
	s64 expect = model_next(m, *idx, end, mask);

	CHECK(expect >= 0);
	CHECK_EQ(cpu, cpu_at(m, (u32)expect));
	*idx = (u32)expect + 1;
}

/* The model of a wrapped walk: from the start to the end, then from 0 to the start. */
struct round {
	u32 idx, start;
	bool wrapped;
};

static inline s64 round_next(const struct model *m, struct round *r, const unsigned long *mask)
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

/* Empties a shard, so that walks meet empty ones. */
static inline void empty_shard_of(struct model *m, u32 cpu)
{
	for (u32 i = 0; i < m->plan->nr_possible; i++)
		if (m->plan->slot[cpu_at(m, i)].shard == m->plan->slot[cpu].shard) {
			sbm_clear(m->b, cpu_at(m, i));
			m->set[i] = false;
		}
}

static void change(struct model *m)
{
	u32 idx = any_idx(m), cpu = cpu_at(m, idx), kind = test_below(&m->random, 6);

	if (kind == 0)
		sbm_set(m->b, cpu);
	else if (kind == 1)
		CHECK_EQ(sbm_test_and_set(m->b, cpu), m->set[idx]);
	else if (kind == 2)
		sbm_clear(m->b, cpu);
	else if (kind == 3)
		CHECK_EQ(sbm_test_and_clear(m->b, cpu), m->set[idx]);
	else if (kind == 4)
		empty_shard_of(m, cpu);
	else
		CHECK_EQ(sbm_test(m->b, cpu), m->set[idx]);
	if (kind < 4)
		m->set[idx] = kind < 2;
}

static void run(const struct shape *shape, unsigned int flags, void (*check)(struct model *m))
{
	static struct model m;
	struct shard_plan *plan = shape_plan(shape);
	u32 steps = plan->nr_possible > 1000 ? 1500 : 4000;

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
	sbm_destroy(m.b);
	shard_plan_free(plan);
}

/* Every shape, without and with a summary. */
#define MODEL_MAIN(suite)                                    \
	static void without_summary(void)                    \
	{                                                    \
		for (u32 i = 0; i < nr_shapes; i++)          \
			run(&shapes[i], 0, check);           \
	}                                                    \
	static void with_summary(void)                       \
	{                                                    \
		for (u32 i = 0; i < nr_shapes; i++)          \
			run(&shapes[i], SBM_SUMMARY, check); \
	}                                                    \
	TEST_MAIN(suite, MODEL_TESTS)
#define MODEL_TESTS(TEST)     \
	TEST(without_summary) \
	TEST(with_summary)

#endif /* SBM_MODEL_H */
