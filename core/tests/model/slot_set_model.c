// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Compares a set of slots with an array of bools, for every shape and for few and many slots. */
#include "shapes.h"
#include "shard_topo.h"
#include "slot_claim.h"
#include "test.h"

#define MAX_SLOTS 6000u

struct model {
	const struct shard_plan *plan;
	struct slot_set *s;
	u64 random;
	u32 nr, nr_free;
	bool free[MAX_SLOTS];
	u32 home[MAX_SLOTS];  /* shard */
	u32 first[MAX_SLOTS]; /* the shard that was its first home */
	u32 part[MAX_SLOTS];
};

/* The shard whose line contains a slot's bit. Where homes follow, the slot must be free. */
static u32 home_of(const struct model *m, u32 slot, u32 part)
{
	const struct slot_part *p = m->s->part[part];
	u32 found = 0, homes = 0, begin;

	slot -= p->first;
	for (u32 shard = 0; shard < m->plan->nr_shards; shard++) {
		u32 word = (slot >> p->shift) + p->row * shard;

		if (word < p->from[shard] || word >= p->from[shard + 1])
			continue;
		begin = p->row ? p->from[shard] : word;
		CHECK_EQ((uintptr_t)p->word[begin] % PORT_CACHELINE, 0);
		if (p->row && !(*p->word[word] >> slot % 64 & 1))
			continue;
		found = shard;
		homes++;
	}
	CHECK_EQ(homes, 1);
	return found;
}

/* Adds new slots to the model; puts those of an empty set. Each shard has its share of others. */
static void learn(struct model *m, u32 first, u32 part)
{
	const struct slot_part *p = m->s->part[part];

	CHECK_EQ(p->first, first);
	CHECK_EQ(p->from[m->plan->nr_shards], p->nr_words);
	for (u32 slot = first; slot < first + p->nr; slot++) {
		m->part[slot] = part;
		if (m->s->empty) {
			CHECK(!slot_is_free(m->s, slot));
			slot_put(m->s, slot);
		}
		m->home[slot] = m->first[slot] = home_of(m, slot, part);
		m->free[slot] = true;
	}
	for (u32 shard = 0; p->row && shard < m->plan->nr_shards; shard++) {
		u64 share = (u64)p->nr * m->plan->shard[shard].nr_cpus / m->plan->nr_possible;
		u32 n = 0;

		for (u32 slot = first; slot < first + p->nr; slot++)
			n += m->home[slot] == shard;
		CHECK(n == share || n == share + 1);
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

/* A claim passes over no free slot of an earlier part, nor a nearer one of the same part. */
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

/* Claims several slots: as many as are free, and none while a nearer one is free. */
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

/* Claims a certain slot, which is free or not. */
static void claim_one(struct model *m)
{
	u32 slot = test_below(&m->random, m->nr);

	CHECK_EQ(slot_is_free(m->s, slot), m->free[slot]);
	CHECK_EQ(slot_take(m->s, slot), m->free[slot]);
	if (m->free[slot])
		taken(m, slot);
}

/* Walks over the slots that are taken. */
static void walk(struct model *m)
{
	s64 next = slot_next_taken(m->s, 0);

	for (u32 slot = 0; slot < m->nr; slot++) {
		if (m->free[slot])
			continue;
		CHECK_EQ(next, slot);
		next = slot_next_taken(m->s, slot + 1);
	}
	CHECK_EQ(next, -1);
	CHECK_EQ(slot_next_taken(m->s, m->nr), -1);
}

/* A full set gives exactly @limit slots, and each word gives its share of them. */
static void claim_limited(const struct shard_plan *plan, unsigned int flags, u32 nr, u32 more,
			  u32 limit)
{
	struct slot_set *s = slot_set_alloc(plan, nr, flags);
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
	for (u32 i = 0; i < s->nr_parts; i++) {
		const struct slot_part *p = s->part[i];

		for (u32 begin = 0; begin < p->nr; begin += 1u << p->shift) {
			u32 end = begin + (1u << p->shift), here = 0;

			end = end < p->nr ? end : p->nr;
			for (u32 at = begin; at < end; at++)
				here += got[p->first + at];
			/* rounded up or down */
			CHECK((u64)here * (nr + more) < (u64)n * (end - begin) + nr + more);
			CHECK((here + 1ull) * (nr + more) > (u64)n * (end - begin));
		}
	}
	for (u32 i = 0; i < nr + more; i++)
		if (got[i])
			slot_put(s, i);
	CHECK_EQ(slot_set_nr_free(s), nr + more);
	slot_set_destroy(s);
}

static void limited(void)
{
	for (u32 i = 0; i < 2 * nr_shapes; i++) {
		struct shard_plan *plan = shape_plan(&shapes[i / 2]);
		unsigned int flags = i % 2 ? SLOT_FOLLOW : 0;

		claim_limited(plan, flags, 1, 0, 0);
		claim_limited(plan, flags, 1, 0, 1);
		claim_limited(plan, flags, 63, 0, 7);
		claim_limited(plan, flags, 200, 0, 64);
		claim_limited(plan, flags, 1500, 700, 1);
		claim_limited(plan, flags, 1500, 700, 999);
		claim_limited(plan, flags, 1500, 700, 2200);
		claim_limited(plan, flags, 64, 3, 5000);
		shard_plan_free(plan);
	}
}

/* Where homes follow, a put for a CPU makes its shard the home; any other put, the first home. */
static void put(struct model *m)
{
	u32 slot = test_below(&m->random, m->nr), home = m->home[slot];
	u32 cpu = m->plan->idx_to_cpu[test_below(&m->random, m->plan->nr_possible)];

	if (m->free[slot])
		return;
	if (test_below(&m->random, 4)) {
		slot_put_near(m->s, slot, cpu);
		m->home[slot] = m->s->nr_follow ? m->plan->slot[cpu].shard : home;
	} else {
		slot_put(m->s, slot);
		m->home[slot] = m->first[slot];
	}
	CHECK_EQ(home_of(m, slot, m->part[slot]), m->home[slot]);
	m->free[slot] = true;
	m->nr_free++;
}

/* Puts several slots at once, in the order of their numbers. */
static void put_several(struct model *m)
{
	u32 cpu = m->plan->idx_to_cpu[test_below(&m->random, m->plan->nr_possible)];
	u32 slots[70] = { 0 }, n = 0, most = test_below(&m->random, 70);

	for (u32 slot = test_below(&m->random, m->nr); slot < m->nr && n < most; slot++)
		if (!m->free[slot])
			slots[n++] = slot;
	slot_put_n(m->s, cpu, n, slots);
	for (u32 i = 0; i < n; i++) {
		m->free[slots[i]] = true;
		if (m->s->nr_follow)
			m->home[slots[i]] = m->plan->slot[cpu].shard;
		CHECK_EQ(home_of(m, slots[i], m->part[slots[i]]), m->home[slots[i]]);
	}
	m->nr_free += n;
}

static void run(const struct shape *shape, unsigned int flags, u32 nr)
{
	static struct model m;
	struct shard_plan *plan = shape_plan(shape);
	u32 parts = 1, steps = 600;

	memset(&m, 0, sizeof(m));
	m.plan = plan;
	m.random = test_state.start + nr;
	m.s = slot_set_alloc(plan, nr, flags);
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
		else if (!test_below(&m.random, 20))
			claim_one(&m);
		else if (!test_below(&m.random, 20))
			put_several(&m);
		else
			put(&m);
		if (!test_below(&m.random, 20))
			walk(&m);
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
	slot_set_destroy(m.s);
	shard_plan_free(plan);
}

static void every_shape(void)
{
	static const u32 sizes[] = { 1, 2, 63, 64, 200, 1500 };

	for (u32 i = 0; i < 4 * nr_shapes; i++)
		for (u32 j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++)
			run(&shapes[i / 4], i % 4, sizes[j]);
}

static void limits(void)
{
	struct shard_plan *plan = shape_plan(&shapes[0]);
	struct slot_set *s;

	CHECK(!slot_set_alloc(plan, 0, 0));
	CHECK(!slot_set_alloc(plan, SLOT_SET_MAX + 1, 0));
	CHECK(!slot_set_alloc(plan, 0, SLOT_FOLLOW));
	CHECK(!slot_set_alloc(plan, SLOT_FOLLOW_MAX + 1, SLOT_FOLLOW));
	s = slot_set_alloc(plan, 1, 0);
	CHECK(s);
	for (u32 i = 1; i < SLOT_SET_PARTS; i++)
		CHECK(slot_set_grow(s, 1));
	CHECK(!slot_set_grow(s, 1));
	CHECK_EQ(slot_set_size(s), SLOT_SET_PARTS);
	for (u32 i = 0; i < SLOT_SET_PARTS; i++)
		CHECK_EQ(slot_claim_near(s, plan->idx_to_cpu[0]), i);
	slot_put(s, SLOT_SET_PARTS - 1);
	CHECK_EQ(slot_claim_near(s, plan->idx_to_cpu[0]), SLOT_SET_PARTS - 1);
	slot_set_destroy(s);
	shard_plan_free(plan);
}

static void no_memory(void)
{
	struct shard_plan *plan = shape_plan(&shapes[3]);
	size_t before = test_bytes_allocated();

	for (unsigned int flags = 0; flags <= SLOT_FOLLOW; flags++) {
		struct slot_set *s = NULL;

		for (unsigned int n = 1; !s; n++) {
			CHECK(n < 1000);
			test_fail_alloc(n);
			s = slot_set_alloc(plan, 100, flags);
			test_fail_alloc(0);
			CHECK(s || test_bytes_allocated() == before);
		}
		slot_set_destroy(s);
	}
	slot_set_destroy(NULL);
	CHECK_EQ(test_bytes_allocated(), before);
	shard_plan_free(plan);
}

#define TESTS(TEST)       \
	TEST(every_shape) \
	TEST(limited)     \
	TEST(limits)      \
	TEST(no_memory)
TEST_MAIN(slot_set_model, TESTS)
