// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads on one byte map: plain stores to neighbouring bytes do not disturb each other, and
 * a search sees each CPU at its old or its new value.
 */
#include "bytemap_find.h"
#include "shapes.h"
#include "threads.h"

#define ROUNDS 300000u

static const struct shape shape = { .name = "64", 2, 1, 1, 16, 2, 1, .adjacent = true };
static struct shard_plan *plan;
static struct bytemap *map;
static u32 writing; /* number of threads that still write */

static void write_own_bytes(u32 thread)
{
	u64 random = 33 + thread;
	u8 value[64] = { 0 };

	for (u32 i = 0; i < ROUNDS; i++) {
		u32 cpu = test_below(&random, plan->nr_cpus / NR_THREADS) * NR_THREADS + thread;

		CHECK_EQ(bytemap_get(map, cpu), value[cpu]);
		value[cpu] = (u8)test_below(&random, BYTEMAP_MAX + 1);
		bytemap_set(map, cpu, value[cpu]);
		CHECK_EQ(bytemap_get(map, cpu), value[cpu]);
	}
	for (u32 cpu = thread; cpu < plan->nr_cpus; cpu += NR_THREADS)
		CHECK_EQ(bytemap_get(map, cpu), value[cpu]);
}

static void neighbours_are_never_disturbed(void)
{
	plan = shape_plan(&shape);
	map = bytemap_alloc(plan, 0);
	run_threads(write_own_bytes);
	bytemap_free(map);
	shard_plan_free(plan);
}

#define LOW    10u
#define MIDDLE 50u
#define HIGH   90u

/* Checks a search of the whole map while CPU 5 goes from LOW to HIGH and back. */
static void check_min(void)
{
	unsigned long found, all = ~0ul, flipping = 1ul << 5, expect;
	s64 first;
	int min = bytemap_find_min(map, 128, NULL, 40, &found, &first);

	CHECK(min == (int)LOW || min == (int)MIDDLE);
	expect = min == (int)LOW ? flipping : all & ~flipping;
	CHECK_MASK_EQ(&found, &expect, 64);
	CHECK(first == 5 || min != (int)LOW);

	/* A search for this CPU alone finds it at one of its two levels, never at none. */
	min = bytemap_find_min(map, 128, &flipping, 40, &found, &first);
	CHECK(min == (int)LOW || min == (int)HIGH);
	CHECK_EQ(found, flipping);
	CHECK_EQ(first, 5);

	bytemap_find_below(map, MIDDLE + 1, NULL, 0, &found, NULL);
	CHECK_EQ(found | flipping, all);
	bytemap_find_equal(map, MIDDLE, NULL, 0, &found, NULL);
	CHECK_EQ(found, all & ~flipping);
}

static void flip_or_search(u32 thread)
{
	if (thread == 0) {
		for (u32 i = 0; i < ROUNDS * 10; i++)
			bytemap_set(map, 5, i % 2 ? LOW : HIGH);
		__atomic_store_n(&writing, 0, __ATOMIC_RELAXED);
		return;
	}
	for (u32 i = 0; i < ROUNDS / 4 || READ_ONCE(writing); i++)
		check_min();
}

static void search_sees_the_old_or_the_new_value(void)
{
	plan = shape_plan(&shape);
	map = bytemap_alloc(plan, MIDDLE);
	bytemap_set(map, 5, LOW);
	writing = 1;
	run_threads(flip_or_search);
	bytemap_free(map);
	shard_plan_free(plan);
}

int main(void)
{
	RUN(neighbours_are_never_disturbed);
	RUN(search_sees_the_old_or_the_new_value);
	return test_done();
}
