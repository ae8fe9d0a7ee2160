/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The sharded bitmap has one atomic bit per CPU, which any thread may write. The bits of a shard
 * share a word, on a cache line of the shard's own, on its home node.
 *
 * Concurrency: sbm_alloc() and sbm_destroy() exclude everything else. All other calls may overlap.
 *
 * A search reads each shard's word once, as one snapshot of up to 64 CPUs (of 32 on a 32-bit
 * machine). It finds each bit that is set throughout the call, and none that is clear throughout. A
 * CPU may clear a bit that the search has not reached yet, and then set another in a word that the
 * search has already read. The search then misses both.
 *
 * With a summary a search that starts after sbm_set() returned finds the bit, unless a CPU cleared
 * it meanwhile (shard_summary.c). While sbm_set() runs, searches may find or miss it.
 *
 * Context of all functions: any, unless said. Ordering: none, unless said. CPU numbers ("cpu") must
 * be those of possible CPUs; no function checks them. A search touches the lines that its comment
 * names; with a summary, only the occupied ones of these. Header, tables and plan are read-only.
 */
#ifndef SBM_H
#define SBM_H

#include "port.h"
#include "shard_plan.h"
#include "shard_summary.h"

/* Flag of sbm_alloc(): keep a summary; for sets that are often empty or sparse. */
#define SBM_SUMMARY 1u

/* A sharded bitmap; read-only except for the lines. */
struct sbm {
	struct shard_summary *summary; /* NULL without SBM_SUMMARY */
	u64 *const *line;	       /* by shard: its word, at the start of its own line */
	const u32 *const *cpus;	       /* by shard: CPU number by position (the plan's table) */
	const struct shard_plan *plan; /* the plan that the bitmap follows */
	u32 nr_shards;		       /* as in the plan */
	size_t bytes;		       /* memory of this header with its tables */
	/*
	 * By CPU number: the address of the CPU's word, plus the CPU's position in the word. CPU
	 * numbers that no CPU has (holes) share a word that no search reads, so that a search may
	 * start at a hole.
	 */
	uintptr_t at[];
};

/* The low bits of a line's address are 0, so one load gives the address and a position. */
static_assert(PORT_CACHELINE >= SHARD_MAX_CAP, "a position fits below a line's address");

/* The position of a CPU's bit in its word; @at: the CPU's entry in struct sbm. */
static port_always_inline u32 sbm_pos(uintptr_t at)
{
	return (u32)(at & (SHARD_MAX_CAP - 1));
}

/* The word that contains a CPU's bit; @at: the CPU's entry in struct sbm. */
static port_always_inline u64 *sbm_word(uintptr_t at)
{
	return (u64 *)(at & ~(uintptr_t)(SHARD_MAX_CAP - 1));
}

/* A CPU's bit as a mask of its word; @at: the CPU's entry in struct sbm. */
static port_always_inline u64 sbm_bit(uintptr_t at)
{
	return 1ull << sbm_pos(at);
}

/*
 * Make an empty bitmap; @flags: 0 or SBM_SUMMARY. The plan must outlive it. Return: NULL if there
 * is no memory. May sleep.
 */
struct sbm *sbm_alloc(const struct shard_plan *plan, unsigned int flags);

/* Free a bitmap, or NULL. May sleep. */
void sbm_destroy(struct sbm *b);

/*
 * Set a CPU's bit. Ordering: with a summary a full barrier after the store, and one at the end (S2
 * and S5 of shard_summary.c). Lines touched: the shard's, written; the summary's, read, and written
 * if it lacks the shard.
 */
static port_always_inline void sbm_set(struct sbm *b, u32 cpu)
{
	uintptr_t at = b->at[cpu];

	port_or64(sbm_word(at), sbm_bit(at));
	if (b->summary)
		shard_summary_note(b->summary, b->plan->slot[cpu].shard);
}

/* Clear a CPU's bit. The next search corrects the summary. Line: the shard's, written. */
static port_always_inline void sbm_clear(struct sbm *b, u32 cpu)
{
	uintptr_t at = b->at[cpu];

	port_and64(sbm_word(at), ~sbm_bit(at));
}

/* Is a CPU's bit set? Line: the shard's, read. */
static port_always_inline bool sbm_test(const struct sbm *b, u32 cpu)
{
	uintptr_t at = b->at[cpu];

	return READ_ONCE(*sbm_word(at)) & sbm_bit(at);
}

/* Is no bit set? Lines touched: up to the first set bit. */
bool sbm_empty(const struct sbm *b);

/*
 * Does the summary call every shard empty? The bitmap must have a summary. For callers that ask
 * often and lose little by a wrong "no". Return: true if each shard was empty at some moment of
 * this call. false if a bit may be set, or if a bit was set and no search has read its line since.
 * Lines touched: the summary's, read.
 */
bool sbm_seems_empty(const struct sbm *b);

/* A walk over set bits; private to the macros below. */
struct sbm_iter {
	u64 word;		   /* bits of the current shard to visit */
	const u32 *cpu;		   /* CPU number by position, of the current shard */
	const struct sbm *b;	   /* the bitmap */
	const unsigned long *mask; /* cpumask to intersect with, or NULL */
	u32 step;		   /* how many shards the walk has begun */
	u32 start;		   /* shard to start with */
	u32 start_pos;		   /* position there to start at */
};

static port_always_inline struct sbm_iter sbm_iter_begin(const struct sbm *b,
							 const unsigned long *mask)
{
	struct sbm_iter it = { 0, NULL, b, mask, 0, 0, 0 };

	return it;
}

static port_always_inline struct sbm_iter
sbm_iter_begin_wrap(const struct sbm *b, const unsigned long *mask, u32 start_cpu)
{
	const struct shard_slot *slot = &b->plan->slot[start_cpu];
	struct sbm_iter it = { 0, NULL, b, mask, 0, slot->shard, slot->pos };

	return it;
}

/* The next shard that has bits to visit, and these bits; @word is 0 at the end of the walk. */
struct sbm_chunk {
	u64 word;
	u64 step;
};

/* Read a shard's word; if it is 0, correct the summary. */
static inline u64 sbm_read_shard(const struct sbm *b, u32 shard)
{
	u64 word = READ_ONCE(*b->line[shard]);

	if (!word && b->summary)
		shard_summary_clean(b->summary, shard, b->line[shard]);
	return word;
}

struct sbm_chunk sbm_chunk(const struct sbm *b, const unsigned long *mask, u32 step, u32 start,
			   u32 start_pos);

/* Continue the walk with the bits of @c; false at the end. */
static port_always_inline bool sbm_iter_load(struct sbm_iter *it, struct sbm_chunk c)
{
	u32 shard = it->start + (u32)c.step - 1;

	if (!c.word)
		return false;
	if (shard >= it->b->nr_shards)
		shard -= it->b->nr_shards;
	it->word = c.word;
	it->step = (u32)c.step;
	it->cpu = it->b->cpus[shard];
	return true;
}

/* Take the lowest bit that is left. Return: the number of its CPU. */
static port_always_inline u32 sbm_iter_take(struct sbm_iter *it)
{
	u32 cpu = it->cpu[port_ctz64(it->word)];

	it->word &= it->word - 1;
	return cpu;
}

static port_always_inline bool sbm_iter_next(struct sbm_iter *it, u32 *cpu)
{
	if (!it->word &&
	    !sbm_iter_load(it, sbm_chunk(it->b, it->mask, it->step, it->start, it->start_pos)))
		return false;
	*cpu = sbm_iter_take(it);
	return true;
}

/**
 * sbm_for_each_cpu_wrap() - all CPUs whose bit is set, in index order from one CPU on
 * @cpu: u32 variable for each CPU number
 * @it: a name for the walk's state, declared here
 * @b: the bitmap
 * @start_cpu: CPU number to start at; its bit need not be set
 *
 * The walk wraps around, and visits each CPU at most once. It reads the first shard again at the
 * end. It also visits CPUs that the body clears in the current shard. Lines touched: all.
 */
#define sbm_for_each_cpu_wrap(cpu, it, b, start_cpu)                       \
	for (struct sbm_iter it = sbm_iter_begin_wrap(b, NULL, start_cpu); \
	     sbm_iter_next(&(it), &(cpu));)

/*
 * All CPUs whose bit is set in @b and in @mask, a cpumask of plan->nr_cpus bits, in index order.
 * Lines touched: those of shards that have a CPU in @mask.
 */
#define sbm_for_each_cpu_and(cpu, it, b, mask) \
	for (struct sbm_iter it = sbm_iter_begin(b, mask); sbm_iter_next(&(it), &(cpu));)

#endif /* SBM_H */
