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
 * when the store has left the store buffer. A query of the same shard reads the byte itself; one
 * of another shard reads the summary first.
 *
 * The summary keeps that promise: it is the one of the sharded bitmap, whose argument is in
 * shard_summary.c: store (S1), full barrier (S2), look at the occupied bit (S3) and set it
 * (S4). A line is eight words here instead of one; it is called empty when each was read
 * as 0 after the barrier C3, so that a byte stored before S2 is seen in its word.
 *
 * Who may tidy. Any CPU, at any time, any number at once: C1 lets in one, and C4 looks again. So a
 * query that looked at a shard in vain may as well be the one that takes it out of the summary, as
 * in the sharded bitmap. What it must not do is so at every query: see the figures below. It does
 * so in the first query of a period that saw the shard empty, and which query that is, a compare
 * and exchange of the shard's period decides. Nothing hangs on that word but how often: who loses,
 * or sees an old value, leaves the shard in the summary, which is always right.
 *
 * overload_next_wide() does not ask the summary: a query may see a byte whose setter has not come
 * to mark the summary yet (it was named there when the query looked, and tidied since), and a walk
 * that believed the summary would not find the CPU that the query spoke of.
 *
 * Who is not told, and why that is right: a CPU of another shard does not learn of a CPU that is
 * overloaded and not wide. None of that CPU's waiting tasks may run outside its shard, so the one
 * that asks could not take any. When such a task is allowed more CPUs, its queue says so
 * by another overload_set(), as if it had just become overloaded.
 *
 * Against the lost wake-up (a CPU lowers its level and sees nobody overloaded, another becomes
 * overloaded and sees no lower CPU) there is a full barrier on both sides; cpupri.c.
 *
 * Bytes and not bits: a clear is a store that nobody waits for, 13 to 16 cycles instead of 160 to
 * 200 for a locked operation on a line that neighbours write. Tidied now and then and not by every
 * search: 384 CPUs in 24 LLCs, each overloaded for a moment at every wake-up, pay 3,500
 * cycles a wake-up, and 9,700 with a summary that every search cleans and every set marks again.
 */
#include "overload.h"
#include "bytemap_match.h"

/* In a loaded word: the bit that only wide CPUs have. */
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

/* @o may lack any part, the map as well. */
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

/* The shard is named, and nobody in it is wide: take it out, once a period. */
static port_noinline void tidy_in_period(struct overload *o, u32 shard, u64 period)
{
	u64 last = READ_ONCE(o->tidied[shard]);

	if (last != period && port_cmpxchg64(&o->tidied[shard], last, period) == last)
		shard_summary_clean_words(o->summary, shard, o->map->line[shard], o->words,
					  WIDE_BITS);
}

/* Is any CPU of another shard wide? Nearest first. @tidy: NULL, or @o, for who tidies. */
static port_always_inline bool look_elsewhere(const struct overload *o, u32 this_cpu,
					      struct overload *tidy, u64 period)
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
		if (tidy)
			tidy_in_period(tidy, shard, period);
	}
	return false;
}

/* Not inlined, either of them: a query that finds nobody named would save their registers. */
static port_noinline bool other_shard_has_wide(const struct overload *o, u32 this_cpu)
{
	return look_elsewhere(o, this_cpu, NULL, 0);
}

static port_noinline bool other_shard_has_wide_tidy(struct overload *o, u32 this_cpu, u64 period)
{
	return look_elsewhere(o, this_cpu, o, period);
}

/* What a query knows without the lines of other shards. @named: whether it has to look at those. */
static port_always_inline u32 query_here(const struct overload *o, u32 this_cpu, bool *named)
{
	const u8 *byte = o->map->byte[this_cpu];
	u32 pos = (u32)((size_t)byte % SHARD_MAX_CAP); /* lines are aligned */
	u32 state = 0;

	*named = false;
	if (o->alone) /* and no need for a barrier against nobody */
		return READ_ONCE(*byte) ? OVERLOAD_SELF : 0;
	/*
	 * The caller's lower level is visible before the bytes are read; pairs with the
	 * barrier in overload_set(). Without it both sides may look too early, see cpupri.c.
	 */
	smp_mb();
	if (line_has_other((const u64 *)(byte - pos), o->words, pos))
		state |= OVERLOAD_NEAR;
	if (READ_ONCE(*byte))
		state |= OVERLOAD_SELF;
	/* Most of the time nobody else is named. */
	*named = o->summary && shard_summary_names_other(o->summary, o->slot[this_cpu].shard);
	return state;
}

u32 overload_query(const struct overload *o, u32 this_cpu)
{
	bool named;
	u32 state = query_here(o, this_cpu, &named);

	if (named && other_shard_has_wide(o, this_cpu))
		state |= OVERLOAD_WIDE;
	return state;
}

u32 overload_query_tidy(struct overload *o, u32 this_cpu, u64 period)
{
	bool named;
	u32 state = query_here(o, this_cpu, &named);

	if (named && other_shard_has_wide_tidy(o, this_cpu, period))
		state |= OVERLOAD_WIDE;
	return state;
}

void overload_tidy(struct overload *o, u32 cpu)
{
	u32 shard = o->slot[cpu].shard;

	if (o->summary && shard_summary_test(o->summary, shard) &&
	    !line_has_wide(o->map->line[shard], o->words))
		shard_summary_clean_words(o->summary, shard, o->map->line[shard], o->words,
					  WIDE_BITS);
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
