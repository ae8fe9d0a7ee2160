/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Shared by the single-case tests of the sharded bitmap. */
#ifndef SBM_BOTH_H
#define SBM_BOTH_H

#include "sbm.h"
#include "shapes.h"
#include "test.h"

/* 8 shards of 2 CPUs: many leaves, most of them empty. */
static const struct shape small_leaves = { .name = "8 x 2", 1, 1, 8, 1, 2, 1, .adjacent = true };

/* Runs @test with and without a summary. */
static inline void for_both(const struct shape *shape, void (*test)(struct sbm *b))
{
	struct shard_plan *plan = shape_plan(shape);

	for (unsigned int flags = 0; flags <= SBM_SUMMARY; flags++) {
		struct sbm *b = sbm_alloc(plan, flags);

		CHECK(b);
		test(b);
		sbm_destroy(b);
	}
	shard_plan_free(plan);
}

#endif /* SBM_BOTH_H */
