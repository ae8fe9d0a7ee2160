// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The priority map against an array of levels by CPU number, for every shape, with allowed and
 * active CPUs and fitness at random. One caller at a time: the explorer covers races.
 */
#include "cpupri.h"
#include "shapes.h"
#include "test.h"

struct model {
	const struct shard_plan *plan;
	struct cpupri map;
	u64 random;
	int level[TEST_MAX_CPUS];
	unsigned long allowed[TEST_MAX_WORDS];
	unsigned long active[TEST_MAX_WORDS];
	unsigned long unfit[TEST_MAX_WORDS];
	unsigned long found[TEST_MAX_WORDS];
	unsigned long expected[TEST_MAX_WORDS];
};

static u32 any_cpu(struct model *m)
{
	return m->plan->idx_to_cpu[test_below(&m->random, m->plan->nr_possible)];
}

/* Few CPUs, few neighbours, half, or all; bits beyond the last CPU are random. */
static void random_mask(struct model *m, unsigned long *mask)
{
	u32 nr = m->plan->nr_cpus, kind = test_below(&m->random, 4);
	u32 few = 1 + test_below(&m->random, 30), cpu = test_below(&m->random, nr);

	memset(mask, 0, sizeof(m->allowed));
	for (u32 i = 0; kind == 0 && i < few; i++)
		test_set_bit(mask, test_below(&m->random, nr));
	for (u32 i = 0; kind == 1 && i < few && cpu + i < nr; i++)
		test_set_bit(mask, cpu + i);
	for (cpu = 0; kind >= 2 && cpu < nr; cpu++)
		if (kind == 3 || test_below(&m->random, 2))
			test_set_bit(mask, cpu);
	if (test_below(&m->random, 2))
		test_set_tail(mask, nr);
}

static bool fits(u32 cpu, void *arg)
{
	const struct model *m = arg;

	return !test_bit(m->unfit, cpu);
}

static void change(struct model *m)
{
	static const int often[] = { CPUPRI_INVALID, CPUPRI_NORMAL, 1, 50, 98, 99, CPUPRI_HIGHER };
	u32 cpu = any_cpu(m);
	int level = test_below(&m->random, 3) ? often[test_below(&m->random, 7)]
					      : (int)test_below(&m->random, 102) - 1;

	m->level[cpu] = level;
	cpupri_set(&m->map, cpu, level);
	CHECK_EQ(cpupri_get(&m->map, cpu), level);
}

/* The lowest level below @limit of a CPU that counts, or -1; m->expected receives its CPUs. */
static int expect_find(struct model *m, int limit, bool fit)
{
	int best = limit;

	for (int pass = 0; pass < 2; pass++) {
		memset(m->expected, 0, sizeof(m->expected));
		for (u32 cpu = 0; cpu < m->plan->nr_cpus; cpu++) {
			int level = m->level[cpu];

			if (!shard_plan_has_cpu(m->plan, cpu) || !test_bit(m->allowed, cpu) ||
			    !test_bit(m->active, cpu) || (fit && test_bit(m->unfit, cpu)))
				continue;
			if (level >= 0 && level < best)
				best = level;
			if (pass && level == best && best < limit)
				test_set_bit(m->expected, cpu);
		}
	}
	if (best == limit && fit)
		return expect_find(m, limit, false);
	return best < limit ? best : -1;
}

/* The LLC, node or package level at which two CPUs meet. */
static u32 distance(const struct model *m, u32 a, u32 b)
{
	return (u32)(shard_near_rank(m->plan, m->plan->slot[a].shard, m->plan->slot[b].shard) >>
		     32);
}

/* At CPUPRI_NORMAL a near search may leave CPUs out, but none nearer than one that it found. */
static void check_near(const struct model *m, u32 from, int level)
{
	u32 farthest = 0, nearest_left_out = ~0u, n = 0;

	if (level > CPUPRI_NORMAL)
		CHECK_MASK_EQ(m->found, m->expected, m->plan->nr_cpus);
	for (u32 cpu = 0; cpu < m->plan->nr_cpus; cpu++) {
		u32 far;

		if (!test_bit(m->expected, cpu)) {
			CHECK(!test_bit(m->found, cpu));
			continue;
		}
		far = distance(m, from, cpu);
		if (test_bit(m->found, cpu)) {
			n++;
			if (far > farthest)
				farthest = far;
		} else if (far < nearest_left_out) {
			nearest_left_out = far;
		}
	}
	CHECK(n > 0);
	CHECK(farthest <= nearest_left_out);
}

static void check_find(struct model *m)
{
	int limit = (int)test_below(&m->random, 102) - 1, expect;
	bool fit = test_below(&m->random, 2);
	u32 from = any_cpu(m);

	random_mask(m, m->allowed);
	random_mask(m, m->active);
	if (fit)
		random_mask(m, m->unfit);

	expect = expect_find(m, limit, fit);
	memset(m->found, 0x5a, sizeof(m->found));
	CHECK_EQ(cpupri_find_fitness(&m->map, limit, from, m->allowed, m->active, m->found,
				     fit ? fits : NULL, m),
		 expect + 1);
	if (expect >= 0)
		CHECK_MASK_EQ(m->found, m->expected, m->plan->nr_cpus);
	CHECK_EQ(cpupri_find_near(&m->map, limit, from, m->allowed, m->active, m->found,
				  fit ? fits : NULL, m),
		 expect + 1);
	if (expect >= 0)
		check_near(m, from, expect);
	expect = expect_find(m, limit, false);
	CHECK_EQ(cpupri_find(&m->map, limit, from, m->allowed, m->active, NULL) > 0, expect >= 0);
}

static void run(const struct shape *shape)
{
	static struct model m;
	struct shard_plan *plan = shape_plan(shape);
	u32 steps = plan->nr_possible > 1000 ? 300 : 2000;

	memset(&m, 0, sizeof(m));
	m.plan = plan;
	m.random = test_state.start;
	CHECK(cpupri_init(&m.map, plan));
	for (u32 cpu = 0; cpu < plan->nr_cpus; cpu++)
		m.level[cpu] = CPUPRI_INVALID;
	test_state.shape = shape->name;
	test_state.seed = test_state.start;
	for (test_state.step = 0; test_state.step < steps; test_state.step++) {
		for (u32 i = 0; i < 8; i++)
			change(&m);
		check_find(&m);
	}
	cpupri_cleanup(&m.map);
	shard_plan_free(plan);
}

static void every_shape(void)
{
	for (u32 i = 0; i < nr_shapes; i++)
		run(&shapes[i]);
}

static void every_level_against_every_other(void)
{
	static const struct shape shape = { .name = "8 x 2", 1, 1, 8, 1, 2, 1, .adjacent = true };
	struct shard_plan *plan = shape_plan(&shape);
	unsigned long all = ~0ul, found = 0;
	struct cpupri map;

	CHECK(cpupri_init(&map, plan));
	CHECK_EQ(cpupri_find(&map, CPUPRI_HIGHER, 0, &all, &all, &found), 0);
	for (int stored = CPUPRI_INVALID; stored <= CPUPRI_HIGHER; stored++) {
		cpupri_set(&map, 11, stored);
		for (int asked = CPUPRI_INVALID; asked <= CPUPRI_HIGHER; asked++) {
			bool hit = stored >= CPUPRI_NORMAL && stored < asked;

			CHECK_EQ(cpupri_find(&map, asked, 3, &all, &all, &found),
				 hit ? stored + 1 : 0);
			if (hit)
				CHECK_EQ(found, 1 << 11);
		}
	}
	cpupri_cleanup(&map);
	shard_plan_free(plan);
}

/*
 * No CPU of a full shard is at CPUPRI_NORMAL. The next shard's line, which follows in memory, has
 * one, which no search may take for a CPU of this shard.
 */
static void a_full_shard_without_a_normal_cpu(void)
{
	static const struct shape shape = { .name = "2 x 64", 1, 1, 2, 64, 1, 1 };
	unsigned long first[128 / TEST_WORD] = { 0 }, all[128 / TEST_WORD] = { 0 };
	unsigned long found[128 / TEST_WORD], expected[128 / TEST_WORD] = { 0 };
	struct shard_plan *plan = shape_plan(&shape);
	struct cpupri map;

	CHECK(cpupri_init(&map, plan));
	CHECK(map.map->line[1] == map.map->line[0] + PORT_CACHELINE / sizeof(u64));
	for (u32 cpu = 0; cpu < 128; cpu++) {
		cpupri_set(&map, cpu, 50);
		test_set_bit(all, cpu);
		if (cpu < 64)
			test_set_bit(first, cpu);
	}
	cpupri_set(&map, 64 + 5, CPUPRI_NORMAL);
	test_set_bit(expected, 64 + 5);
	CHECK_EQ(cpupri_find(&map, 99, 0, first, all, NULL), 50 + 1);
	CHECK_EQ(cpupri_find_near(&map, 99, 0, all, all, found, NULL, NULL), CPUPRI_NORMAL + 1);
	CHECK_MASK_EQ(found, expected, 128);
	cpupri_cleanup(&map);
	shard_plan_free(plan);
}

static void no_memory_leaves_nothing_behind(void)
{
	static const struct shape shape = { .name = "2 nodes", 2, 1, 2, 4, 2, 1 };
	struct shard_plan *plan = shape_plan(&shape);
	size_t before = test_bytes_allocated();
	struct cpupri map;

	for (unsigned int n = 1; n <= 3; n++) { /* header, lines of two nodes */
		test_fail_alloc(n);
		CHECK(!cpupri_init(&map, plan));
		CHECK_EQ(test_bytes_allocated(), before);
	}
	test_fail_alloc(0);
	shard_plan_free(plan);
}

#define TESTS(TEST)                             \
	TEST(every_shape)                       \
	TEST(every_level_against_every_other)   \
	TEST(a_full_shard_without_a_normal_cpu) \
	TEST(no_memory_leaves_nothing_behind)

TEST_MAIN(cpupri_model, TESTS)
