// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Tests the scheduler on the toy machine, by plays with a known end, then by storms. */
#include <string.h>

#include "cases.h"
#include "model.h"
#include "one_lock.h"
#include "toy.h"

static struct storm_result one_storm(const struct rd_ops *ops, const struct wind *wind, u64 seed)
{
	struct storm_result r;

	toy_begin("", seed);
	r = storm(toy_model(), ops, wind);
	toy_end();
	return r;
}

static void storms(const struct rd_ops *ops)
{
	for (u32 seed = 0; seed < 16; seed++) {
		struct wind wind = { .threads = 24 + 4 * (seed % 3),
				     .us = 10000,
				     .push_ipi = seed & 1,
				     .changes = seed & 2,
				     .partitions = seed & 4 };
		struct storm_result r = one_storm(ops, &wind, seed);

		CHECK(r.checks > 10);
		CHECK(r.misplaced <= r.checks / 8);
		CHECK(r.stats.wakeups > 1000);
		CHECK(r.stats.preempted > 100);
		CHECK(r.stats.pushes > 10);
		CHECK(wind.push_ipi ? r.stats.steps > 0 : r.stats.pulled > 0);
		CHECK(wind.push_ipi ? !r.stats.pulled : !r.stats.walks);
	}
}

static void repeats(const struct rd_ops *ops)
{
	struct wind wind = { .threads = 24, .us = 2000, .push_ipi = true, .changes = true };
	struct storm_result a = one_storm(ops, &wind, 7), b = one_storm(ops, &wind, 7);

	CHECK(!memcmp(&a, &b, sizeof(a)));
	CHECK(one_storm(ops, &wind, 8).hash != a.hash);
}

static void all(const struct rd_ops *ops)
{
	semantics(ops);
	storms(ops);
	repeats(ops);
}

int main(void)
{
	all(&one_lock);
	for (const struct rd_ops *const *ops = rd_layouts; *ops; ops++)
		all(*ops);
	return 0;
}
