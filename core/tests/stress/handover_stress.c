// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads hand data over in each documented way. The data are plain, so that a way without release
 * or acquire is a data race for ThreadSanitizer. With UNORDERED the first way uses barriers
 * instead, which ThreadSanitizer does not know, so ThreadSanitizer must report a race.
 */
#include "claim_wait.h"
#include "ordered.h"
#include "sbm_more.h"
#include "shapes.h"
#include "threads.h"

#define ROUNDS 3000u
#define PAIRS  (NR_THREADS / 2)

static const struct shape shape = { .name = "2 x 4", 2, 1, 1, 4, 1, 1 };
static struct shard_plan *plan;
static struct sbm *b;
static struct shard_counter *counters;
static struct slot_set *slots;
static struct shard_wait *waiters;
static u64 data[16]; /* the object that a bit or a slot stands for */

static void wait_a_little(void)
{
	sched_yield();
}

static void set_release(u32 cpu)
{
#ifdef UNORDERED
	smp_mb__before_atomic();
	sbm_set(b, cpu);
#else
	sbm_set_release(b, cpu);
#endif
}

/* A pair hands data back and forth: the first thread sets the bit, the second one clears it. */
static void by_a_bit(u32 thread)
{
	u32 cpu = thread / 2;

	for (u32 i = 0; i < ROUNDS; i++) {
		bool mine = thread % 2;

		while (sbm_test_acquire(b, cpu) != mine)
			wait_a_little();
		CHECK_EQ(data[cpu], 2 * i + mine);
		data[cpu]++;
		if (mine)
			sbm_clear_release(b, cpu);
		else
			set_release(cpu);
	}
}

/* The second thread finds the first one's bit by a search; each kind of search in turn. */
static s64 find(u32 i, u32 cpu)
{
	unsigned long mask[TEST_MAX_WORDS] = { 0 };
	u32 at;

	test_set_bit(mask, cpu);
	if (i % 3 == 0)
		return sbm_near_cpu(b, mask, cpu);
	if (i % 3 == 1) {
		sbm_for_each_cpu_and(at, it, b, mask)
			return at;
		return -1;
	}
	sbm_for_each_cpu(at, it, b)
		if (at == cpu)
			return at;
	return -1;
}

static void by_a_search(u32 thread)
{
	u32 cpu = thread / 2;
	s64 found;

	for (u32 i = 0; i < ROUNDS; i++) {
		if (thread % 2 == 0) {
			while (sbm_test_acquire(b, cpu))
				wait_a_little();
			data[cpu] = i;
			sbm_set_release(b, cpu);
			continue;
		}
		while ((found = find(i, cpu)) < 0)
			wait_a_little();
		CHECK(sbm_test_acquire(b, (u32)found));
		CHECK_EQ(data[found], i);
		sbm_clear_release(b, (u32)found);
	}
}

/* Bits are locks: the thread that set a bit owns the data. */
static void by_a_lock(u32 thread)
{
	for (u32 i = 0; i < ROUNDS; i++) {
		u32 cpu = (i + thread) % 3;

		while (sbm_test_and_set(b, cpu))
			wait_a_little();
		data[cpu]++;
		if (i % 2)
			sbm_clear_release(b, cpu);
		else
			CHECK(sbm_test_and_clear(b, cpu));
	}
}

/* A thread that sees that all items are gone may use the data that they used. */
static void by_a_count(u32 thread)
{
	u32 pair = thread / 2;
	struct shard_counter *c = &counters[pair];

	if (thread % 2) {
		for (u32 i = 0; i < ROUNDS; i++) {
			shard_counter_inc(c, i % 8);
			data[pair]++;
			shard_counter_dec_release(c, i % 8);
		}
		data[pair]++;
		shard_counter_dec_release(c, 7); /* the item counted before the start */
		return;
	}
	while (shard_counter_sum_acquire(c))
		wait_a_little();
	CHECK_EQ(data[pair], ROUNDS + 1);
	data[pair] = 0;
}

static void by_slots(u32 thread)
{
	for (u32 i = 0; i < ROUNDS; i++) {
		s64 slot = i % 2 ? slot_claim_near(slots, thread)
				 : slot_claim_wait(slots, waiters, thread, -1);

		if (slot < 0) {
			wait_a_little();
			continue;
		}
		data[slot]++;
		slot_put_wake(slots, waiters, (u32)slot, thread);
	}
}

static void run(stress_body body)
{
	memset(data, 0, sizeof(data));
	run_threads(body);
}

static void bits_and_searches(void)
{
	run(by_a_bit);
	CHECK(sbm_empty(b));
	run(by_a_search);
	CHECK(sbm_empty(b));
	run(by_a_lock);
	CHECK_EQ(data[0] + data[1] + data[2], NR_THREADS * ROUNDS);
	CHECK(sbm_empty(b));
}

static void counts(void)
{
	for (u32 pair = 0; pair < PAIRS; pair++)
		shard_counter_inc(&counters[pair], 7);
	run(by_a_count);
	CHECK_EQ(data[0] + data[1], 0);
}

static void pools(void)
{
	run(by_slots);
	CHECK_EQ(slot_set_nr_free(slots), 2);
}

int main(void)
{
	static struct shard_counter two[PAIRS];

	plan = shape_plan(&shape);
	b = sbm_alloc(plan, 0);
	slots = slot_set_alloc(plan, 2, 0);
	waiters = shard_wait_alloc(plan);
	CHECK(b && slots && waiters);
	counters = two;
	for (u32 pair = 0; pair < PAIRS; pair++)
		CHECK(shard_counter_attach(&counters[pair], plan));
	RUN(bits_and_searches);
	RUN(counts);
	RUN(pools);
	for (u32 pair = 0; pair < PAIRS; pair++)
		shard_counter_detach(&counters[pair]);
	shard_wait_free(waiters);
	slot_set_destroy(slots);
	sbm_destroy(b);
	shard_plan_free(plan);
	return test_done();
}
