// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Compares more operations of the sharded bitmap with its model, for every shape. */
#include "sbm_model.h"
#include "sbm_more.h"
#include "shard_topo.h"

static void check_walk(struct model *m)
{
	u32 nr = m->plan->nr_possible, cpu, idx = 0;

	sbm_for_each_cpu(cpu, it, m->b)
		expect_next(m, cpu, &idx, nr, NULL);
	CHECK_EQ(model_next(m, idx, nr, NULL), -1);
}

static void check_wrapped_walks(struct model *m)
{
	u32 start = any_idx(m), start_cpu = cpu_at(m, start), cpu;
	struct round r = { start, start, false };
	s64 at;

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

/*
 * The search must find the CPU itself, or else the set and allowed CPU at the lowest position of
 * the shard of lowest rank.
 */
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

		if (!m->set[idx] || (mask && !test_bit(mask, cpu)))
			continue;
		if (idx == from) {
			expect = cpu;
			break;
		}
		if (rank < best) {
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

static void check(struct model *m)
{
	switch (test_below(&m->random, 7)) {
	case 0:
		check_walk(m);
		break;
	case 1:
		check_wrapped_walks(m);
		break;
	case 2:
		check_next(m);
		break;
	case 3:
		CHECK_EQ(sbm_weight(m->b), model_weight(m));
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

MODEL_MAIN(sbm_more_model)
