// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* A set of slots against an array of bools, for every shape and for few and many slots. */
#include "shapes.h"
#include "shard_topo.h"
#include "slot_more.h"
#include "test.h"

#define MAX_SLOTS 6000u

struct model {
	const struct shard_plan *plan;
	struct slot_set *s;
	u64 random;
	u32 nr, nr_free;
	bool free[MAX_SLOTS];
	u32 home[MAX_SLOTS]; /* shard */
	u32 part[MAX_SLOTS];
};

/* Homes by the lines: each slot of a word belongs to the shard that has the word. */
static void learn(struct model *m, u32 first, u32 part)
{
	const struct slot_part *p = m->s->part[part];

	CHECK_EQ(p->first, first);
	CHECK_EQ(p->from[m->plan->nr_shards], p->nr_words);
	for (u32 shard = 0; shard < m->plan->nr_shards; shard++)
		for (u32 word = p->from[shard]; word < p->from[shard + 1]; word++) {
			CHECK_EQ((uintptr_t)p->word[word] % PORT_CACHELINE, 0);
			for (u32 i = 0; i < 1u << p->shift; i++)
				if ((word << p->shift) + i < p->nr)
					m->home[first + (word << p->shift) + i] = shard;
		}
	for (u32 slot = first; slot < first + p->nr; slot++) {
		m->free[slot] = true;
		m->part[slot] = part;
	}
	m->nr = first + p->nr;
	m->nr_free += p->nr;
	CHECK_EQ(slot_set_size(m->s), m->nr);
}

static void taken(struct model *m, u32 slot)
{
	CHECK(slot < m->nr && m->free[slot]);
	m->free[slot] = false;
	m->nr_free--;
}

/* No free slot of an earlier part, or of the same part in a nearer shard, is passed over. */
static void claim(struct model *m)
{
	u32 cpu = m->plan->idx_to_cpu[test_below(&m->random, m->plan->nr_possible)];
	u32 own = m->plan->slot[cpu].shard;
	s64 got = slot_claim_near(m->s, cpu);
	u64 rank;

	CHECK_EQ(got < 0, !m->nr_free);
	if (got < 0)
		return;
	CHECK(got < m->nr && m->free[got]);
	rank = shard_near_rank(m->plan, own, m->home[got]);
	for (u32 slot = 0; slot < m->nr; slot++)
		if (m->free[slot] && m->part[slot] <= m->part[got])
			CHECK(m->part[slot] == m->part[got] &&
			      shard_near_rank(m->plan, own, m->home[slot]) >= rank);
	taken(m, (u32)got);
}

/* As many as there are, and no near shard is passed over. */
static void claim_several(struct model *m)
{
	u32 cpu = m->plan->idx_to_cpu[test_below(&m->random, m->plan->nr_possible)];
	u32 own = m->plan->slot[cpu].shard, slots[70], n = 1 + test_below(&m->random, 70);
	u32 want = n < m->nr_free ? n : m->nr_free;
	u64 rank = 0;

	CHECK_EQ(slot_claim_n(m->s, cpu, n, slots), want);
	for (u32 i = 0; i < want; i++)
		taken(m, slots[i]);
	for (u32 i = 0; i < want; i++)
		if (m->part[slots[i]] == m->part[slots[want - 1]]) {
			u64 at = shard_near_rank(m->plan, own, m->home[slots[i]]);

			CHECK(at >= rank);
			rank = at;
		}
	for (u32 slot = 0; want && slot < m->nr; slot++)
		if (m->free[slot] && m->part[slot] == m->part[slots[want - 1]])
			CHECK(shard_near_rank(m->plan, own, m->home[slot]) >= rank);
}

/* From a full set exactly @limit slots come, in each shard its share to one a word. */
static void claim_limited(const struct shard_plan *plan, u32 nr, u32 more, u32 limit)
{
	struct slot_set *s = slot_set_alloc(plan, nr);
	bool got[MAX_SLOTS] = { false };
	u32 n = 0;
	s64 slot;

	CHECK(s && (!more || slot_set_grow(s, more)));
	while ((slot = slot_claim_limit(s, plan->idx_to_cpu[n % plan->nr_possible], limit)) >= 0) {
		CHECK(!got[slot]);
		got[slot] = true;
		n++;
	}
	CHECK_EQ(n, limit < nr + more ? limit : nr + more);
	CHECK_EQ(slot_set_nr_free(s), nr + more - n);
	for (u32 begin = 0; begin < nr + more; begin += 64) {
		u32 end = begin + 64 < nr + more ? begin + 64 : nr + more, here = 0;

		for (u32 i = begin; i < end; i++)
			here += got[i];
		/* two words may have parts in these 64 numbers */
		CHECK(here <= (u64)n * (end - begin) / (nr + more) + 64);
	}
	for (u32 i = 0; i < nr + more; i++)
		if (got[i])
			slot_put(s, i);
	CHECK_EQ(slot_set_nr_free(s), nr + more);
	slot_set_free(s);
}

static void limited(void)
{
	for (u32 i = 0; i < nr_shapes; i++) {
		struct shard_plan *plan = shape_plan(&shapes[i]);

		claim_limited(plan, 1, 0, 0);
		claim_limited(plan, 1, 0, 1);
		claim_limited(plan, 63, 0, 7);
		claim_limited(plan, 200, 0, 64);
		claim_limited(plan, 1500, 700, 1);
		claim_limited(plan, 1500, 700, 999);
		claim_limited(plan, 1500, 700, 2200);
		claim_limited(plan, 64, 3, 5000);
		shard_plan_free(plan);
	}
}

static void put(struct model *m)
{
	u32 slot = test_below(&m->random, m->nr);

	if (m->free[slot])
		return;
	slot_put(m->s, slot);
	m->free[slot] = true;
	m->nr_free++;
}

static void run(const struct shape *shape, u32 nr)
{
	static struct model m;
	struct shard_plan *plan = shape_plan(shape);
	u32 parts = 1, steps = TEST_STEPS(600);

	memset(&m, 0, sizeof(m));
	m.plan = plan;
	m.random = test_state.start + nr;
	m.s = slot_set_alloc(plan, nr);
	CHECK(m.s);
	test_state.shape = shape->name;
	test_state.seed = test_state.start;
	learn(&m, 0, 0);
	for (test_state.step = 0; test_state.step < steps; test_state.step++) {
		bool fills = test_state.step / 100 % 2 == 0;

		if (test_below(&m.random, 10) < (fills ? 7 : 3))
			claim(&m);
		else if (!test_below(&m.random, 20))
			claim_several(&m);
		else
			put(&m);
		if (!test_below(&m.random, 100) && parts < 4) {
			u32 more = 1 + test_below(&m.random, 300), first = m.nr;

			CHECK(slot_set_grow(m.s, more));
			learn(&m, first, parts++);
		}
		CHECK_EQ(slot_set_nr_free(m.s), m.nr_free);
	}
	while (m.nr_free)
		claim(&m);
	CHECK_EQ(slot_claim_near(m.s, plan->idx_to_cpu[0]), -1);
	slot_set_free(m.s);
	shard_plan_free(plan);
}

static void every_shape(void)
{
	static const u32 sizes[] = { 1, 2, 63, 64, 200, 1500 };

	for (u32 i = 0; i < nr_shapes; i++)
		for (u32 j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++)
			run(&shapes[i], sizes[j]);
}

static void limits(void)
{
	struct shard_plan *plan = shape_plan(&shapes[0]);
	struct slot_set *s;

	CHECK(!slot_set_alloc(plan, 0));
	CHECK(!slot_set_alloc(plan, SLOT_SET_MAX + 1));
	s = slot_set_alloc(plan, 1);
	CHECK(s);
	for (u32 i = 1; i < SLOT_SET_PARTS; i++)
		CHECK(slot_set_grow(s, 1));
	CHECK(!slot_set_grow(s, 1));
	CHECK_EQ(slot_set_size(s), SLOT_SET_PARTS);
	for (u32 i = 0; i < SLOT_SET_PARTS; i++)
		CHECK_EQ(slot_claim_near(s, plan->idx_to_cpu[0]), i);
	slot_put(s, SLOT_SET_PARTS - 1);
	CHECK_EQ(slot_claim_near(s, plan->idx_to_cpu[0]), SLOT_SET_PARTS - 1);
	slot_set_free(s);
	shard_plan_free(plan);
}

#define TESTS(TEST)       \
	TEST(every_shape) \
	TEST(limited)     \
	TEST(limits)
TEST_MAIN(slot_set_model, TESTS)
