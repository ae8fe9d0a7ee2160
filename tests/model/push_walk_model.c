// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Requests of a push walk, one caller at a time: the explorer covers races. */
#include "push_walk.h"
#include "test.h"

/* A round that begins after requests serves all of them. */
static void requests_under_way_make_one_more_round(void)
{
	static struct push_walk walk;

	push_walk_init(&walk);
	for (u32 requests = 0; requests < 4; requests++) {
		CHECK(push_walk_request(&walk));
		for (u32 i = 0; i < requests; i++)
			CHECK(!push_walk_request(&walk));
		CHECK_EQ(push_walk_again(&walk), requests > 0);
		if (requests)
			CHECK(!push_walk_again(&walk));
		CHECK_EQ(walk.state, PUSH_WALK_IDLE);
	}
}

static void random_requests(void)
{
	static struct push_walk walk;
	u64 random = test_state.start;
	bool carried = false, pending = false;

	push_walk_init(&walk);
	test_state.seed = test_state.start;
	for (test_state.step = 0; test_state.step < 20000; test_state.step++) {
		if (test_below(&random, 2)) {
			CHECK_EQ(push_walk_request(&walk), !carried);
			pending = carried;
			carried = true;
		} else if (carried) {
			carried = push_walk_again(&walk);
			CHECK_EQ(carried, pending);
			pending = false;
		}
	}
}

#define TESTS(TEST)                                  \
	TEST(requests_under_way_make_one_more_round) \
	TEST(random_requests)

TEST_MAIN(push_walk_model, TESTS)
