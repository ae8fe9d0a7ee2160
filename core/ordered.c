// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A line's value is the result of the last of its adds. Each add is a read-modify-write, so that
 * the value continues the release of all decs before it: an acquire pairs with each of them.
 */
#include "ordered.h"

s64 shard_counter_sum_acquire(const struct shard_counter *c)
{
	/* Pairs with the release in shard_counter_attach(). */
	const struct shard_counter_lines *l = smp_load_acquire(&c->lines);
	u64 sum = 0;

	/* Lines first, as in shard_counter_sum(): an acquire comes before all later loads. */
	for (u32 shard = 0; l && shard < l->plan->nr_shards; shard++)
		sum += smp_load_acquire(l->line[shard]); /* pairs with the decs */
	return (s64)(sum + smp_load_acquire(&c->early));
}
