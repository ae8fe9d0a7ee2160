// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why the sums are what the header promises.
 *
 * Every add goes to one place: to the early place if it began before the attach, else to its
 * shard's line. Nothing moves from place to place, so a sum counts no add twice and misses none. An
 * attach changes only where later adds go. So the early place stays part of every sum. It shares a
 * line with the pointer, which a sum reads too.
 *
 * A sum that finds no lines reads only the early place. That is enough, because an add to a line
 * loads the pointer to the lines first, with an acquire. If such an add completed before the sum
 * began, the pointer was set by then. The sum loads the pointer later, so it finds the lines.
 *
 * Paired use. Let g be the number of items that a shard counts for its own adds. Let d be the
 * number of early items whose dec went to the shard's line. The line reads g - d. The early place E
 * is at least the sum of all d. With g >= 0:
 *
 *   total = (E - sum of d) + sum of g >= sum of g over any shards >= sum of their lines
 *
 * So the sum of the lines read so far is a lower bound of the total, and more_than() may stop as
 * soon as it exceeds n. E itself is not a lower bound, because early items may be gone. So
 * more_than() adds E only at the end, to the sum of all lines, and reads E after the lines. If a
 * line contains an early item's dec, E must not be older than the item's inc, or one item would be
 * missing.
 */
#include "shard_counter.h"
#include "shard_lines.h"

bool shard_counter_attach(struct shard_counter *c, const struct shard_plan *plan)
{
	size_t bytes = sizeof(struct shard_counter_lines) + plan->nr_shards * sizeof(u64 *);
	struct shard_counter_lines *l;

	if (READ_ONCE(c->lines))
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
	/*
	 * Pairs with the acquires in shard_counter_add(), shard_counter_sum() and
	 * shard_counter_more_than(): without the release they could see lines before they are 0.
	 */
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
		/*
		 * Read the lines first: see the opening comment. Pairs with the order that a caller
		 * of shard_counter_inc() and shard_counter_dec() keeps (shard_counter.h,
		 * "Complete"). Else the sum may contain an early item's dec, but not its inc.
		 */
		smp_rmb();
	}
	return (s64)(sum + READ_ONCE(c->early));
}

bool shard_counter_more_than(const struct shard_counter *c, u32 from_cpu, s64 n)
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
		/*
		 * Pairs like the barrier in shard_counter_sum(): without it an inc may be missing.
		 */
		smp_rmb();
	}
	return sum + (s64)READ_ONCE(c->early) > n;
}
