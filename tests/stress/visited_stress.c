// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads account for their own CPUs while all of them try to scan: epochs pass, CPUs and blocks
 * come and go, tables grow. A scan that begins later finds each counted CPU, and none twice. In the
 * end no block is lost.
 *
 * A read-side section here is one call of visited_account(). The test counts sections. A scanner
 * frees the blocks that its scan took out once all sections then open have ended.
 */
#include "shapes.h"
#include "test.h"
#include "threads.h"
#include "visited.h"

#define ROUNDS	400000u
#define TIMEOUT 5

static const struct shape shape = { .name = "48 LLCs of 4", 2, 2, 12, 2, 2, 1 };
static struct shard_plan *plan;
static struct visited_pool *pool;
static struct visited *v;
static u64 now; /* the epoch */

/* Odd: the thread is in a section. */
static struct {
	u64 count port_cacheline_aligned;
} section[NR_THREADS];

/* By CPU number: the last epoch in which the CPU was counted; scanners rely on it. */
static u64 counted[TEST_MAX_CPUS];
static u64 queue[TEST_MAX_CPUS];
static u64 found_in_all, counted_in_all;

static void wait_for_sections(void)
{
	for (u32 t = 0; t < NR_THREADS; t++) {
		u64 count = smp_load_acquire(&section[t].count);

		while (count & 1 && smp_load_acquire(&section[t].count) == count)
			sched_yield();
	}
}

static bool account(u32 thread, u32 cpu, u32 epoch)
{
	bool ok;

	WRITE_ONCE(section[thread].count, section[thread].count + 1);
	/* Others see the section open before it reads anything: pairs with that in scan(). */
	smp_mb();
	ok = visited_account(v, &queue[cpu], cpu, epoch, 1000);
	smp_store_release(&section[thread].count, section[thread].count + 1);
	return ok;
}

static void scan(u64 *before, u8 *seen)
{
	u32 epoch = (u32)READ_ONCE(now), cpu;
	struct visited_block *list;
	struct visited_scan s;
	u64 word, all, nr = 0;

	for (u32 i = 0; i < plan->nr_cpus; i++) {
		before[i] = smp_load_acquire(&counted[i]);
		seen[i] = 0;
	}
	if (!visited_scan_begin(&s, v, epoch, TIMEOUT))
		return;
	while (visited_scan_next(&s, &cpu, &word)) {
		CHECK(!seen[cpu]);
		CHECK(occupancy_ns(word) >= 1000);
		/* the queue's runtime is read later: in one epoch it is no less than the word's */
		all = READ_ONCE(queue[cpu]);
		CHECK(occupancy_epoch(all) != occupancy_epoch(word) ||
		      occupancy_ns(all) >= occupancy_ns(word));
		seen[cpu] = 1;
		nr++;
	}
	list = visited_scan_end(&s);
	for (u32 i = 0; i < plan->nr_cpus; i++)
		if (before[i] && (s32)(epoch - (u32)before[i]) <= TIMEOUT)
			CHECK(seen[i]);
	if (list) {
		smp_mb(); /* the blocks are removed before the sections are read */
		wait_for_sections();
		visited_blocks_free(list);
	}
	port_add64(&found_in_all, nr);
}

static void run(u32 thread)
{
	u64 random = 77 + thread, ok = 0;
	u32 home = 0, per_thread = plan->nr_cpus / NR_THREADS;
	u64 *before = calloc(plan->nr_cpus, sizeof(*before));
	u8 *seen = calloc(plan->nr_cpus, 1);

	CHECK(before && seen);
	for (u32 i = 0; i < ROUNDS; i++) {
		/* each thread has every NR_THREADS-th position, so all meet in every shard */
		u32 idx = (home + test_below(&random, i % 40000 < 30000 ? 4 : per_thread)) %
				  per_thread * NR_THREADS +
			  thread;
		u32 cpu = plan->idx_to_cpu[idx], epoch = (u32)READ_ONCE(now);

		if (account(thread, cpu, epoch)) {
			smp_store_release(&counted[cpu], (u64)epoch);
			ok++;
		}
		if (test_below(&random, 100) == 0)
			home = test_below(&random, per_thread);
		if (test_below(&random, 50) == 0)
			scan(before, seen);
		if (thread == 0 && test_below(&random, 60) == 0)
			port_add64(&now, 1);
		if (test_below(&random, 20) == 0)
			CHECK(visited_pool_fill(pool, cpu));
	}
	port_add64(&counted_in_all, ok);
	free(before);
	free(seen);
}

static void nobody_is_missed(void)
{
	plan = shape_plan(&shape);
	pool = visited_pool_alloc(plan);
	now = 1;
	v = visited_alloc(pool, -1, 0);
	CHECK(pool && v);
	run_threads(run);
	CHECK(counted_in_all);
	CHECK(found_in_all);
	visited_free(v);
	visited_pool_free(pool);
	shard_plan_free(plan);
}

int main(void)
{
	RUN(nobody_is_missed);
	return test_done();
}
