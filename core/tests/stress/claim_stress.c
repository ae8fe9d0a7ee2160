// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads claim and put slots. The owner of a slot counts by plain stores, so two owners at once
 * lose an update, and are a data race for ThreadSanitizer.
 */
#include "shapes.h"
#include "slot_cache.h"
#include "threads.h"

#define ROUNDS 60000u

static struct shard_plan *plan;
static u64 used[NR_THREADS]; /* by slot: its owners' plain count */
static struct slot_set *slots;

/*
 * As many slots as threads, each of which has at most one, so that claims take slots from caches of
 * threads that sleep. Threads 0 and 1 have caches, and sometimes free them and make new ones.
 */
static void claim_from_caches(u32 thread)
{
	struct slot_cache *cache = NULL;
	u64 random = thread + 1;

	for (u32 i = 0; i < ROUNDS; i++) {
		u32 cpu = plan->idx_to_cpu[test_below(&random, plan->nr_possible)];
		s64 slot;

		if (thread < 2 && i % 512 == 0) {
			slot_cache_free(cache);
			cache = slot_cache_alloc(slots, cpu);
			CHECK(cache);
		}
		do /* a slot may move on from where a search has not been to where it has */
			slot = cache ? slot_cache_claim(cache) : slot_claim_near(slots, cpu);
		while (slot < 0);
		CHECK(slot < NR_THREADS);
		used[slot]++;
		if (test_below(&random, 64) == 0)
			sched_yield();
		if (cache && test_below(&random, 16))
			slot_cache_put(cache, (u32)slot);
		else
			slot_put(slots, (u32)slot);
	}
	slot_cache_free(cache);
}

static void a_claim_finds_what_is_in_caches(void)
{
	static const struct shape shape = { .name = "4 x 2", 1, 1, 4, 1, 2, 1, .adjacent = true };
	u64 counted = 0;

	plan = shape_plan(&shape);
	slots = slot_set_alloc(plan, NR_THREADS, 0);
	CHECK(slots);
	memset(used, 0, sizeof(used));
	run_threads(claim_from_caches);
	for (u32 slot = 0; slot < NR_THREADS; slot++)
		counted += used[slot];
	CHECK_EQ(counted, (u64)NR_THREADS * ROUNDS);
	CHECK_EQ(slot_set_nr_free(slots), NR_THREADS);
	slot_set_destroy(slots);
	shard_plan_free(plan);
}

static void a_cache_is_bounded(void)
{
	static const struct shape shape = { .name = "4 x 2", 1, 1, 4, 1, 2, 1, .adjacent = true };
	struct slot_cache *cache, *other;
	u32 got[32];

	plan = shape_plan(&shape);
	slots = slot_set_alloc(plan, 32, 0);
	cache = slots ? slot_cache_alloc(slots, plan->idx_to_cpu[3]) : NULL;
	other = cache ? slot_cache_alloc(slots, plan->idx_to_cpu[0]) : NULL;
	CHECK(other);
	CHECK_EQ(slot_claim_n(slots, 0, 32, got), 32);
	CHECK_EQ(slot_cache_claim(cache), -1);
	for (u32 i = 0; i < 20; i++)
		slot_cache_put(cache, got[i]);
	CHECK_EQ(slot_set_nr_free(slots), 20);
	if (cache->head != SLOT_CACHE_OFF) {
		CHECK_EQ(SLOT_CACHE_PLACE(cache->tail), SLOT_CACHE_MAX);
		CHECK_EQ(slot_cache_claim(cache), got[SLOT_CACHE_MAX - 1]);
		slot_cache_put(cache, got[SLOT_CACHE_MAX - 1]);
	}
	/* of the set, then of the cache, which keeps the rest */
	CHECK_EQ(slot_claim_n(slots, 0, 15, got), 15);
	CHECK_EQ(slot_set_nr_free(slots), 5);
	slot_cache_free(cache);
	CHECK_EQ(slot_set_nr_free(slots), 5);
	for (u32 i = 0; i < 5; i++)
		CHECK(slot_cache_claim(other) >= 0);
	CHECK_EQ(slot_cache_claim(other), -1);
	slot_cache_free(other);
	slot_set_destroy(slots);
	shard_plan_free(plan);
}

int main(void)
{
	RUN(a_cache_is_bounded);
	RUN(a_claim_finds_what_is_in_caches);
	return test_done();
}
