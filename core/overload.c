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
 * The summary keeps that promise: it is the one of the sharded bitmap, whose argument is in
 * shard_summary.c: store (S1), full barrier (S2), look at the occupied bit (S3) and set it
 * (S4). A line is eight words here instead of one; it is called empty when each was read
 * as 0 after the barrier C3, so that a byte stored before S2 is seen in its word.
 *
 * overload_next() does not ask the summary: a query may see a byte whose setter has not come to
 * mark the summary yet (it was named there when the query looked, and tidied since), and a walk
 * that believed the summary would not find the CPU that the query spoke of.
 *
 * Against the lost wake-up (a CPU lowers its level and sees nobody overloaded, another becomes
 * overloaded and sees no lower CPU) there is a full barrier on both sides; cpupri.c.
 *
 * Bytes and not bits: a clear is a store that nobody waits for, 13 to 16 cycles instead of 160 to
 * 200 for a locked operation on a line that neighbours write. Tidied from the tick and not by
 * searchers: 384 CPUs in 24 LLCs, each overloaded for a moment at every wake-up, pay 3,500
 * cycles a wake-up, and 9,700 with a summary that every search cleans and every set marks again.
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

static u32 longest_line(const struct shard_plan *plan)
{
	u32 most = 0;

	for (u32 shard = 0; shard < plan->nr_shards; shard++)
		if (plan->shard[shard].nr_cpus > most)
			most = plan->shard[shard].nr_cpus;
	return (most + 7) / 8;
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
	o->words = longest_line(plan);
	o->slot = plan->slot;
	o->map = bytemap_alloc(plan, 0);
	o->summary = plan->nr_shards > 1 ? shard_summary_alloc(plan) : NULL;
	if (!o->map || (plan->nr_shards > 1 && !o->summary)) {
		overload_free(o);
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
	shard_summary_free(o->summary);
	bytemap_free(o->map);
	port_free(o, o->bytes);
}

static bool line_empty(const u64 *line, u32 words)
{
	for (u32 i = 0; i < words; i++)
		if (READ_ONCE(line[i]))
			return false;
	return true;
}

/* Is any byte of the line set but the one at @but? */
static bool line_has_other(const u64 *line, u32 words, u32 but)
{
	for (u32 i = 0; i < words; i++) {
		u64 word = byte_load_word(line, i);

		if (word && (i != but / 8 || word & ~(0xffull << but % 8 * 8)))
			return true;
	}
	return false;
}

/* Is any CPU of another shard set? Nearest first. */
static bool other_shard_has(const struct overload *o, u32 this_cpu)
{
	const struct shard_plan *plan = o->map->plan;
	u32 own = o->slot[this_cpu].shard, shard;
	struct shard_near_iter it;

	/* Most of the time nobody else is named. */
	shard = shard_summary_next(o->summary, 0, plan->nr_shards);
	if (shard == own)
		shard = shard_summary_next(o->summary, own + 1, plan->nr_shards);
	if (shard == plan->nr_shards)
		return false;
	shard_near_begin(&it, plan, this_cpu);
	while (shard_near_next(&it, &shard))
		if (shard_summary_test(o->summary, shard) &&
		    !line_empty(o->map->line[shard], o->words))
			return true;
	return false;
}

enum overload_state overload_query(const struct overload *o, u32 this_cpu)
{
	const u8 *byte = o->map->byte[this_cpu];
	u32 pos = (u32)((size_t)byte % SHARD_MAX_CAP); /* lines are aligned */

	/*
	 * The caller's lower level is visible before the bytes are read; pairs with the
	 * barrier in overload_set(). Without it both sides may look too early, see cpupri.c.
	 */
	smp_mb();
	if (line_has_other((const u64 *)(byte - pos), o->words, pos) ||
	    (o->summary && other_shard_has(o, this_cpu)))
		return OVERLOAD_OTHERS;
	return READ_ONCE(*byte) ? OVERLOAD_ONLY_ME : OVERLOAD_NONE;
}

void overload_tidy(struct overload *o, u32 cpu)
{
	u32 shard = o->slot[cpu].shard;

	if (o->summary && shard_summary_test(o->summary, shard) &&
	    line_empty(o->map->line[shard], o->words))
		shard_summary_clean_words(o->summary, shard, o->map->line[shard], o->words);
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
