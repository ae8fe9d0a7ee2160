// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why a search is right while other CPUs set levels. A CPU's level is one byte, which one store
 * writes and a search reads once, in a word of eight.
 *
 *  - A search sees a rising CPU at its old or its new level, never at neither, without a barrier.
 *  - A search may see a CPU too low, as the rise is not visible yet. The caller locks the run
 *    queue, sees the true level, and searches again, as in Linux.
 *  - A search may see a CPU too high, as the fall is not visible yet, and miss it. The CPU then
 *    finds the task itself:
 *
 *      CPU falls:   F1 store level       A queue keeps a task that it could not place:
 *                   F2 full barrier        P1 store "overloaded"
 *                   F3 look for            P2 full barrier
 *                      overloaded queues   P3 search the map
 *
 *    By both barriers F3 sees P1 or P3 sees F1 (store buffering): a CPU pulls or pushes the task.
 *    F2 is in overload_query() and push_walk_request(), P2 in overload_set(). Without either, both
 *    may look too early, on x86 too, and the task waits while the CPU idles. F3 sees P1 of another
 *    shard only if the summary names that shard. If it does not, S5 in shard_summary_ensure()
 *    makes P3 see F1.
 *
 * A search tries up to three ways. For any or a near CPU it first looks for one at CPUPRI_NORMAL in
 * the caller's shard. Then it looks up few allowed CPUs one by one, or many by shard, nearest
 * first.
 *
 * A search is one pass. On a word with a CPU below the best level so far it drops the CPUs found
 * before, and continues with the same loaded word. A second pass, for the CPUs at a level, could
 * find none: they may have risen.
 *
 * A search does not read all levels at one moment. CPU A may fall in a line already read, and CPU B
 * rise in a line yet to come. Each CPU found was at its level when the search read it, which is all
 * that Linux's search promises.
 */
#include "cpupri.h"
#include "bytemap_match.h"
#include "shard_mask.h"

/*
 * Maximum number of CPUs to look up one by one; the limit is also 2 per shard. Where no CPU runs at
 * a lower level, a CPU takes 14 instructions and a shard 40 to 60 (callgrind). A larger maximum
 * would be faster there, but slower where a CPU is idle: a near search by shard ends at the nearest
 * idle CPU.
 */
#define SPARSE 20u

bool cpupri_init(struct cpupri *cp, const struct shard_plan *plan)
{
	cp->map = bytemap_alloc(plan, cpupri_to_byte(CPUPRI_INVALID));
	cp->plan = plan;
	cp->nr_cpus = plan->nr_cpus;
	cp->words = (u16)shard_mask_words(plan->nr_cpus);
	cp->sparse = (u16)(plan->nr_shards * 2 < SPARSE ? plan->nr_shards * 2 : SPARSE);
	return cp->map;
}

void cpupri_cleanup(struct cpupri *cp)
{
	bytemap_free(cp->map);
	cp->map = NULL;
}

/*
 * A search. @best is the highest level that counts: first the one below the task's, then that of
 * the CPUs found.
 */
struct search {
	const struct cpupri *cp;
	const unsigned long *allowed;
	const unsigned long *active;
	unsigned long *found;
	bool (*fits)(u32 cpu, void *arg);
	void *arg;
	u32 from_cpu;
	u32 best;
	bool near;
	bool any;
};

/* The positions among @allowed whose CPUs fit. */
static u64 fitting(const struct search *s, const u32 *cpus, u64 allowed)
{
	u64 fit = 0;

	for (; allowed; allowed &= allowed - 1)
		if (s->fits(cpus[port_ctz64(allowed)], s->arg))
			fit |= allowed & -allowed;
	return fit;
}

/* The best positions of a line among @allowed. It loads each word once. 0: none is good enough. */
static port_always_inline u64 search_line(u32 *best_so_far, const u64 *line, u64 allowed)
{
	struct byte_match good = byte_match_below(*best_so_far + 1);
	struct byte_match better = byte_match_below(*best_so_far);
	u64 hits = 0;

	for (u32 at = 0; allowed; at += 8, allowed >>= 8) {
		u64 word = byte_load_word(line, at / 8), which, lower;

		if (!byte_match_any(good, word)) /* as in most words of a busy machine */
			continue;
		which = byte_match_word(good, word) & allowed & 0xff;
		if (!which)
			continue;
		lower = byte_match_any(better, word) ? byte_match_word(better, word) & which : 0;
		if (lower) {
			u32 best = byte_lowest(word, lower);

			which = byte_match_word(byte_match_equal(best), word) & lower;
			good = byte_match_below(best + 1);
			better = byte_match_below(best);
			*best_so_far = best;
			hits = 0;
		}
		hits |= which << at;
	}
	return hits;
}

/* The allowed and active CPUs of a shard with these runs, by position. */
static port_always_inline u64 gather(const struct shard_run *run, const struct shard_run *end,
				     const unsigned long *allowed, const unsigned long *active)
{
	u64 positions = 0;

	for (; run < end; run++) {
		u64 bits = READ_ONCE(allowed[run->word]);

		if (bits)
			bits &= READ_ONCE(active[run->word]);
		positions |= shard_run_positions(run, bits);
	}
	return positions;
}

/* A mask has a word or two on most machines: not worth a call. */
static port_always_inline void zero_words(unsigned long *mask, u32 words)
{
	u32 i = 0;

	do {
		WRITE_ONCE(mask[i], 0);
	} while (++i < words);
}

/* Look up few CPUs one by one; false: too many. @found contains the hits of earlier words. */
static bool search_sparse(struct search *s)
{
	const unsigned long *allowed = s->allowed, *active = s->active;
	u32 words = s->cp->words, nr_cpus = s->cp->nr_cpus, most = s->cp->sparse;
	const struct bytemap *map = s->cp->map;
	unsigned long *found = s->found;
	u32 best = s->best, n = 0;
	bool any = false;

	for (u32 i = 0; i < words; i++) {
		u64 left = READ_ONCE(allowed[i]), hits = 0;

		if (left) {
			n += port_popcount64(left);
			if (n > most)
				return false;
			left &= shard_mask_word(active, i, nr_cpus);
		}
		for (; left; left &= left - 1) {
			u32 cpu = i * SHARD_MASK_BITS + port_ctz64(left);
			const u8 *byte = map->byte[cpu];
			u32 level = byte ? READ_ONCE(*byte) : BYTEMAP_MAX; /* a hole */

			if (level > best || (s->fits && !s->fits(cpu, s->arg)))
				continue;
			any = true;
			if (level < best) {
				best = level;
				if (found && i)
					zero_words(found, i);
				hits = 0;
			}
			if (!found)
				goto out;
			hits |= left & -left;
		}
		if (found)
			found[i] = hits;
	}
out:
	s->best = best;
	s->any = any;
	return true;
}

/* Look at one shard. Return: true when the search may end. */
static port_always_inline bool search_shard(struct search *s, const struct shard_plan *plan,
					    u32 shard)
{
	const struct shard_run *run = plan->shard[shard].run, *end = plan->shard[shard].end_run;
	u64 hits = gather(run, end, s->allowed, s->active);
	u32 best = s->best;

	if (hits && s->fits)
		hits = fitting(s, plan->shard_cpus[shard], hits);
	if (!hits)
		return false;
	hits = search_line(&best, s->cp->map->line[shard], hits);
	if (!hits)
		return false;
	if (s->found) {
		if (!s->any || best < s->best)
			zero_words(s->found, s->cp->words);
		shard_runs_scatter(run, end, hits, s->found);
	}
	s->any = true;
	s->best = best;
	return !s->found || (s->near && best == CPUPRI_NORMAL);
}

static void search_shards(struct search *s)
{
	const struct shard_plan *plan = s->cp->plan;
	struct shard_near_iter it;
	u32 shard = shard_near_begin(&it, plan, s->from_cpu);

	do {
		if (search_shard(s, plan, shard))
			return;
	} while (shard_near_next(&it, &shard));
}

static port_always_inline int search(const struct cpupri *cp, int level, u32 from_cpu,
				     const unsigned long *allowed, const unsigned long *active,
				     unsigned long *found, bool (*fits)(u32 cpu, void *arg),
				     void *arg, bool near)
{
	struct search s = { .cp = cp,
			    .allowed = allowed,
			    .active = active,
			    .found = found,
			    .fits = found ? fits : NULL,
			    .arg = arg,
			    .from_cpu = from_cpu,
			    .best = (u32)level - 1,
			    .near = near };

	for (;;) {
		if (!search_sparse(&s))
			search_shards(&s);
		if (s.any)
			return (int)s.best + 1;
		if (!s.fits)
			return 0;
		s.fits = NULL;
	}
}

/* The other two ways of a search. Not inlined, so that the quick answer saves few registers. */
static port_noinline int search_all(const struct cpupri *cp, int level, u32 from_cpu,
				    const unsigned long *allowed, const unsigned long *active,
				    unsigned long *found, bool (*fits)(u32 cpu, void *arg),
				    void *arg)
{
	return search(cp, level, from_cpu, allowed, active, found, fits, arg, false);
}

static port_noinline int search_near(const struct cpupri *cp, int level, u32 from_cpu,
				     const unsigned long *allowed, const unsigned long *active,
				     unsigned long *found, bool (*fits)(u32 cpu, void *arg),
				     void *arg)
{
	return search(cp, level, from_cpu, allowed, active, found, fits, arg, true);
}

/*
 * The quick answer for any or a near CPU: one at CPUPRI_NORMAL, the lowest level, in the shard of
 * @from_cpu. It reads the line, then checks that the CPUs there are allowed. It serves tasks that
 * may use the shard's first run of CPUs: else the line may name others. Bytes of holes are never at
 * this level.
 * @all: store all such CPUs in @found. Otherwise the first one ends the search, and none is stored.
 */
static port_always_inline bool own_normal(const struct cpupri *cp, u32 from_cpu,
					  const unsigned long *allowed, const unsigned long *active,
					  unsigned long *found, bool all)
{
	u32 shard = cp->plan->slot[from_cpu].shard, at = 0;
	const struct shard *own = &cp->plan->shard[shard];
	const struct shard_run *run = own->run;
	const u64 *line = cp->map->line[shard];
	u64 normal = 0, any = 0;

	if (run->positions & ~shard_run_positions(run, READ_ONCE(allowed[run->word])))
		return false;
	do {
		u64 word = byte_load_word(line, at / 8);

		normal |= byte_match_word(byte_match_equal(CPUPRI_NORMAL), word) << at;
	} while ((all || !normal) && (at += 8) < own->nr_cpus);
	if (!normal)
		return false;
	if (all)
		zero_words(found, cp->words);
	do {
		u64 bits = shard_run_bits(run, normal) & READ_ONCE(allowed[run->word]) &
			   READ_ONCE(active[run->word]);

		any |= bits;
		if (all)
			found[run->word] |= bits;
		else if (any)
			break;
	} while (++run < own->end_run);
	return any;
}

int cpupri_find_fitness(const struct cpupri *cp, int level, u32 from_cpu,
			const unsigned long *allowed, const unsigned long *active,
			unsigned long *lowest_mask, bool (*fits)(u32 cpu, void *arg), void *arg)
{
	if (level <= CPUPRI_NORMAL)
		return 0;
	if (!lowest_mask && own_normal(cp, from_cpu, allowed, active, NULL, false))
		return CPUPRI_NORMAL + 1;
	return search_all(cp, level, from_cpu, allowed, active, lowest_mask, fits, arg);
}

int cpupri_find_near(const struct cpupri *cp, int level, u32 from_cpu, const unsigned long *allowed,
		     const unsigned long *active, unsigned long *lowest_mask,
		     bool (*fits)(u32 cpu, void *arg), void *arg)
{
	if (level <= CPUPRI_NORMAL)
		return 0;
	if (!fits && own_normal(cp, from_cpu, allowed, active, lowest_mask, true))
		return CPUPRI_NORMAL + 1;
	return search_near(cp, level, from_cpu, allowed, active, lowest_mask, fits, arg);
}
