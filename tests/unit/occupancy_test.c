// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Runtimes that decay, shares and preference, with expected values found by hand. */
#include "occupancy_llc.h"
#include "test.h"

#define MS 1000000u

/* Shares in 1024ths; a whole share is a little less than 1024. */
#define HALF  511
#define WHOLE 1023

static void runtime_is_halved_at_every_epoch(void)
{
	u64 w = occupancy_add(0, 7, 1000);

	CHECK_EQ(occupancy_epoch(w), 7);
	CHECK_EQ(occupancy_ns(w), 1000);
	CHECK_EQ(occupancy_decayed(w, 7), 1000);
	CHECK_EQ(occupancy_decayed(w, 8), 500);
	CHECK_EQ(occupancy_decayed(w, 10), 125);
	CHECK_EQ(occupancy_decayed(w, 16), 1);
	CHECK_EQ(occupancy_decayed(w, 17), 0);
	CHECK_EQ(occupancy_decayed(w, 7 + 31), 0);
	CHECK_EQ(occupancy_decayed(w, 7 + 5000), 0);
	w = occupancy_add(w, 9, 1);
	CHECK_EQ(occupancy_ns(w), 251);
	CHECK_EQ(occupancy_epoch(w), 9);
	/* the largest runtime lasts for 31 epochs */
	CHECK_EQ(occupancy_decayed(occupancy_pack(7, ~0u), 7 + 31), 1);
	CHECK_EQ(occupancy_decayed(occupancy_pack(7, ~0u), 7 + 32), 0);
}

static void steady_use_comes_to_twice_an_epoch(void)
{
	u64 w = 0;

	for (u32 epoch = 1; epoch < 100; epoch++)
		w = occupancy_add(w, epoch, 10 * MS);
	CHECK(occupancy_ns(w) > 19999 * (MS / 1000));
	CHECK(occupancy_ns(w) <= 20 * MS);
}

/* The published patch compared unsigned: a CPU ahead of the reader looked 2^64 epochs old. */
static void a_record_ahead_of_its_reader_is_new(void)
{
	u64 w = occupancy_add(0, 101, 8);

	CHECK_EQ(occupancy_age(w, 100), -1);
	CHECK(!occupancy_is_old(w, 100, 5));
	CHECK_EQ(occupancy_decayed(w, 100), 8);
	CHECK(!occupancy_is_old(w, 106, 5));
	CHECK(occupancy_is_old(w, 107, 5));
}

/* One epoch further ahead, and the record is ancient. */
static void as_far_ahead_as_a_record_may_be(void)
{
	u32 epoch = 100 + OCCUPANCY_AHEAD;
	u64 w = occupancy_pack(epoch, 8);

	CHECK(!occupancy_is_old(w, 100, 5));
	CHECK(occupancy_is_old(w, 99, 5));
	CHECK_EQ(occupancy_decayed(w, 100), 8);
	CHECK_EQ(occupancy_decayed(w, 99), 0);
	/* the process's runtime is an epoch behind its queue's, and is halved once more */
	CHECK_EQ(occupancy_share(occupancy_pack(epoch - 1, 10 * MS), occupancy_pack(epoch, 10 * MS),
				 100) >>
			 10,
		 HALF);
}

static void the_epoch_wraps(void)
{
	u64 w = occupancy_add(0, ~0u - 1, 1000);

	CHECK(!occupancy_is_old(w, 1, 5));
	CHECK_EQ(occupancy_decayed(w, 1), 125);
	w = occupancy_add(w, 0, 0);
	CHECK_EQ(occupancy_ns(w), 250);
	CHECK_EQ(occupancy_epoch(w), 0);
}

static void a_record_of_half_a_count_ago_is_ancient(void)
{
	u64 w = occupancy_add(0, 10, 1000);
	u32 later = 10 + 0x80000005u;

	CHECK(occupancy_age(w, later) < 0);
	CHECK(occupancy_is_old(w, later, 5));
	CHECK_EQ(occupancy_decayed(w, later), 0);
	CHECK_EQ(occupancy_ns(occupancy_add(w, later, 3)), 3);
	CHECK(occupancy_is_old(0, 0x90000000u, 5));
	CHECK_EQ(occupancy_ns(occupancy_add(0, 0x90000000u, 3)), 3);
}

static void a_runtime_stops_at_its_ceiling(void)
{
	u64 w = occupancy_add(0, 1, ~0ull);

	CHECK_EQ(occupancy_ns(w), ~0u);
	CHECK_EQ(occupancy_epoch(w), 1);
	CHECK_EQ(occupancy_ns(occupancy_add(w, 1, ~0ull)), ~0u);
	CHECK_EQ(occupancy_ns(occupancy_add(w, 2, 0)), ~0u >> 1);
	CHECK_EQ(occupancy_ns(occupancy_add(occupancy_pack(1, ~0u - 5), 1, 5)), ~0u);
}

static void a_share_is_a_part_of_the_whole(void)
{
	u64 half = occupancy_pack(4, 5 * MS), all = occupancy_pack(4, 10 * MS);

	CHECK_EQ(occupancy_share(half, all, 4) >> 10, HALF);
	CHECK_EQ(occupancy_share(all, all, 4) >> 10, WHOLE);
	CHECK(occupancy_share(all, all, 4) < OCCUPANCY_SCALE);
	CHECK_EQ(occupancy_share(0, all, 4), 0);
	CHECK_EQ(occupancy_share(0, 0, 4), 0);
	/* both decay alike, so the share stays while no other process runs */
	CHECK_EQ(occupancy_share(half, all, 9) >> 10, HALF);
	/* the queue is an epoch ahead of the reader, and was halved there */
	CHECK_EQ(occupancy_share(half, occupancy_pack(5, 5 * MS), 4) >> 10, HALF);
	/* a queue at its ceiling */
	CHECK(occupancy_share(occupancy_pack(4, ~0u), occupancy_pack(4, ~0u), 4) < OCCUPANCY_SCALE);
}

/* Sums of LLC 0, 1, 2 in this order. */
static s32 prefer(s32 present, u64 a, u64 b, u64 c)
{
	struct occupancy o;

	occupancy_begin(&o, present);
	occupancy_cpu(&o, 0, a / 2);
	occupancy_cpu(&o, 0, a - a / 2);
	occupancy_cpu(&o, 1, b);
	occupancy_cpu(&o, 2, 0);
	occupancy_cpu(&o, 2, c);
	present = occupancy_end(&o);
	CHECK_EQ(o.total, a + b + c);
	return present;
}

static void the_best_must_beat_the_present_one_by_two(void)
{
	CHECK_EQ(prefer(-1, 0, 0, 0), -1);
	CHECK_EQ(prefer(-1, 0, 0, 1), 2);
	CHECK_EQ(prefer(-1, 5, 5, 5), 0);
	CHECK_EQ(prefer(0, 10, 20, 0), 0);
	CHECK_EQ(prefer(0, 10, 21, 0), 1);
	CHECK_EQ(prefer(0, 10, 21, 22), 2);
	CHECK_EQ(prefer(2, 30, 0, 14), 0);
	CHECK_EQ(prefer(2, 30, 0, 15), 2);
	CHECK_EQ(prefer(1, 0, 50, 0), 1);
	CHECK_EQ(prefer(7, 0, 1, 0), 1);
	CHECK_EQ(prefer(7, 0, 0, 0), 7);
}

#define TESTS(TEST)                                   \
	TEST(runtime_is_halved_at_every_epoch)        \
	TEST(steady_use_comes_to_twice_an_epoch)      \
	TEST(a_record_ahead_of_its_reader_is_new)     \
	TEST(as_far_ahead_as_a_record_may_be)         \
	TEST(the_epoch_wraps)                         \
	TEST(a_record_of_half_a_count_ago_is_ancient) \
	TEST(a_runtime_stops_at_its_ceiling)          \
	TEST(a_share_is_a_part_of_the_whole)          \
	TEST(the_best_must_beat_the_present_one_by_two)

TEST_MAIN(occupancy_test, TESTS)
