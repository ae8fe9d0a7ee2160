// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why the answers hold.
 *
 * A CPU's state is one byte. A reader that saw it set and reads it again sees that value or a later
 * one, without a barrier. Linux has a count and a mask, and must order them. bytemap.h says why
 * CPUs may store bytes and load words.
 *
 * After overload_set() returned no query that the CPU concerns finds the set empty: its barrier
 * returns only when the store has left the store buffer. A query of the same shard reads the byte.
 * A query of another shard first reads the summary (proof in shard_summary.c). The setter stores
 * its byte (S1), has a full barrier (S2), loads (S3) and sets (S4) the occupied bit. C4 reads each
 * word of the line after the barrier C3, and so sees a byte stored before S2.
 *
 * Any number of CPUs may tidy at any time: C1 admits one, and C4 reads the line again. A compare
 * and exchange of the shard's period picks the query that tidies, so that few queries do. A query
 * that loses, or comes later in the period, leaves the shard named, which is right.
 *
 * overload_next_wide() does not read the summary. A query may see the byte of a CPU that has not
 * marked the summary yet, in a shard named before and tidied since. The walk must find that CPU.
 *
 * CPUs outside the shard do not see a CPU that is not wide, and none of them could take its tasks.
 * When such a task may use more CPUs, its queue calls overload_set() again. cpupri.c has the proof
 * against the lost wake-up.
 */
#include "overload.h"
#include "bytemap_match.h"

/* In a loaded word: the bit that only wide CPUs set. */
#define WIDE_BITS BYTES_ALL((u64)(OVERLOAD_BYTE_WIDE & ~OVERLOAD_BYTE))
#define ANY_BITS  BYTES_ALL((u64)OVERLOAD_BYTE)

static u32 longest_line(const struct shard_plan *plan)
{
	u32 most = 0;

	for (u32 shard = 0; shard < plan->nr_shards; shard++)
		if (plan->shard[shard].nr_cpus > most)
			most = plan->shard[shard].nr_cpus;
	return (most + 7) / 8;
}

static size_t tidied_bytes(const struct shard_plan *plan)
{
	return plan->nr_shards * sizeof(u64);
}

/* Any part of @o may be missing, even the map. */
static void free_parts(struct overload *o, const struct shard_plan *plan)
{
	shard_summary_free(o->summary);
	port_free(o->tidied, tidied_bytes(plan));
	bytemap_free(o->map);
	port_free(o, sizeof(*o));
}

struct overload *overload_alloc(const struct shard_plan *plan)
{
	struct overload *o = (struct overload *)port_alloc(sizeof(*o), -1);

	if (!o)
		return NULL;
	o->words = longest_line(plan);
	o->slot = plan->slot;
	o->alone = plan->nr_possible == 1;
	o->map = bytemap_alloc(plan, 0);
	if (plan->nr_shards > 1) {
		o->summary = shard_summary_alloc(plan);
		o->tidied = (u64 *)port_alloc(tidied_bytes(plan), -1);
	}
	if (!o->map || (plan->nr_shards > 1 && (!o->summary || !o->tidied))) {
		free_parts(o, plan);
		return NULL;
	}
	return o;
}

void overload_free(struct overload *o)
{
	if (o)
		free_parts(o, o->map->plan);
}

static bool line_has_wide(const u64 *line, u32 words)
{
	for (u32 i = 0; i < words; i++)
		if (READ_ONCE(line[i]) & WIDE_BITS)
			return true;
	return false;
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

/* No CPU of the shard is wide: remove the shard from the summary, at most once per period. */
static void tidy_in_period(struct overload *o, u32 shard, u64 period)
{
	u64 last = READ_ONCE(o->tidied[shard]);

	/* Needs no ordering: it only chooses the query that tidies. */
	if (last != period && port_cmpxchg64(&o->tidied[shard], last, period) == last)
		shard_summary_clean_words(o->summary, shard, o->map->line[shard], o->words,
					  WIDE_BITS);
}

/* Is a CPU of another shard wide? Not inlined, so that most queries save no registers. */
static port_noinline bool other_shard_has_wide(struct overload *o, u32 this_cpu, u64 period)
{
	const struct shard_plan *plan = o->map->plan;
	struct shard_near_iter it;
	u32 shard;

	shard_near_begin(&it, plan, this_cpu);
	while (shard_near_next(&it, &shard)) {
		if (!shard_summary_test(o->summary, shard))
			continue;
		if (line_has_wide(o->map->line[shard], o->words))
			return true;
		tidy_in_period(o, shard, period);
	}
	return false;
}

u32 overload_query(struct overload *o, u32 this_cpu, u64 period)
{
	const u8 *byte = o->map->byte[this_cpu];
	u32 pos = (u32)((size_t)byte % SHARD_MAX_CAP); /* lines are aligned */
	u32 state = 0;

	if (o->alone) /* no other CPU, no barrier */
		return READ_ONCE(*byte) ? OVERLOAD_SELF : 0;
	/*
	 * F2, and R2 of push_walk_join(): pairs with P2 in overload_set(), S5 in
	 * shard_summary_ensure(), and W2 in push_walk_again(). Without it a task may wait while
	 * this CPU idles.
	 */
	smp_mb();
	if (line_has_other((const u64 *)(byte - pos), o->words, pos))
		state |= OVERLOAD_NEAR;
	if (READ_ONCE(*byte))
		state |= OVERLOAD_SELF;
	if (o->summary && shard_summary_names_other(o->summary, o->slot[this_cpu].shard) &&
	    other_shard_has_wide(o, this_cpu, period))
		state |= OVERLOAD_WIDE;
	return state;
}

u64 overload_members(const struct overload *o, u32 shard, bool wide)
{
	const u64 *line = o->map->line[shard];
	u64 members = 0;
	u32 i = 0;

	do {
		u64 word = byte_load_word(line, i);

		if (word)
			members |= byte_bits(word >> wide & ANY_BITS) << i * 8;
	} while (++i < o->words);
	return members;
}

/* First position from @pos on whose byte has one of @bits; SHARD_MAX_CAP: none. */
static u32 line_next(const u64 *line, u32 words, u32 pos, u64 bits)
{
	u64 beyond = ~0ull << pos % 8 * 8;

	for (u32 i = pos / 8; i < words; i++, beyond = ~0ull) {
		u64 hits = byte_load_word(line, i) & bits & beyond;

		if (hits)
			return i * 8 + port_ctz64(hits) / 8;
	}
	return SHARD_MAX_CAP;
}

s64 overload_next_near(const struct overload *o, u32 shard, s64 cpu)
{
	u32 pos = cpu < 0 ? 0 : o->slot[cpu].pos + 1u;

	pos = line_next(o->map->line[shard], o->words, pos, ANY_BITS);
	return pos < SHARD_MAX_CAP ? (s64)o->map->plan->shard_cpus[shard][pos] : -1;
}

s64 overload_next_wide(const struct overload *o, s64 cpu)
{
	const struct shard_plan *plan = o->map->plan;
	u32 shard = cpu < 0 ? 0 : o->slot[cpu].shard;
	u32 pos = cpu < 0 ? 0 : o->slot[cpu].pos + 1u;

	for (; shard < plan->nr_shards; shard++, pos = 0) {
		pos = line_next(o->map->line[shard], o->words, pos, WIDE_BITS);
		if (pos < SHARD_MAX_CAP)
			return plan->shard_cpus[shard][pos];
	}
	return -1;
}
