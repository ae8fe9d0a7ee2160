// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why the answers hold.
 *
 * Linux keeps a count and a mask, and has to order them (mask before count when set, barrier
 * between reading count and mask), so that who sees the count sees the bit. Here is one
 * location a CPU: whoever saw the byte at 1 and reads it again sees 1, or what was stored
 * later; the order of accesses to one location needs no barrier on any machine.
 *
 * After overload_set() returned nobody calls the set empty: its barrier lets it return only
 * when the store has left the store buffer, and each query reads the byte itself.
 *
 * Against the lost wake-up (a CPU lowers its level and sees nobody overloaded, another becomes
 * overloaded and sees no lower CPU) there is a full barrier on both sides; cpupri.c.
 *
 * The order of CPU numbers. Lines stand in topology order; a walk in order of CPU
 * numbers must not collect all of them for each step. 64 consecutive CPU numbers, a
 * window, belong to a few shards: for each pair there is a part, which says what
 * positions of the shard's line to look at. A step takes the lowest CPU that it finds in a
 * window, and the windows in turn. Each possible CPU is in exactly one part, so that the walk
 * visits every CPU that is in the set throughout exactly once.
 */
#include "overload.h"
#include "bytemap_match.h"

#define WINDOW 64u

/* Is @cpu the first CPU of its shard in its window? */
static bool begins_part(const struct shard_plan *plan, u32 cpu)
{
	for (u32 c = cpu - cpu % WINDOW; c < cpu; c++)
		if (plan->slot[c].possible && plan->slot[c].shard == plan->slot[cpu].shard)
			return false;
	return true;
}

static u32 count_parts(const struct shard_plan *plan)
{
	u32 n = 0;

	for (u32 cpu = 0; cpu < plan->nr_cpus; cpu++)
		n += plan->slot[cpu].possible && begins_part(plan, cpu);
	return n;
}

static u32 nr_windows(const struct shard_plan *plan)
{
	return (plan->nr_cpus + WINDOW - 1) / WINDOW;
}

/* Parts of one window at @part; returns how many. */
static u32 fill_window(const struct shard_plan *plan, u32 window, struct overload_part *part)
{
	u32 end = (window + 1) * WINDOW, n = 0;

	for (u32 cpu = window * WINDOW; cpu < end && cpu < plan->nr_cpus; cpu++) {
		const struct shard_slot *slot = &plan->slot[cpu];
		u32 i;

		if (!slot->possible)
			continue;
		for (i = 0; i < n && part[i].shard != slot->shard; i++)
			;
		if (i == n)
			part[n++].shard = slot->shard;
		part[i].pos |= 1ull << slot->pos;
	}
	return n;
}

struct overload *overload_alloc(const struct shard_plan *plan)
{
	u32 windows = nr_windows(plan), n = 0;
	/* The parts start where their alignment wants it. */
	size_t parts_at = (sizeof(struct overload) + (windows + 1) * sizeof(u32) + 7) & ~(size_t)7;
	size_t bytes = parts_at + count_parts(plan) * sizeof(struct overload_part);
	struct overload *o = (struct overload *)port_alloc(bytes, -1);
	struct overload_part *part;

	if (!o)
		return NULL;
	o->bytes = bytes;
	o->map = bytemap_alloc(plan, 0);
	if (!o->map) {
		port_free(o, bytes);
		return NULL;
	}
	part = (struct overload_part *)((u8 *)o + parts_at);
	o->part = part;
	for (u32 w = 0; w < windows; w++) {
		o->first_part[w] = n;
		n += fill_window(plan, w, part + n);
	}
	o->first_part[windows] = n;
	return o;
}

void overload_free(struct overload *o)
{
	if (!o)
		return;
	bytemap_free(o->map);
	port_free(o, o->bytes);
}

/* Is any byte of the shard's line set but the one at @but (64: none left out)? */
static bool line_has_other(const struct overload *o, u32 shard, u32 but)
{
	const u64 *line = o->map->line[shard];
	u32 words = (o->map->plan->shard[shard].nr_cpus + 7) / 8;

	for (u32 i = 0; i < words; i++) {
		u64 word = byte_load_word(line, i);

		if (word && (i != but / 8 || word & ~(0xffull << but % 8 * 8)))
			return true;
	}
	return false;
}

enum overload_state overload_query(const struct overload *o, u32 this_cpu)
{
	const struct shard_plan *plan = o->map->plan;
	struct shard_near_iter it;
	u32 shard;

	/*
	 * The caller's lower level is visible before the bytes are read; pairs with the
	 * barrier in overload_set(). Without it both sides may look too early, see cpupri.c.
	 */
	smp_mb();
	shard = shard_near_begin(&it, plan, this_cpu);
	if (line_has_other(o, shard, plan->slot[this_cpu].pos))
		return OVERLOAD_OTHERS;
	while (shard_near_next(&it, &shard))
		if (line_has_other(o, shard, SHARD_MAX_CAP))
			return OVERLOAD_OTHERS;
	return overload_test(o, this_cpu) ? OVERLOAD_ONLY_ME : OVERLOAD_NONE;
}

/* The lowest overloaded CPU of a part from @from on; @best when there is none below that. */
static u32 part_next(const struct overload *o, const struct overload_part *part, u32 from, u32 best)
{
	const u32 *cpus = o->map->plan->shard_cpus[part->shard];
	const u64 *line = o->map->line[part->shard];

	for (u64 left = part->pos; left;) {
		u32 group = port_ctz64(left) / 8;
		u64 hits = byte_match_word(byte_match_equal(1), byte_load_word(line, group)) &
			   left >> group * 8;

		for (; hits; hits &= hits - 1) {
			u32 cpu = cpus[group * 8 + port_ctz64(hits)];

			if (cpu >= from && cpu < best)
				best = cpu;
		}
		left &= ~(0xffull << group * 8);
	}
	return best;
}

s64 overload_next(const struct overload *o, s64 cpu)
{
	const struct shard_plan *plan = o->map->plan;
	u32 from = (u32)(cpu + 1);

	for (u32 w = from / WINDOW; w < nr_windows(plan); w++) {
		u32 best = plan->nr_cpus;

		for (u32 i = o->first_part[w]; i < o->first_part[w + 1]; i++)
			best = part_next(o, &o->part[i], from, best);
		if (best < plan->nr_cpus)
			return best;
	}
	return -1;
}
