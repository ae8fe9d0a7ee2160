// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Slots that roam, against an array of homes, for every shape and for few and many slots. */
#include "shapes.h"
#include "shard_topo.h"
#include "slot_roam.h"
#include "test.h"

#define MAX_SLOTS 6000u
#define TAKEN	  (~0u)

struct model {
	const struct shard_plan *plan;
	struct slot_roam *s;
	u64 random;
	u32 nr, nr_free;
	u32 home[MAX_SLOTS]; /* shard, or TAKEN */
};

/* Each slot has one home, and each shard no more than its share of all. */
static void learn(struct model *m)
{
	m->nr_free = m->nr;
	for (u32 slot = 0; slot < m->nr; slot++) {
		m->home[slot] = TAKEN;
		for (u32 shard = 0; shard < m->plan->nr_shards; shard++) {
			if (!(m->s->row[shard][slot / 64] >> slot % 64 & 1))
				continue;
			CHECK_EQ(m->home[slot], TAKEN);
			m->home[slot] = shard;
		}
		CHECK(m->home[slot] != TAKEN);
	}
	for (u32 shard = 0; shard < m->plan->nr_shards; shard++) {
		u64 share = (u64)m->nr * m->plan->shard[shard].nr_cpus / m->plan->nr_possible;
		u32 n = 0;

		CHECK_EQ((uintptr_t)m->s->row[shard] % PORT_CACHELINE, 0);
		for (u32 slot = 0; slot < m->nr; slot++)
			n += m->home[slot] == shard;
		CHECK(n == share || n == share + 1);
	}
}

static u32 random_cpu(struct model *m)
{
	return m->plan->idx_to_cpu[test_below(&m->random, m->plan->nr_possible)];
}

/* No free slot of a nearer shard is passed over. */
static void claim(struct model *m)
{
	u32 cpu = random_cpu(m), own = m->plan->slot[cpu].shard;
	s64 got = slot_roam_claim_near(m->s, cpu);
	u64 rank;

	CHECK_EQ(got < 0, !m->nr_free);
	if (got < 0)
		return;
	CHECK(got < m->nr && m->home[got] != TAKEN);
	rank = shard_near_rank(m->plan, own, m->home[got]);
	for (u32 slot = 0; slot < m->nr; slot++)
		if (m->home[slot] != TAKEN)
			CHECK(shard_near_rank(m->plan, own, m->home[slot]) >= rank);
	m->home[got] = TAKEN;
	m->nr_free--;
}

/* A put makes the shard of its CPU the home. */
static void put(struct model *m)
{
	u32 slot = test_below(&m->random, m->nr), cpu = random_cpu(m);

	for (u32 i = 0; i < m->nr && m->home[slot] != TAKEN; i++)
		slot = slot + 1 < m->nr ? slot + 1 : 0;
	if (m->home[slot] != TAKEN)
		return;
	slot_roam_put(m->s, slot, cpu);
	m->home[slot] = m->plan->slot[cpu].shard;
	m->nr_free++;
}

static void compare(const struct shard_plan *plan, u32 nr, u32 steps)
{
	static struct model m;

	m = (struct model){ .plan = plan, .nr = nr, .random = 77 + nr };
	m.s = slot_roam_alloc(plan, nr);
	CHECK(m.s);
	learn(&m);
	for (u32 i = 0; i < steps; i++) {
		/* phases in which claims, and in which puts are more frequent */
		if (test_below(&m.random, 8) < (i / (2 * nr + 8) % 2 ? 3u : 6u))
			claim(&m);
		else
			put(&m);
		CHECK_EQ(slot_roam_nr_free(m.s), m.nr_free);
	}
	slot_roam_free(m.s);
}

static void every_shape(void)
{
	static const u32 numbers[] = { 1, 3, 64, 65, 200 };

	for (u32 i = 0; i < nr_shapes; i++) {
		struct shard_plan *plan = shape_plan(&shapes[i]);

		for (u32 k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
			compare(plan, numbers[k], 400);
		shard_plan_free(plan);
	}
}

static void many_slots(void)
{
	struct shard_plan *plan = shape_plan(&shapes[3]);

	compare(plan, 5000, 300);
	shard_plan_free(plan);
}

static void wrong_numbers_and_no_memory(void)
{
	struct shard_plan *plan = shape_plan(&shapes[3]);
	size_t before = test_bytes_allocated();
	struct slot_roam *s = NULL;

	CHECK(!slot_roam_alloc(plan, 0) && !slot_roam_alloc(plan, SLOT_ROAM_MAX + 1));
	slot_roam_free(NULL);
	for (unsigned int n = 1; !s; n++) {
		CHECK(n < 1000);
		test_fail_alloc(n);
		s = slot_roam_alloc(plan, 100);
		test_fail_alloc(0);
		CHECK(s || test_bytes_allocated() == before);
	}
	slot_roam_free(s);
	CHECK_EQ(test_bytes_allocated(), before);
	shard_plan_free(plan);
}

#define TESTS(TEST)       \
	TEST(every_shape) \
	TEST(many_slots)  \
	TEST(wrong_numbers_and_no_memory)
TEST_MAIN(slot_roam_model, TESTS)
