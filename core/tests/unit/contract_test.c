// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* A caller that breaks a contract gets an error, and its object does not change. */
#include "shapes.h"
#include "shard_counter.h"
#include "test.h"

static const struct shape shape_48 = { .name = "2 x 2 x 12", 2, 2, 1, 6, 2, 1 };

static void attaching_twice_is_refused(void)
{
	struct shard_plan *plan = shape_plan(&shape_48);
	struct shard_counter c = SHARD_COUNTER_INIT;
	struct shard_counter_lines *lines;
	size_t bytes;

	CHECK(shard_counter_attach(&c, plan));
	shard_counter_add(&c, 47, 3);
	lines = c.lines;
	bytes = test_bytes_allocated();
	CHECK(!shard_counter_attach(&c, plan));
	CHECK(c.lines == lines);
	CHECK_EQ(test_bytes_allocated(), bytes);
	CHECK_EQ(shard_counter_sum(&c), 3);
	shard_counter_detach(&c);
	shard_plan_free(plan);
}

int main(void)
{
	RUN(attaching_twice_is_refused);
	return test_done();
}
