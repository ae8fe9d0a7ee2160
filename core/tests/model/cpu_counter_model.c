// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Compares the counter that has a line per CPU with one number, for every shape. */
#include "cpu_counter.h"
#include "shapes.h"
#include "test.h"

static void run(const struct shape *shape, u32 batch)
{
	struct shard_plan *plan = shape_plan(shape);
	struct cpu_counter *c = cpu_counter_alloc(plan, batch);
	s64 count = 0, ever = 0, bound;
	u64 random = test_state.start;

	CHECK(c);
	bound = (s64)plan->nr_possible * (batch ? batch - 1 : 0);
	test_state.shape = shape->name;
	test_state.seed = test_state.start;
	for (test_state.step = 0; test_state.step < 3000; test_state.step++) {
		u32 cpu = plan->idx_to_cpu[test_below(&random, plan->nr_possible)];
		s64 n = (s64)test_below(&random, 2000) - 900;

		if (batch || test_below(&random, 2))
			cpu_counter_add(c, cpu, n);
		else
			cpu_counter_add_any(c, cpu, n);
		count += n;
		ever += n;
		if (batch) {
			s64 miss = cpu_counter_about(c) - ever;

			CHECK(miss <= bound && miss >= -bound);
			if (batch == 1)
				CHECK_EQ(miss, 0);
		}
		if (!test_below(&random, 20))
			CHECK_EQ(cpu_counter_sum(c), count);
		if (!test_below(&random, 40)) {
			CHECK_EQ(cpu_counter_take(c), count);
			count = 0;
		}
	}
	for (u32 idx = 0; idx < plan->nr_possible; idx++) {
		const struct cpu_counter_line *line = c->line[plan->idx_to_cpu[idx]];

		CHECK_EQ((uintptr_t)line % PORT_CACHELINE, 0); /* no other data in the line */
		for (u32 before = 0; before < idx && idx < 100; before++)
			CHECK(c->line[plan->idx_to_cpu[before]] != line);
	}
	cpu_counter_destroy(c);
	shard_plan_free(plan);
}

/* Few CPUs add and subtract around 0. Sums include theirs, and read no other CPU's line. */
static void few_adders(const struct shape *shape)
{
	struct shard_plan *plan = shape_plan(shape);
	struct cpu_counter *c = cpu_counter_alloc(plan, 0);
	u64 random = test_state.start;
	bool *added = calloc(plan->nr_cpus, sizeof(*added));
	s64 count = 0;

	CHECK(c && added);
	test_state.shape = shape->name;
	test_state.seed = test_state.start;
	for (u32 cpu = 0; cpu < plan->nr_cpus; cpu++)
		if (c->line[cpu])
			c->line[cpu]->count = 1ull << 40; /* no sum may see it */
	for (test_state.step = 0; test_state.step < 1000; test_state.step++) {
		/* seldom a new CPU, mostly one that has added */
		u32 cpu = plan->idx_to_cpu[test_below(&random, plan->nr_possible)];
		s64 n = (s64)test_below(&random, 3) - 1;

		if (test_below(&random, 50) && !added[cpu])
			continue;
		if (!added[cpu])
			c->line[cpu]->count = 0;
		added[cpu] = true;
		if (test_below(&random, 2))
			cpu_counter_add(c, cpu, n);
		else
			cpu_counter_add_any(c, cpu, n);
		count += n;
		CHECK_EQ(cpu_counter_sum(c), count);
	}
	for (u32 idx = 0; idx < plan->nr_possible; idx++)
		CHECK_EQ(c->noted[idx / 64] >> idx % 64 & 1, added[plan->idx_to_cpu[idx]]);
	free(added);
	cpu_counter_destroy(c);
	shard_plan_free(plan);
}

static void every_shape(void)
{
	static const u32 batches[] = { 0, 1, 64, 5000 };

	for (u32 i = 0; i < nr_shapes; i++) {
		for (u32 j = 0; j < 4; j++)
			run(&shapes[i], batches[j]);
		few_adders(&shapes[i]);
	}
}

#define TESTS(TEST) TEST(every_shape)
TEST_MAIN(cpu_counter_model, TESTS)
