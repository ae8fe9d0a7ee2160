// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The byte map against an array of bytes by CPU number, for every shape. */
#include "bytemap_find.h"
#include "shapes.h"
#include "test.h"

struct model {
	const struct shard_plan *plan;
	struct bytemap *map;
	u64 random;
	u8 value[TEST_MAX_CPUS];
	unsigned long mask[TEST_MAX_WORDS];
};

static u32 any_cpu(struct model *m)
{
	return m->plan->idx_to_cpu[test_below(&m->random, m->plan->nr_possible)];
}

/* All CPUs, none, few, half, or about the number at which sparse becomes dense. */
static const unsigned long *random_mask(struct model *m)
{
	u32 kind = test_below(&m->random, 5), few = test_below(&m->random, 24);

	memset(m->mask, 0, sizeof(m->mask));
	if (kind == 0)
		return NULL;
	if (kind == 1)
		memset(m->mask, 0xff, sizeof(m->mask));
	if (kind == 2)
		for (u32 i = 0; i < few; i++)
			test_set_bit(m->mask, test_below(&m->random, m->plan->nr_cpus));
	if (kind == 3)
		for (u32 i = 0, cpu = any_cpu(m); i < few && cpu < m->plan->nr_cpus; i++, cpu++)
			test_set_bit(m->mask, cpu);
	if (kind == 4)
		for (u32 cpu = 0; cpu < m->plan->nr_cpus; cpu++)
			if (test_below(&m->random, 2))
				test_set_bit(m->mask, cpu);
	if (test_below(&m->random, 2))
		test_set_tail(m->mask, m->plan->nr_cpus);
	return m->mask;
}

struct expected {
	unsigned long found[TEST_MAX_WORDS];
	s64 first;
	u32 n;
};

/* CPUs of @allowed with a value from @lo to @hi. */
static void search(const struct model *m, const unsigned long *allowed, u32 from, u32 lo, u32 hi,
		   struct expected *e)
{
	const struct shard_plan *plan = m->plan;
	u32 own = plan->slot[from].shard;
	u64 best = ~0ull;

	memset(e, 0, sizeof(*e));
	e->first = -1;
	for (u32 idx = 0; idx < plan->nr_possible; idx++) {
		u32 cpu = plan->idx_to_cpu[idx];
		u64 rank = shard_near_rank(plan, own, plan->slot[cpu].shard);

		if (allowed && !test_bit(allowed, cpu))
			continue;
		if (m->value[cpu] < lo || m->value[cpu] > hi)
			continue;
		test_set_bit(e->found, cpu);
		e->n++;
		if (rank < best) {
			best = rank;
			e->first = cpu;
		}
	}
}

static int model_min(const struct model *m, const unsigned long *allowed, u32 limit)
{
	u32 min = limit;

	for (u32 cpu = 0; cpu < m->plan->nr_cpus; cpu++)
		if (shard_plan_has_cpu(m->plan, cpu) && (!allowed || test_bit(allowed, cpu)) &&
		    m->value[cpu] < min)
			min = m->value[cpu];
	return min < limit ? (int)min : -1;
}

static void check_find(struct model *m, u32 top)
{
	static unsigned long found[TEST_MAX_WORDS];
	static struct expected e;
	const unsigned long *allowed = random_mask(m);
	u32 from = any_cpu(m), asked = test_below(&m->random, top + 2), n, kind;
	int min = -1;
	s64 first;

	kind = test_below(&m->random, 3);
	if (kind == 0 && asked > BYTEMAP_MAX)
		kind = 1;
	memset(found, 0x5a, sizeof(found));
	if (kind == 0) {
		search(m, allowed, from, asked, asked, &e);
		n = bytemap_find_equal(m->map, (u8)asked, allowed, from, found, &first);
	} else if (kind == 1) {
		search(m, allowed, from, 1, 0, &e);
		if (asked)
			search(m, allowed, from, 0, asked - 1, &e);
		n = bytemap_find_below(m->map, (u8)asked, allowed, from, found, &first);
	} else {
		search(m, allowed, from, 1, 0, &e);
		min = model_min(m, allowed, asked);
		if (min >= 0)
			search(m, allowed, from, (u32)min, (u32)min, &e);
		CHECK_EQ(bytemap_find_min(m->map, (u8)asked, allowed, from, found, &first), min);
		n = e.n;
	}
	CHECK_EQ(n, e.n);
	CHECK_EQ(first, e.first);
	CHECK_MASK_EQ(found, e.found, m->plan->nr_cpus);

	/* Without a result mask the search finds the same nearest CPU. */
	if (kind == 0)
		n = bytemap_find_equal(m->map, (u8)asked, allowed, from, NULL, &first);
	else if (kind == 1)
		n = bytemap_find_below(m->map, (u8)asked, allowed, from, NULL, &first);
	else
		CHECK_EQ(bytemap_find_min(m->map, (u8)asked, allowed, from, NULL, &first), min);
	CHECK_EQ(first, e.first);
	if (kind < 2)
		CHECK_EQ(n, e.n > 0);
}

static void run(const struct shape *shape, u32 top)
{
	static struct model m;
	struct shard_plan *plan = shape_plan(shape);
	u32 steps = plan->nr_possible > 1000 ? 600 : 2500;

	memset(&m, 0, sizeof(m));
	m.plan = plan;
	m.random = test_state.start;
	m.map = bytemap_alloc(plan, (u8)top);
	memset(m.value, (int)top, sizeof(m.value));
	test_state.shape = shape->name;
	test_state.seed = test_state.start;
	for (test_state.step = 0; test_state.step < steps; test_state.step++) {
		for (u32 i = test_below(&m.random, 8); i; i--) {
			u32 cpu = any_cpu(&m);

			m.value[cpu] = (u8)test_below(&m.random, top + 1);
			bytemap_set(m.map, cpu, m.value[cpu]);
			CHECK_EQ(bytemap_get(m.map, cpu), m.value[cpu]);
		}
		check_find(&m, top);
	}
	bytemap_free(m.map);
	shard_plan_free(plan);
}

static void all_values(void)
{
	for (u32 i = 0; i < nr_shapes; i++)
		run(&shapes[i], BYTEMAP_MAX);
}

/* Many CPUs at each value. */
static void few_values(void)
{
	for (u32 i = 0; i < nr_shapes; i++)
		run(&shapes[i], 3);
}

#define TESTS(TEST)      \
	TEST(all_values) \
	TEST(few_values)

TEST_MAIN(bytemap_model, TESTS)
