// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Compares the sharded bitmap with its model, with and without a summary, for every shape. */
#include "sbm_model.h"

static void check_walk_and(struct model *m)
{
	u32 nr = m->plan->nr_possible, cpu, idx = 0;

	random_mask(m);
	sbm_for_each_cpu_and(cpu, it, m->b, m->mask)
		expect_next(m, cpu, &idx, nr, m->mask);
	CHECK_EQ(model_next(m, idx, nr, m->mask), -1);
}

static void check_wrapped_walk(struct model *m)
{
	u32 start = any_idx(m), start_cpu = cpu_at(m, start), cpu;
	struct round r = { start, start, false };

	sbm_for_each_cpu_wrap(cpu, it, m->b, start_cpu)
		CHECK_EQ(cpu, round_next(m, &r, NULL));
	CHECK_EQ(round_next(m, &r, NULL), -1);
}

static void check_empty(struct model *m)
{
	u32 weight = model_weight(m);

	if (m->b->summary)
		CHECK(!weight || !sbm_seems_empty(m->b));
	CHECK_EQ(sbm_empty(m->b), !weight);
	if (m->b->summary) /* the search of all lines above has corrected the summary */
		CHECK_EQ(sbm_seems_empty(m->b), !weight);
}

static void check(struct model *m)
{
	switch (test_below(&m->random, 3)) {
	case 0:
		check_walk_and(m);
		break;
	case 1:
		check_wrapped_walk(m);
		break;
	default:
		check_empty(m);
	}
}

MODEL_MAIN(sbm_model)
