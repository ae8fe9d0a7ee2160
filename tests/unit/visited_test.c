// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Single cases of a process's set of visited CPUs. */
#include "shapes.h"
#include "test.h"
#include "visited.h"

#define TIMEOUT 5

static const struct shape genoa = { .name = "24 LLCs of 16", 2, 2, 6, 8, 2, 1 };
static const struct shape large = { .name = "128 LLCs of 16", 2, 4, 16, 8, 2, 1 };
static const struct shape wide = { .name = "64 a shard", 2, 1, 1, 32, 2, 1 };

static struct shard_plan *plan;
static struct visited_pool *pool;
static struct visited *v;

static void begin(const struct shape *shape)
{
	test_state.shape = shape->name;
	plan = shape_plan(shape);
	pool = visited_pool_alloc(plan);
	CHECK(pool);
	v = visited_alloc(pool, -1, 0);
	CHECK(v);
}

static void end(void)
{
	visited_free(v);
	visited_pool_free(pool);
	shard_plan_free(plan);
	test_state.shape = NULL;
}

/* CPU at a position of a shard. */
static u32 cpu_of(u32 shard, u32 pos)
{
	return plan->shard_cpus[shard][pos];
}

static u64 queue[TEST_MAX_CPUS]; /* by CPU number */

static bool ran(struct visited *who, u32 cpu, u32 epoch, u64 ns)
{
	return visited_account(who, &queue[cpu], cpu, epoch, ns);
}

struct seen {
	u32 nr, looked, released;
	s32 idle;
	u32 cpu[TEST_MAX_CPUS];
	u64 word[TEST_MAX_CPUS];
};

static struct seen seen;

static void scan(u32 epoch)
{
	struct visited_scan s;
	struct visited_block *list;

	seen.nr = 0;
	CHECK(visited_scan_due(v, epoch));
	CHECK(visited_scan_begin(&s, v, epoch, TIMEOUT));
	CHECK(!visited_scan_due(v, epoch));
	while (visited_scan_next(&s, &seen.cpu[seen.nr], &seen.word[seen.nr]))
		seen.nr++;
	seen.looked = s.looked;
	seen.idle = s.idle;
	list = visited_scan_end(&s);
	seen.released = 0;
	for (const struct visited_block *b = list; b; b = b->next)
		seen.released++;
	visited_blocks_free(list);
}

static void nobody_was_there(void)
{
	begin(&genoa);
	scan(1);
	CHECK_EQ(seen.nr, 0);
	CHECK_EQ(seen.looked, 0);
	end();
}

static void who_ran_is_found_with_what_it_ran(void)
{
	begin(&genoa);
	CHECK(ran(v, cpu_of(3, 5), 1, 1000));
	CHECK(ran(v, cpu_of(3, 5), 1, 500));
	CHECK(ran(v, cpu_of(3, 2), 1, 7));
	scan(1);
	CHECK_EQ(seen.nr, 2);
	CHECK_EQ(seen.cpu[0], cpu_of(3, 2));
	CHECK_EQ(seen.cpu[1], cpu_of(3, 5));
	CHECK_EQ(seen.word[1], occupancy_pack(1, 1500));
	CHECK_EQ(visited_word(v, cpu_of(3, 5)), occupancy_pack(1, 1500));
	CHECK_EQ(visited_word(v, cpu_of(3, 6)), 0);
	CHECK_EQ(visited_word(v, cpu_of(4, 5)), 0);
	end();
}

static void in_order_of_topology(void)
{
	static const u32 shards[] = { 9, 1, 17, 0, 23, 8 };

	begin(&genoa);
	for (u32 i = 0; i < 6; i++)
		CHECK(ran(v, cpu_of(shards[i], i), 1, 1));
	scan(1);
	CHECK_EQ(seen.nr, 6);
	for (u32 i = 1; i < 6; i++)
		CHECK(plan->slot[seen.cpu[i - 1]].idx < plan->slot[seen.cpu[i]].idx);
	end();
}

static void leaves_after_the_timeout(void)
{
	begin(&genoa);
	CHECK(ran(v, cpu_of(2, 0), 10, 100));
	CHECK(ran(v, cpu_of(2, 1), 12, 100));
	scan(15);
	CHECK_EQ(seen.nr, 2);
	scan(16);
	CHECK_EQ(seen.nr, 1);
	CHECK_EQ(seen.looked, 2);
	CHECK_EQ(seen.cpu[0], cpu_of(2, 1));
	scan(17);
	CHECK_EQ(seen.looked, 1);
	CHECK_EQ(seen.nr, 1);
	CHECK_EQ(seen.released, 0);
	scan(18);
	CHECK_EQ(seen.nr, 0);
	CHECK_EQ(seen.released, 1);
	scan(19);
	CHECK_EQ(seen.looked, 0);
	end();
}

static void comes_back_with_what_is_left(void)
{
	begin(&genoa);
	CHECK(ran(v, cpu_of(2, 0), 10, 1024));
	CHECK(ran(v, cpu_of(2, 1), 15, 1));
	scan(16);
	CHECK_EQ(seen.nr, 1);
	/* its block, kept by a neighbour, has its runtime */
	CHECK(ran(v, cpu_of(2, 0), 17, 0));
	scan(17);
	CHECK_EQ(seen.nr, 2);
	CHECK_EQ(seen.word[0], occupancy_pack(17, 8));
	end();
}

/* The published prototype compared epochs unsigned. */
static void a_cpu_ahead_of_the_scanner_stays(void)
{
	begin(&genoa);
	CHECK(ran(v, cpu_of(0, 0), 8, 100));
	scan(7);
	CHECK_EQ(seen.nr, 1);
	CHECK_EQ(occupancy_decayed(seen.word[0], 7), 100);
	end();
}

static void the_epoch_wraps(void)
{
	begin(&genoa);
	visited_free(v);
	v = visited_alloc(pool, -1, ~0u - 3);
	CHECK(v);
	CHECK(ran(v, cpu_of(1, 0), ~0u - 2, 64));
	scan(~0u);
	CHECK_EQ(seen.nr, 1);
	CHECK(ran(v, cpu_of(1, 1), 0, 64));
	CHECK(ran(v, cpu_of(1, 1), 0, 64));
	scan(1);
	CHECK_EQ(seen.nr, 2);
	CHECK_EQ(seen.word[1], occupancy_pack(0, 128));
	scan(4);
	CHECK_EQ(seen.nr, 1);
	end();
}

/* A record that was never written is 0, which means epoch 0 without any runtime. */
static void epoch_0_is_like_any_other(void)
{
	begin(&genoa);
	visited_free(v);
	v = visited_alloc(pool, -1, ~0u);
	CHECK(v);
	CHECK(ran(v, cpu_of(1, 0), 0, 0));
	CHECK(ran(v, cpu_of(1, 1), 0, 9));
	scan(0);
	CHECK_EQ(seen.nr, 2);
	end();
}

static void one_scan_an_epoch(void)
{
	struct visited_scan s, other;

	begin(&genoa);
	CHECK(!visited_scan_due(v, 0));
	CHECK(!visited_scan_begin(&s, v, 0, TIMEOUT));
	CHECK(visited_scan_begin(&s, v, 3, TIMEOUT));
	CHECK_EQ(s.idle, 3);
	/* while a scan runs, no other begins, not even in the next epoch */
	CHECK(!visited_scan_due(v, 4));
	CHECK(!visited_scan_begin(&other, v, 4, TIMEOUT));
	CHECK(!visited_scan_end(&s));
	CHECK(!visited_scan_begin(&other, v, 3, TIMEOUT));
	CHECK(!visited_scan_due(v, 2));
	CHECK(visited_scan_begin(&other, v, 4, TIMEOUT));
	CHECK_EQ(other.idle, 1);
	CHECK(!visited_scan_end(&other));
	end();
}

static void one_cache_takes_four_lines_and_more(void)
{
	const struct shape *shapes_of[] = { &genoa, &large, &wide };

	for (u32 i = 0; i < 3; i++) {
		begin(shapes_of[i]);
		for (u32 pos = 0; pos < plan->shard[0].nr_cpus; pos++)
			CHECK(ran(v, cpu_of(0, pos), 1, 1));
		CHECK(visited_bytes(v) <= 512 + 4 * PORT_CACHELINE);
		CHECK_EQ(visited_bytes(v), sizeof(*v) + sizeof(struct visited_block));
		end();
	}
}

static void memory_follows_the_shards(void)
{
	size_t block = sizeof(struct visited_block);

	begin(&genoa);
	for (u32 shard = 0; shard < 8; shard++) {
		CHECK(ran(v, cpu_of(shard, 0), 1, 1));
		CHECK_EQ(visited_bytes(v), sizeof(*v) + (shard + 1) * block);
	}
	scan(7);
	CHECK_EQ(seen.released, 8);
	CHECK_EQ(visited_bytes(v), sizeof(*v));
	end();
}

static void more_shards_than_the_small_table_has(void)
{
	begin(&genoa);
	for (u32 shard = 0; shard < 24; shard++)
		CHECK_EQ(ran(v, cpu_of(shard, 1), 1, 1), shard < VISITED_OWN);
	scan(1);
	CHECK_EQ(seen.nr, VISITED_OWN);
	for (u32 shard = 0; shard < 24; shard++)
		CHECK(ran(v, cpu_of(shard, 2), 2, 1));
	scan(2);
	CHECK_EQ(seen.nr, 24 + VISITED_OWN);
	for (u32 i = 1; i < seen.nr; i++)
		CHECK(plan->slot[seen.cpu[i - 1]].idx < plan->slot[seen.cpu[i]].idx);
	for (u32 shard = 0; shard < 24; shard++)
		CHECK_EQ(visited_word(v, cpu_of(shard, 2)), occupancy_pack(2, 1));
	scan(7);
	CHECK_EQ(seen.nr, 24);
	scan(8);
	CHECK_EQ(seen.nr, 0);
	CHECK_EQ(seen.released, 24);
	CHECK(ran(v, cpu_of(20, 3), 9, 1));
	scan(9);
	CHECK_EQ(seen.looked, 1);
	end();
}

static void shards_that_share_a_place(void)
{
	begin(&large);
	for (u32 i = 0; i < VISITED_OWN; i++)
		CHECK(ran(v, cpu_of(5 + VISITED_OWN * i, 0), 1, i + 1));
	for (u32 i = 0; i < VISITED_OWN; i++)
		CHECK(ran(v, cpu_of(5 + VISITED_OWN * i, 0), 1, 10));
	scan(1);
	CHECK_EQ(seen.nr, VISITED_OWN);
	for (u32 i = 0; i < VISITED_OWN; i++) {
		CHECK_EQ(seen.cpu[i], cpu_of(5 + VISITED_OWN * i, 0));
		CHECK_EQ(seen.word[i], occupancy_pack(1, i + 11));
	}
	end();
}

/*
 * The shard's bit for a scan is cleared as well; a small table has no such bits. The place of a
 * ninth shard's bit after the small table would be the word of the last scan's epoch.
 */
static void who_leaves_a_table_leaves_nothing(void)
{
	static const struct shape nine = { .name = "9 LLCs of 2", 1, 1, 9, 2, 1, 1 };
	u32 epoch = 63;

	begin(&nine);
	for (u32 shard = 0; shard < 6; shard++)
		CHECK(ran(v, cpu_of(shard, 0), 1, 1));
	scan(epoch);
	CHECK_EQ(seen.released, 6);
	CHECK_EQ((u32)v->scan, epoch);
	for (u32 shard = 0; shard < 9; shard++) { /* until the large table is in use */
		while (!ran(v, cpu_of(shard, 0), epoch, 1)) {
			CHECK(visited_pool_fill(pool, cpu_of(shard, 0)));
			scan(++epoch);
		}
	}
	CHECK(v->table != v->own);
	epoch += TIMEOUT + 1;
	scan(epoch);
	CHECK_EQ(seen.nr, 0);
	CHECK_EQ(((u64 *)(void *)&v->table[plan->nr_shards])[0], 0);
	end();
}

static void an_empty_reserve_drops_the_runtime(void)
{
	struct visited *other[VISITED_RESERVE];
	u32 cpu, home;

	begin(&genoa);
	cpu = cpu_of(4, 0);
	home = cpu_of(0, 0);
	CHECK(!visited_pool_low(pool, cpu));
	for (u32 i = 0; i < VISITED_RESERVE; i++) {
		other[i] = visited_alloc(pool, -1, 0);
		CHECK(other[i]);
		CHECK(ran(other[i], home, 1, 1));
		CHECK(ran(other[i], cpu, 1, 1));
		/* Exactly half of the reserve does not count as low. */
		CHECK_EQ(visited_pool_low(pool, cpu), i + 1 > VISITED_RESERVE / 2);
	}
	CHECK(visited_pool_low(pool, cpu));
	CHECK(!visited_pool_low(pool, home));
	CHECK(ran(v, home, 1, 1));
	CHECK(!ran(v, cpu, 1, 100));
	CHECK(!ran(v, cpu, 1, 100));
	scan(1);
	CHECK_EQ(seen.nr, 1);
	test_fail_alloc(3);
	CHECK(!visited_pool_fill(pool, cpu));
	CHECK(ran(v, cpu, 1, 100));
	scan(2);
	CHECK_EQ(seen.nr, 2);
	CHECK_EQ(seen.word[1], occupancy_pack(1, 100));
	CHECK(visited_pool_fill(pool, cpu));
	CHECK(!visited_pool_low(pool, cpu));
	for (u32 i = 0; i < VISITED_RESERVE; i++)
		visited_free(other[i]);
	end();
}

static void siblings_share_a_line_of_runtimes(void)
{
	struct visited_block b;

	for (u32 pos = 0; pos < 8; pos++) {
		u64 line = (uintptr_t)visited_record(&b, pos) / PORT_CACHELINE;

		CHECK_EQ((uintptr_t)visited_record(&b, pos + 8) / PORT_CACHELINE, line);
		for (u32 other = 0; other < pos; other++)
			CHECK((uintptr_t)visited_record(&b, other) / PORT_CACHELINE != line);
	}
	for (u32 pos = 0; pos < 64; pos++)
		for (u32 other = 0; other < pos; other++)
			CHECK(visited_record(&b, other) != visited_record(&b, pos));
}

static void without_memory(void)
{
	struct visited_scan s;

	plan = shape_plan(&genoa);
	for (u32 n = 1; n < 10; n++) {
		test_fail_alloc(n);
		CHECK(!visited_pool_alloc(plan));
	}
	test_fail_alloc(0);
	pool = visited_pool_alloc(plan);
	CHECK(pool);
	for (u32 n = 1; n <= 2; n++) {
		test_fail_alloc(n);
		CHECK(!visited_alloc(pool, 0, 0));
	}
	v = visited_alloc(pool, 0, 0);
	CHECK(v);
	/* without a larger table the scan continues with the small one */
	for (u32 shard = 0; shard < 9; shard++)
		CHECK_EQ(ran(v, cpu_of(shard, 0), 1, 1), shard < VISITED_OWN);
	test_fail_alloc(1);
	CHECK(visited_scan_begin(&s, v, 1, TIMEOUT));
	CHECK(!visited_scan_end(&s));
	CHECK(!ran(v, cpu_of(8, 0), 1, 1));
	CHECK(visited_scan_begin(&s, v, 2, TIMEOUT));
	CHECK(!visited_scan_end(&s));
	CHECK(ran(v, cpu_of(8, 0), 2, 1));
	end();
}

static void a_scan_that_ends_early(void)
{
	struct visited_scan s;
	u64 word;
	u32 cpu;

	begin(&genoa);
	CHECK(ran(v, cpu_of(0, 0), 1, 1));
	CHECK(ran(v, cpu_of(1, 0), 1, 1));
	CHECK(visited_scan_begin(&s, v, 1, TIMEOUT));
	CHECK(visited_scan_next(&s, &cpu, &word));
	CHECK_EQ(cpu, cpu_of(0, 0));
	CHECK(!visited_scan_end(&s));
	scan(2);
	CHECK_EQ(seen.nr, 2);
	end();
}

#define TESTS(TEST)                                \
	TEST(nobody_was_there)                     \
	TEST(who_ran_is_found_with_what_it_ran)    \
	TEST(in_order_of_topology)                 \
	TEST(leaves_after_the_timeout)             \
	TEST(comes_back_with_what_is_left)         \
	TEST(a_cpu_ahead_of_the_scanner_stays)     \
	TEST(the_epoch_wraps)                      \
	TEST(epoch_0_is_like_any_other)            \
	TEST(one_scan_an_epoch)                    \
	TEST(one_cache_takes_four_lines_and_more)  \
	TEST(memory_follows_the_shards)            \
	TEST(more_shards_than_the_small_table_has) \
	TEST(shards_that_share_a_place)            \
	TEST(who_leaves_a_table_leaves_nothing)    \
	TEST(an_empty_reserve_drops_the_runtime)   \
	TEST(siblings_share_a_line_of_runtimes)    \
	TEST(without_memory)                       \
	TEST(a_scan_that_ends_early)

TEST_MAIN(visited_test, TESTS)
