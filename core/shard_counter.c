// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why the sums are what the header promises.
 *
 * Every add goes to one place: its shard's line, or, if it began before the counter was
 * attached, the early place. Nothing is ever moved from place to place, so no sum can meet
 * an add twice or miss it because it moved; attaching changes only where later adds go.
 * The early place is therefore part of every sum for ever, which costs nothing: it shares
 * a line with the pointer that a sum must read anyway.
 *
 * A sum that finds no lines reads the early place only. That is enough: an add to a line
 * that was complete before the sum began had seen the pointer, so the sum, whose load of
 * the pointer is later, sees it too.
 *
 * Paired use. Let g be the number of items that a shard counts for its own adds, d how
 * many early items were taken off there: the line reads g - d, the early place E is at
 * least the sum of all d. With g >= 0:
 *
 *   total = (E - sum of d) + sum of g >= sum of g over any shards >= sum of their lines
 *
 * so the lines read so far are a lower bound of the total, and more_than() may stop at
 * it. E itself is no lower bound, early items may be gone, so it comes into the
 * count only at the end, with all lines. It is read after them: an early item's dec that
 * was seen in a line must not be met by an E that is older than its inc, or one item
 * would be missing.
 */
#include "shard_counter.h"
#include "shard_lines.h"

bool shard_counter_attach(struct shard_counter *c, const struct shard_plan *plan)
{
	size_t bytes = sizeof(struct shard_counter_lines) + plan->nr_shards * sizeof(u64 *);
	struct shard_counter_lines *l;

	if (PORT_WARN_ON(READ_ONCE(c->lines)))
		return false;
	l = (struct shard_counter_lines *)port_alloc(bytes, -1);
	if (!l)
		return false;
	if (!shard_lines_alloc(plan, l->line)) {
		port_free(l, bytes);
		return false;
	}
	l->slot = plan->slot;
	l->plan = plan;
	l->bytes = bytes;
	/* Pairs with the acquire in adds and sums: without it they could see lines unset. */
	smp_store_release(&c->lines, l);
	return true;
}

void shard_counter_detach(struct shard_counter *c)
{
	struct shard_counter_lines *l = c->lines;

	if (!l)
		return;
	c->early = (u64)shard_counter_sum(c);
	c->lines = NULL;
	shard_lines_free(l->plan, l->line);
	port_free(l, l->bytes);
}

s64 shard_counter_sum(const struct shard_counter *c)
{
	/* Pairs with the release in shard_counter_attach(). */
	const struct shard_counter_lines *l = smp_load_acquire(&c->lines);
	u64 sum = 0;

	if (l) {
		for (u32 shard = 0; shard < l->plan->nr_shards; shard++)
			sum += READ_ONCE(*l->line[shard]);
		/* Lines first: see above. Pairs with the caller's order of inc and dec. */
		smp_rmb();
	}
	return (s64)(sum + READ_ONCE(c->early));
}

bool shard_counter_more_than(const struct shard_counter *c, s64 n, u32 from_cpu)
{
	/* Pairs with the release in shard_counter_attach(). */
	const struct shard_counter_lines *l = smp_load_acquire(&c->lines);
	s64 sum = 0;

	if (l) {
		struct shard_near_iter near;
		u32 shard = shard_near_begin(&near, l->plan, from_cpu);

		do {
			sum += (s64)READ_ONCE(*l->line[shard]);
			if (sum > n)
				return true;
		} while (shard_near_next(&near, &shard));
		smp_rmb(); /* as in shard_counter_sum() */
	}
	return sum + (s64)READ_ONCE(c->early) > n;
}
