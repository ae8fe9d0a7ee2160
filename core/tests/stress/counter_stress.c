// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads use one counter while it is attached: the final count must be exact, and every sum must
 * include an item that stays counted. Threads also use new counters with a line per CPU: a sum must
 * include each add that was announced before.
 */
#include "cpu_counter.h"
#include "shapes.h"
#include "shard_counter.h"
#include "threads.h"

#define ROUNDS 1000000u

static const struct shape shape = { .name = "32", 2, 2, 1, 4, 2, 1 };
static struct shard_plan *plan;
static struct shard_counter counter;
static u64 expected;

/* Unpaired use: a thread adds for one CPU and subtracts for another. */
static void add_anything(u32 thread)
{
	u64 random = 11 + thread;
	s64 total = 0;

	for (u32 i = 0; i < ROUNDS; i++) {
		s64 n = (s64)test_below(&random, 2001) - 1000;

		if (thread == 0 && i == ROUNDS / 3)
			CHECK(shard_counter_attach(&counter, plan));
		shard_counter_add(&counter, test_below(&random, plan->nr_cpus), n);
		total += n;
	}
	port_add64(&expected, (u64)total);
}

static void end_is_exact(void)
{
	plan = shape_plan(&shape);
	memset(&counter, 0, sizeof(counter));
	expected = 0;
	run_threads(add_anything);
	CHECK_EQ(shard_counter_sum(&counter), expected);
	shard_counter_detach(&counter);
	CHECK_EQ(shard_counter_sum(&counter), expected);
	shard_plan_free(plan);
}

/*
 * Paired use: each CPU named here counts one item all the time, added before the attach, and
 * sometimes a second one. While a thread holds its second item, any sum is more than NR_THREADS,
 * and at most twice that.
 */
static void count_own_item(u32 thread)
{
	u32 cpu = thread * 8 + 3;

	for (u32 i = 0; i < ROUNDS / 4; i++) {
		if (thread == 0 && i == ROUNDS / 16)
			CHECK(shard_counter_attach(&counter, plan));
		shard_counter_inc(&counter, cpu);
		CHECK(!shard_counter_is_zero(&counter, cpu));
		CHECK(shard_counter_more_than(&counter, cpu, NR_THREADS));
		CHECK(!shard_counter_more_than(&counter, cpu, 2 * NR_THREADS));
		CHECK(shard_counter_sum(&counter) > NR_THREADS);
		CHECK(shard_counter_sum(&counter) <= 2 * NR_THREADS);
		shard_counter_dec(&counter, cpu);
	}
}

static void item_that_stays_is_always_seen(void)
{
	plan = shape_plan(&shape);
	memset(&counter, 0, sizeof(counter));
	for (u32 thread = 0; thread < NR_THREADS; thread++)
		shard_counter_inc(&counter, thread * 8 + 3);
	run_threads(count_own_item);
	CHECK_EQ(shard_counter_sum(&counter), NR_THREADS);
	for (u32 thread = 0; thread < NR_THREADS; thread++)
		shard_counter_dec(&counter, thread * 8 + 3);
	CHECK(shard_counter_is_zero(&counter, 0));
	shard_counter_detach(&counter);
	shard_plan_free(plan);
}

#define COUNTERS 4000u

static struct cpu_counter *by_cpu[COUNTERS];
static u64 told[COUNTERS];

/*
 * All threads make the first adds to a new counter, two threads per CPU number, and announce them.
 * A sum includes at least the adds announced before.
 */
static void tell_and_sum(u32 thread)
{
	for (u32 i = 0; i < COUNTERS; i++) {
		u64 before;

		cpu_counter_add_any(by_cpu[i], 8 * (thread / 2), 1);
		__atomic_fetch_add(&told[i], 1, __ATOMIC_RELEASE);
		before = __atomic_load_n(&told[i], __ATOMIC_ACQUIRE);
		CHECK(cpu_counter_sum(by_cpu[i]) >= (s64)before);
		CHECK(cpu_counter_sum(by_cpu[i]) <= NR_THREADS);
	}
}

static void sum_has_what_it_was_told_of(void)
{
	plan = shape_plan(&shape);
	for (u32 i = 0; i < COUNTERS; i++) {
		by_cpu[i] = cpu_counter_alloc(plan, 0);
		CHECK(by_cpu[i]);
		told[i] = 0;
	}
	run_threads(tell_and_sum);
	for (u32 i = 0; i < COUNTERS; i++) {
		CHECK_EQ(cpu_counter_sum(by_cpu[i]), NR_THREADS);
		cpu_counter_destroy(by_cpu[i]);
	}
	shard_plan_free(plan);
}

int main(void)
{
	RUN(end_is_exact);
	RUN(item_that_stays_is_always_seen);
	RUN(sum_has_what_it_was_told_of);
	return test_done();
}
