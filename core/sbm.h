/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The sharded bitmap: one bit a CPU, atomic, any writer; the bits of one shard
 * share a word on a cache line of their own on the shard's NUMA node.
 *
 * Concurrency of operations on one sbm ("ok": any threads, any CPUs, at once):
 *
 *                       | set clear      | __set __clear | test next    | alloc
 *                       | test_and_*     | from_mask     | walks weight | free
 *   set clear test_and_*| ok             | A             | ok           | -
 *   __set __clear       | A              | B             | C            | -
 *   from_mask           | A              | -             | C            | -
 *   test next walks ... | ok             | C             | ok           | -
 *   alloc free          | -              | -             | -            | -
 *
 *   A  not on the same shard: a plain update would undo an atomic one
 *   B  not on the same shard, as A
 *   C  ok without a summary; with one no search may run (a search may be cleaning
 *      up behind a plain update); sbm_test() and sbm_to_mask() may
 *   -  the caller excludes
 *
 * What a search guarantees while writers run: a walk, a weight and a copy read
 * each shard's word once, as one snapshot of up to 64 CPUs, and later words later.
 * A bit that is set all through the call is found; one that is clear all through is
 * not; one that changes may go either way, as may a pair of bits that move from a
 * word not yet read to one read already. sbm_test() reads one bit at one moment.
 *
 * With a summary emptiness can be relied on bit by bit: once sbm_set() returned, a
 * search that starts later (ordered by the caller, or by any clock) finds the bit
 * unless it was cleared meanwhile; see shard_summary.c. While sbm_set() runs, one
 * search may find the bit and a later one not yet.
 *
 * Context: alloc and free may sleep; everything else runs anywhere, interrupts
 * included, is lock-free, and all but the walks and copies take a constant number
 * of steps. CPU numbers must be those of possible CPUs (shard_plan_has_cpu());
 * they are not checked. A function or type says in its name whether it deals in CPU
 * numbers ("cpu") or in indices in topology order ("idx").
 *
 * Lines touched is said for each function, apart from the header of the sbm, its
 * table by CPU number and the plan, which are read-only and stay in every cache.
 */
#ifndef SBM_H
#define SBM_H

#include "port.h"
#include "shard_plan.h"
#include "shard_summary.h"

/* Flag of sbm_alloc(): keep a summary; for sets that are often empty or sparse. */
#define SBM_SUMMARY 1u

/**
 * struct sbm - a sharded bitmap
 * @bit: by CPU number: the CPU's bit in its word (the plan's table)
 * @summary: NULL without SBM_SUMMARY
 * @line: by shard: its word, at the start of its own line
 * @cpus: by shard: CPU number by position (the plan's table)
 * @plan: the plan that it was made from
 * @nr_shards: as in the plan
 * @bytes: memory of this header with its tables
 * @word: by CPU number: the CPU's word; NULL for a hole
 *
 * Sorted by heat. @word costs 8 bytes a CPU number and takes two dependent loads
 * (slot, then line) out of set and clear; see DESIGN.md for the count.
 */
struct sbm {
	const u64 *bit;
	struct shard_summary *summary;
	u64 *const *line;
	const u32 *const *cpus;
	const struct shard_plan *plan;
	u32 nr_shards;
	size_t bytes;
	u64 *word[];
};

/**
 * struct sbm_place - where a CPU's bit is, for a caller that keeps it with the CPU
 * @word: its word
 * @bit: its bit there
 * @summary: its shard's word in the summary
 * @occupied: the shard's bit there
 *
 * Never changes; worth its 32 bytes where a CPU changes its own bit often: see sbm_set_at().
 */
struct sbm_place {
	u64 *word;
	u64 bit;
	u64 *summary;
	u64 occupied;
};

/**
 * sbm_alloc() - make an empty bitmap
 * @plan: the plan; must outlive it
 * @flags: 0 or SBM_SUMMARY
 *
 * Return: the bitmap, NULL when there is no memory. Context: may sleep.
 */
struct sbm *sbm_alloc(const struct shard_plan *plan, unsigned int flags);

/**
 * sbm_free() - give a bitmap back
 * @b: the bitmap, or NULL
 */
void sbm_free(struct sbm *b);

/**
 * sbm_set() - set a CPU's bit
 * @b: the bitmap
 * @cpu: CPU number
 *
 * Atomic. Ordering: none without a summary; with one a full barrier follows the
 * setting. Lines touched: the shard's line, written; with a summary one line of
 * it, written only when the shard was known to be empty.
 */
static port_always_inline void sbm_set(struct sbm *b, u32 cpu)
{
	port_or64(b->word[cpu], b->bit[cpu]);
	if (b->summary)
		shard_summary_note(b->summary, b->plan->slot[cpu].shard);
}

/**
 * sbm_clear() - clear a CPU's bit
 * @b: the bitmap
 * @cpu: CPU number
 *
 * Atomic. Ordering: none. Lines touched: the shard's line, written; never the
 * summary, which the next search puts right.
 */
static port_always_inline void sbm_clear(struct sbm *b, u32 cpu)
{
	port_and64(b->word[cpu], ~b->bit[cpu]);
}

/**
 * sbm_place() - where is a CPU's bit?
 * @b: the bitmap, which has a summary
 * @cpu: CPU number
 *
 * Return: the place, good until the bitmap is freed.
 */
static inline struct sbm_place sbm_place(const struct sbm *b, u32 cpu)
{
	u32 shard = b->plan->slot[cpu].shard;

	return (struct sbm_place){ b->word[cpu], b->bit[cpu], shard_summary_word(b->summary, shard),
				   shard_summary_occupied(shard) };
}

/**
 * sbm_set_at() - sbm_set() of a bit whose place is known
 * @at: the place
 *
 * Eight instructions on x86, 20 with sbm_set(), which has to find the place by CPU number.
 * Ordering and lines touched: as sbm_set() with a summary.
 */
static port_always_inline void sbm_set_at(const struct sbm_place *at)
{
	port_or64(at->word, at->bit);
	shard_summary_note_bit(at->summary, at->occupied);
}

/**
 * sbm_clear_at() - sbm_clear() of a bit whose place is known
 * @at: the place
 *
 * Ordering and lines touched: as sbm_clear().
 */
static port_always_inline void sbm_clear_at(const struct sbm_place *at)
{
	port_and64(at->word, ~at->bit);
}

/**
 * sbm_test() - is a CPU's bit set?
 * @b: the bitmap
 * @cpu: CPU number
 *
 * Return: true when it is. Ordering: none. Lines touched: the shard's line, read.
 */
static port_always_inline bool sbm_test(const struct sbm *b, u32 cpu)
{
	return READ_ONCE(*b->word[cpu]) & b->bit[cpu];
}

/**
 * sbm_test_and_set() - set a CPU's bit, tell what it was
 * @b: the bitmap
 * @cpu: CPU number
 *
 * Return: true when it was set already. Ordering: full barrier. Lines touched: as
 * sbm_set().
 */
static port_always_inline bool sbm_test_and_set(struct sbm *b, u32 cpu)
{
	bool old = port_fetch_or64(b->word[cpu], b->bit[cpu]) & b->bit[cpu];

	if (b->summary)
		shard_summary_note(b->summary, b->plan->slot[cpu].shard);
	return old;
}

/**
 * sbm_test_and_clear() - clear a CPU's bit, tell what it was
 * @b: the bitmap
 * @cpu: CPU number
 *
 * Return: true when it was set. Ordering: full barrier. Lines touched: as
 * sbm_clear().
 */
static port_always_inline bool sbm_test_and_clear(struct sbm *b, u32 cpu)
{
	return port_fetch_and64(b->word[cpu], ~b->bit[cpu]) & b->bit[cpu];
}

/**
 * __sbm_set() - set a CPU's bit with plain accesses
 * @b: the bitmap
 * @cpu: CPU number
 *
 * Not atomic: see the table above. Ordering: none. Lines touched: as sbm_set().
 */
static inline void __sbm_set(struct sbm *b, u32 cpu)
{
	WRITE_ONCE(*b->word[cpu], READ_ONCE(*b->word[cpu]) | b->bit[cpu]);
	if (b->summary)
		shard_summary_note(b->summary, b->plan->slot[cpu].shard);
}

/**
 * __sbm_clear() - clear a CPU's bit with plain accesses
 * @b: the bitmap
 * @cpu: CPU number
 *
 * Not atomic: see the table above. Ordering: none. Lines touched: as sbm_clear().
 */
static inline void __sbm_clear(struct sbm *b, u32 cpu)
{
	WRITE_ONCE(*b->word[cpu], READ_ONCE(*b->word[cpu]) & ~b->bit[cpu]);
}

/**
 * sbm_empty() - is no bit set?
 * @b: the bitmap
 *
 * Return: false as soon as a set bit is seen. Ordering: none. Lines touched: with
 * a summary its words, and the lines of shards that it calls occupied, up to the
 * first that is; else all lines up to that one.
 */
bool sbm_empty(const struct sbm *b);

/**
 * sbm_seems_empty() - does the summary call every shard empty?
 * @b: the bitmap, which has a summary
 *
 * For callers that ask all the time and lose little by a wrong "no". A line whose bits come and go
 * is not read, so the caller shares nothing with the CPUs that write it.
 *
 * Return: true: each shard was empty at some moment of this call. False: a bit may be set, or one
 * was set and nobody has searched its line since. Ordering: none. Lines touched: the summary's
 * words, read.
 */
bool sbm_seems_empty(const struct sbm *b);

/**
 * sbm_weight() - how many bits are set?
 * @b: the bitmap
 *
 * Return: the number of set bits. Ordering: none. Lines touched: all, or those that the
 * summary calls occupied.
 */
u32 sbm_weight(const struct sbm *b);

/**
 * sbm_weight_upto() - how many bits are set, counted no further than needed
 * @b: the bitmap
 * @limit: stop when this many are found
 *
 * Return: the number of set bits, or @limit when there are at least that many.
 * Ordering: none. Lines touched: as sbm_weight(), but none after @limit was reached.
 */
u32 sbm_weight_upto(const struct sbm *b, u32 limit);

/**
 * sbm_next_idx() - first set bit at or after an index
 * @b: the bitmap
 * @idx: index to start at; nr_possible and more find nothing
 *
 * Return: its index (not its CPU number), -1 when there is none. Ordering: none.
 * Lines touched: lines from @idx's shard to the one found, or those of them that
 * the summary calls occupied.
 */
s64 sbm_next_idx(const struct sbm *b, u32 idx);

/**
 * sbm_first_cpu() - the set CPU of lowest index
 * @b: the bitmap
 *
 * Return: its CPU number, -1 when the bitmap is empty. Ordering and lines touched:
 * as sbm_next_idx().
 */
s64 sbm_first_cpu(const struct sbm *b);

/**
 * sbm_next_cpu() - the set CPU that follows another in index order
 * @b: the bitmap
 * @cpu: CPU number; need not be set
 *
 * For a walk that is kept between calls, as when one CPU after the other is sent
 * an interrupt. Ordering and lines touched: as sbm_next_idx().
 *
 * Return: its CPU number, -1 after the last one.
 */
s64 sbm_next_cpu(const struct sbm *b, u32 cpu);

/**
 * sbm_next_cpu_wrap() - as sbm_next_cpu(), once around the machine
 * @b: the bitmap
 * @cpu: CPU number that the walk stands at; need not be set
 * @start: CPU number that the walk began with
 *
 * The walk: sbm_first_cpu_wrap(b, start), then this until -1; each set CPU once.
 * Return: the next CPU number, -1 when the walk is round. Ordering: none. Lines
 * touched: as sbm_next_idx().
 */
s64 sbm_next_cpu_wrap(const struct sbm *b, u32 cpu, u32 start);

/**
 * sbm_first_cpu_wrap() - the first set CPU at or after one, around the machine
 * @b: the bitmap
 * @start: CPU number to start at
 *
 * Return: its CPU number, -1 when the bitmap is empty. Ordering: none. Lines
 * touched: as sbm_next_idx().
 */
s64 sbm_first_cpu_wrap(const struct sbm *b, u32 start);

/**
 * sbm_near_cpu() - a set CPU in the shard nearest to another CPU
 * @b: the bitmap
 * @allowed: ordinary mask that it must be in, or NULL
 * @from_cpu: CPU number to start from
 *
 * Own shard, same LLC, same node, same package, the rest. Ordering: none. Lines
 * touched: those of shards with an allowed CPU, up to the first hit, or those of them
 * that the summary calls occupied.
 *
 * Return: its CPU number, -1 when there is none.
 */
s64 sbm_near_cpu(const struct sbm *b, const unsigned long *allowed, u32 from_cpu);

/**
 * sbm_to_mask() - copy to an ordinary mask
 * @b: the bitmap
 * @mask: mask of plan->nr_cpus bits by CPU number, the caller's own; overwritten
 *
 * Ordering: none. Lines touched: all lines. Never writes the summary.
 */
void sbm_to_mask(const struct sbm *b, unsigned long *mask);

/**
 * sbm_from_mask() - make the bitmap equal to an ordinary mask
 * @b: the bitmap
 * @mask: mask of plan->nr_cpus bits by CPU number; bits of holes are ignored
 *
 * One plain store a shard: see the table above. Ordering: none. Lines touched: all.
 */
void sbm_from_mask(struct sbm *b, const unsigned long *mask);

/**
 * struct sbm_iter - a walk over set bits
 * @word: bits of the current shard that are yet to be visited
 * @cpu: CPU number by position, of the current shard
 * @b: the bitmap
 * @mask: ordinary mask to intersect with, or NULL
 * @step: how many shards were begun
 * @start: shard to start with
 * @start_pos: position there to start at
 *
 * Private to the macros below.
 */
struct sbm_iter {
	u64 word;
	const u32 *cpu;
	const struct sbm *b;
	const unsigned long *mask;
	u32 step;
	u32 start;
	u32 start_pos;
};

/* The bits of the next shard that has any left to visit; word is 0 at the end. */
struct sbm_chunk {
	u64 word;
	u64 step;
};

struct sbm_chunk sbm_chunk_next(const struct sbm *b, u32 step);
struct sbm_chunk sbm_chunk_wrap(const struct sbm *b, u32 step, u32 start, u32 start_pos);
struct sbm_chunk sbm_chunk_and(const struct sbm *b, const unsigned long *mask, u32 step, u32 start,
			       u32 start_pos);

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

/* Go on with the bits of @c; false at the end. */
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

/* The lowest bit left. */
static port_always_inline u32 sbm_iter_take(struct sbm_iter *it)
{
	u32 cpu = it->cpu[port_ctz64(it->word)];

	it->word &= it->word - 1;
	return cpu;
}

static port_always_inline bool sbm_iter_next(struct sbm_iter *it, u32 *cpu)
{
	const struct sbm *b = it->b;

	if (!it->word && b->summary) {
		if (!sbm_iter_load(it, sbm_chunk_next(b, it->step)))
			return false;
	} else if (!it->word) {
		/* As sbm_chunk_next() does, without a call. */
		do {
			if (it->step == b->nr_shards)
				return false;
			it->word = READ_ONCE(*b->line[it->step++]);
		} while (!it->word);
		it->cpu = b->cpus[it->step - 1];
	}
	*cpu = sbm_iter_take(it);
	return true;
}

static port_always_inline bool sbm_iter_next_wrap(struct sbm_iter *it, u32 *cpu)
{
	if (!it->word &&
	    !sbm_iter_load(it, sbm_chunk_wrap(it->b, it->step, it->start, it->start_pos)))
		return false;
	*cpu = sbm_iter_take(it);
	return true;
}

static port_always_inline bool sbm_iter_next_and(struct sbm_iter *it, u32 *cpu)
{
	if (!it->word &&
	    !sbm_iter_load(it, sbm_chunk_and(it->b, it->mask, it->step, it->start, it->start_pos)))
		return false;
	*cpu = sbm_iter_take(it);
	return true;
}

/**
 * sbm_for_each_cpu() - all set CPUs, in index order
 * @cpu: u32 variable that takes each CPU number
 * @it: a name for the walk's state, declared here
 * @b: the bitmap
 *
 * The body may change the bitmap: what it clears in the current shard is visited
 * all the same, since each word was read once. Ordering: none. Lines touched: all,
 * or those that the summary calls occupied.
 */
#define sbm_for_each_cpu(cpu, it, b) \
	for (struct sbm_iter it = sbm_iter_begin(b, NULL); sbm_iter_next(&(it), &(cpu));)

/**
 * sbm_for_each_cpu_wrap() - all set CPUs, from one on, around the machine
 * @cpu: u32 variable that takes each CPU number
 * @it: a name for the walk's state, declared here
 * @b: the bitmap
 * @start_cpu: CPU number to start at; need not be set
 *
 * Each CPU at most once: the start's shard is read twice, each time for the
 * positions on one side of the start. Else as sbm_for_each_cpu().
 */
#define sbm_for_each_cpu_wrap(cpu, it, b, start_cpu)                       \
	for (struct sbm_iter it = sbm_iter_begin_wrap(b, NULL, start_cpu); \
	     sbm_iter_next_wrap(&(it), &(cpu));)

/**
 * sbm_for_each_cpu_and() - all set CPUs that are in an ordinary mask, in index order
 * @cpu: u32 variable that takes each CPU number
 * @it: a name for the walk's state, declared here
 * @b: the bitmap
 * @mask: ordinary mask, plan->nr_cpus bits by CPU number
 *
 * Lines touched: only of shards that have a CPU in @mask. Else as
 * sbm_for_each_cpu().
 */
#define sbm_for_each_cpu_and(cpu, it, b, mask) \
	for (struct sbm_iter it = sbm_iter_begin(b, mask); sbm_iter_next_and(&(it), &(cpu));)

/**
 * sbm_for_each_cpu_and_wrap() - both of the above
 * @cpu: u32 variable that takes each CPU number
 * @it: a name for the walk's state, declared here
 * @b: the bitmap
 * @mask: ordinary mask, plan->nr_cpus bits by CPU number
 * @start_cpu: CPU number to start at; need not be set nor in @mask
 */
#define sbm_for_each_cpu_and_wrap(cpu, it, b, mask, start_cpu)             \
	for (struct sbm_iter it = sbm_iter_begin_wrap(b, mask, start_cpu); \
	     sbm_iter_next_and(&(it), &(cpu));)

#endif /* SBM_H */
