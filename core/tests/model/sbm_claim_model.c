// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Claims of the sharded bitmap against their model, for every shape. */
#include "sbm_model.h"
#include "sbm_claim.h"
#include "shard_topo.h"

/* The distance of an index from a caller; the smallest one is claimed first. */
static u64 distance(const struct model *m, u32 from, u32 idx)
{
	const struct shard_slot *own = &m->plan->slot[cpu_at(m, from)];
	const struct shard_slot *slot = &m->plan->slot[cpu_at(m, idx)];
	const struct shard_close *close = &m->plan->close[cpu_at(m, from)];
	u32 nr = m->plan->shard[slot->shard].nr_cpus, start = (own->pos + own->shard) % nr, kind;

	if (slot->shard != own->shard)
		return shard_near_rank(m->plan, own->shard, slot->shard) << 8 |
		       (slot->pos + nr - start) % nr;
	if (slot->pos == own->pos)
		return 0;
	kind = close->core >> slot->pos & 1 ? 1 : close->l2 >> slot->pos & 1 ? 2 : 3;
	return kind << 6 | (slot->pos + nr - own->pos) % nr;
}

/* The nearest set index, in @mask if that is given; -1: none. */
static s64 nearest(const struct model *m, u32 from, const unsigned long *mask)
{
	u64 best = ~0ull;
	s64 found = -1;

	for (u32 idx = 0; idx < m->plan->nr_possible; idx++)
		if (m->set[idx] && (!mask || test_bit(mask, cpu_at(m, idx))) &&
		    distance(m, from, idx) < best) {
			best = distance(m, from, idx);
			found = idx;
		}
	return found;
}

static s64 expect_claim(struct model *m, u32 from, const unsigned long *mask)
{
	s64 idx = nearest(m, from, mask);

	if (idx < 0)
		return -1;
	m->set[idx] = false;
	return cpu_at(m, (u32)idx);
}

static void claim_one(struct model *m)
{
	u32 from = any_idx(m);

	if (test_below(&m->random, 2)) {
		s64 expect = expect_claim(m, from, NULL);

		CHECK_EQ(sbm_claim_near(m->b, cpu_at(m, from)), expect);
	} else {
		s64 expect;

		random_mask(m);
		expect = expect_claim(m, from, m->mask);
		CHECK_EQ(sbm_claim_and(m->b, m->mask, cpu_at(m, from)), expect);
	}
}

static void claim_several(struct model *m)
{
	u32 cpus[20], from = any_idx(m), n = test_below(&m->random, 20), got, expect = 0;
	bool before[TEST_MAX_CPUS];

	memcpy(before, m->set, sizeof(before));
	while (expect < n && expect_claim(m, from, NULL) >= 0)
		expect++;
	got = sbm_claim_n(m->b, cpu_at(m, from), n, cpus);
	CHECK_EQ(got, expect);
	for (u32 i = 0; i < got; i++) {
		u32 idx = m->plan->slot[cpus[i]].idx;

		CHECK(before[idx] && !m->set[idx]); /* was set, is claimed, and not twice */
		before[idx] = false;
	}
}

static void change(struct model *m)
{
	u32 puts = test_below(&m->random, 4);

	if (!test_below(&m->random, 50))
		puts = m->plan->nr_possible;
	while (puts--) {
		u32 idx = any_idx(m);

		sbm_put(m->b, cpu_at(m, idx));
		m->set[idx] = true;
	}
	if (!test_below(&m->random, 20))
		empty_shard_of(m, cpu_at(m, any_idx(m)));
}

static void check(struct model *m)
{
	if (test_below(&m->random, 4))
		claim_one(m);
	else
		claim_several(m);
	CHECK_EQ(sbm_empty(m->b), model_next(m, 0, m->plan->nr_possible, NULL) < 0);
}

MODEL_MAIN(sbm_claim_model)
