// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads use one sharded bitmap. Two rules must hold whatever they do: no bit is lost, and once
 * sbm_set() has returned no search finds the bitmap empty.
 *
 * Real threads prove nothing about orderings that this hardware does not show; the explorer runs
 * all interleavings of the summary. This test is for faults that need many fast operations, and for
 * the sanitizers.
 */
#include "sbm_more.h"
#include "shapes.h"
#include "threads.h"

#define ROUNDS 200000u

static struct shard_plan *plan;
static struct sbm *b;
static u64 held[NR_THREADS]; /* rounds in which a thread holds its bit, by thread */

static void set_up(const struct shape *shape, unsigned int flags)
{
	plan = shape_plan(shape);
	b = sbm_alloc(plan, flags);
	memset(held, 0, sizeof(held));
}

static void tear_down(void)
{
	sbm_destroy(b);
	shard_plan_free(plan);
}

/* Thread t owns the CPUs t, t + 4, ...: their neighbours in every word belong to other threads. */
static void change_own_bits(u32 thread)
{
	u64 random = 77 + thread;
	bool set[TEST_MAX_CPUS] = { false };

	for (u32 i = 0; i < ROUNDS; i++) {
		u32 cpu = test_below(&random, plan->nr_cpus / NR_THREADS) * NR_THREADS + thread;

		switch (test_below(&random, 5)) {
		case 0:
			sbm_set(b, cpu);
			set[cpu] = true;
			break;
		case 1:
			sbm_clear(b, cpu);
			set[cpu] = false;
			break;
		case 2:
			CHECK_EQ(sbm_test_and_set(b, cpu), set[cpu]);
			set[cpu] = true;
			break;
		case 3:
			CHECK_EQ(sbm_test_and_clear(b, cpu), set[cpu]);
			set[cpu] = false;
			break;
		default:
			sbm_empty(b);
		}
		CHECK_EQ(sbm_test(b, cpu), set[cpu]);
	}
	for (u32 cpu = thread; cpu < plan->nr_cpus; cpu += NR_THREADS)
		CHECK_EQ(sbm_test(b, cpu), set[cpu]);
}

static void no_bit_is_lost(void)
{
	static const struct shape shape = { .name = "128", 2, 1, 1, 32, 2, 1, .adjacent = true };

	for (unsigned int flags = 0; flags <= SBM_SUMMARY; flags++) {
		set_up(&shape, flags);
		run_threads(change_own_bits);
		tear_down();
	}
}

/*
 * Sets a bit and searches at once, while others clear their bits and clean the summary. Each search
 * must find at least the thread's own bit.
 */
static void set_and_search(u32 thread)
{
	u64 random = 99 + thread;

	for (u32 i = 0; i < ROUNDS; i++) {
		u32 cpu = test_below(&random, 2) * NR_THREADS + thread, other;
		bool seen = false;

		sbm_set(b, cpu);
		CHECK(!sbm_seems_empty(b));
		CHECK(!sbm_empty(b));
		sbm_for_each_cpu(other, it, b)
			seen |= other == cpu;
		CHECK(seen);
		CHECK(sbm_first_cpu_wrap(b, cpu) == cpu);
		sbm_clear(b, cpu);
		sbm_empty(b);
	}
}

static const struct shape shape_shared = { .name = "4 x 2", 1, 1, 4, 1, 2, 1, .adjacent = true };
static const struct shape shape_one = { .name = "1 x 8", 1, 1, 1, 4, 2, 1, .adjacent = true };

/* With a shard for each two CPUs, and with one for all. */
static void with_both_shapes(stress_body body)
{
	for (int one = 0; one < 2; one++) {
		set_up(one ? &shape_one : &shape_shared, SBM_SUMMARY);
		run_threads(body);
		tear_down();
	}
}

static void set_bit_is_never_missed_by_its_setter(void)
{
	with_both_shapes(set_and_search);
}

/*
 * Threads 0 and 1 set a bit, publish their round, and leave the bit set until their searcher has
 * searched. Threads 2 and 3 are the searchers, and clean between the rounds.
 */
static void hand_over(u32 thread)
{
	u32 pair = thread & 1, cpu = pair;
	u64 *told = &held[pair], *looked = &held[2 + pair];

	for (u64 round = 1; round <= ROUNDS / 4; round++) {
		if (thread < 2) {
			sbm_set(b, cpu);
			smp_store_release(told, round);
			while (smp_load_acquire(looked) < round)
				sched_yield();
			sbm_clear(b, cpu);
		} else {
			while (smp_load_acquire(told) < round) {
				sbm_empty(b);
				sched_yield();
			}
			CHECK(!sbm_seems_empty(b));
			CHECK(!sbm_empty(b));
			CHECK(sbm_first_cpu(b) >= 0);
			CHECK_EQ(sbm_first_cpu_wrap(b, cpu), cpu);
			smp_store_release(looked, round);
		}
	}
}

static void set_bit_is_never_missed_by_others(void)
{
	with_both_shapes(hand_over);
}

/* Every walk finds bits that stay set, and each CPU at most once, while others change. */
static void walk_in_noise(u32 thread)
{
	u64 random = 55 + thread;

	for (u32 i = 0; i < ROUNDS / 10; i++) {
		u32 start = test_below(&random, plan->nr_cpus), cpu;
		u64 seen[4] = { 0 };

		if (thread == 0) {
			sbm_for_each_cpu_wrap(cpu, it, b, start) {
				CHECK(!(seen[cpu / 64] >> cpu % 64 & 1));
				seen[cpu / 64] |= 1ull << cpu % 64;
			}
			for (cpu = 0; cpu < plan->nr_cpus; cpu += NR_THREADS)
				CHECK(seen[cpu / 64] >> cpu % 64 & 1);
			continue;
		}
		for (u32 j = 0; j < 20; j++) {
			cpu = test_below(&random, plan->nr_cpus / NR_THREADS) * NR_THREADS + thread;
			if (test_below(&random, 2))
				sbm_set(b, cpu);
			else
				sbm_clear(b, cpu);
		}
	}
}

static void walk_finds_what_stays_set(void)
{
	static const struct shape shape = { .name = "192", 2, 1, 3, 16, 2, 1, .adjacent = true };

	for (unsigned int flags = 0; flags <= SBM_SUMMARY; flags++) {
		set_up(&shape, flags);
		for (u32 cpu = 0; cpu < plan->nr_cpus; cpu += NR_THREADS)
			sbm_set(b, cpu);
		run_threads(walk_in_noise);
		tear_down();
	}
}

int main(void)
{
	RUN(no_bit_is_lost);
	RUN(set_bit_is_never_missed_by_its_setter);
	RUN(set_bit_is_never_missed_by_others);
	RUN(walk_finds_what_stays_set);
	return test_done();
}
