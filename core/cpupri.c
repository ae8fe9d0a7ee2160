// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why a search is right beside sets that run at the same time.
 *
 * Each CPU's level is one byte, written by one store and read once in a search, in a word of
 * eight; all that is said about the CPU comes from that load. So:
 *
 *  - A CPU that rises is seen at the old or at the new level. It is never missed at both, as it
 *    can be where a level is a bit in one of 101 masks: there the bit must be set at the
 *    new level before it is cleared at the old one, and a counter must not promise a bit that is
 *    not there, which takes two full barriers in a set and one for each level in a search.
 *    A byte has nothing to be in order with itself: no barrier here, on no machine.
 *  - Seen too low (the rise is not visible yet): the caller locks the run queue, sees the
 *    truth there, and searches again, as it does in Linux. The map is a hint by nature.
 *  - Seen too high (the fall is not visible yet): the CPU is missed. Harmless, as long as
 *    the CPU that fell comes looking for work by itself, and sees whoever missed it:
 *
 *      CPU falls:   F1 store level       A queue keeps a task that it could not place:
 *                   F2 full barrier        P1 store "overloaded"
 *                   F3 look for            P2 full barrier
 *                      overloaded queues   P3 search the map
 *
 *    With both barriers, F3 sees P1 or P3 sees F1 (store buffering): the task is pulled or
 *    pushed. F2 is in overload_query() and in push_walk_request(), P2 in overload_set(). Without
 *    either, both may look before the other's store is visible, on x86 too, and the task waits
 *    while the CPU idles; sim/cases/cpupri.c finds it.
 *
 * Three ways through the map, one meaning: first, for who takes any CPU or rather a near one, is
 * there one at CPUPRI_NORMAL in the own shard? Else few allowed CPUs are looked up one by one;
 * more, shard by shard, nearest first.
 *
 * One pass. The lowest level is not known in advance. Whenever a word has a CPU below
 * the best level so far, the CPUs found before are forgotten, and the search goes on from
 * the same loaded word. Two passes, for the level and then for its CPUs, could
 * find none: the CPU may have risen in between.
 *
 * Several levels are not read at one moment: while a search is on its way, CPU A may fall to a
 * lower level in a line already read, and CPU B rise in one yet to come. The result is then not
 * the lowest there ever was at one moment; each CPU in it was at that level when it was read.
 * Linux's search reads 101 counters one after the other and promises no more.
 *
 * No summary of saturated shards. It could say "no CPU of this shard is at CPUPRI_NORMAL", but a
 * search for a task of level 99 would have to read the shard all the same, for levels 1 to 98; and
 * each fall to CPUPRI_NORMAL would pay a barrier and a look at the summary. A line of a shard whose
 * levels do not change is not written, and reading it is eight hits; one whose levels
 * change is not saturated.
 */
#include "cpupri.h"
#include "bytemap_match.h"
#include "shard_mask.h"

/*
 * Up to so many allowed CPUs, and twice the number of shards, are looked up one by one: two loads
 * each. Going through a shard costs as much as two or three of them.
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
 * A search under way. @best: the highest level that is good enough: first the one below the
 * task's, then that of the CPUs found.
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

/* Of the positions @allowed, those whose CPUs fit. */
static u64 fitting(const struct search *s, const u32 *cpus, u64 allowed)
{
	u64 fit = 0;

	for (; allowed; allowed &= allowed - 1)
		if (s->fits(cpus[port_ctz64(allowed)], s->arg))
			fit |= allowed & -allowed;
	return fit;
}

/*
 * The best positions of a line among @allowed. 0: none is good enough. Each word is loaded once,
 * and its lowest level and who is at it are taken from that.
 */
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

/* Of a word or two on most machines: not worth a call. */
static port_always_inline void zero_words(unsigned long *mask, u32 words)
{
	u32 i = 0;

	do {
		WRITE_ONCE(mask[i], 0);
	} while (++i < words);
}

/*
 * Few CPUs: each is looked up; false: they are not few. What was found in words before is in
 * @found already.
 */
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
			u32 cpu = i * 64 + port_ctz64(left);
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

/* Look at one shard. Returns true when the search may end. */
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

/*
 * The whole searches. Apart from the quick answers, which then have few registers to save; with
 * the arguments of their callers, which then need not come back.
 */
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
 * Quick answers for who takes any CPU, or rather a near one: there is one at CPUPRI_NORMAL in
 * their own shard, and nothing is lower. The line comes first, which is near, and who is allowed
 * is asked of the CPUs that it names only. (Bytes that are no CPU's are never at CPUPRI_NORMAL.)
 * That is for tasks that may use the shard: of one that may use few CPUs the line would name
 * others.
 */
static port_always_inline bool may_use(const struct shard *own, const unsigned long *allowed)
{
	return !(own->run->positions &
		 ~shard_run_positions(own->run, READ_ONCE(allowed[own->run->word])));
}

static port_always_inline u64 normal_of_word(const u64 *line, u32 at)
{
	return byte_match_word(byte_match_equal(CPUPRI_NORMAL), byte_load_word(line, at / 8)) << at;
}

/* The bits of a run's CPUs that are in @positions, allowed and active, in its word of a mask. */
static port_always_inline u64 run_usable(const struct shard_run *run, u64 positions,
					 const unsigned long *allowed, const unsigned long *active)
{
	return shard_run_bits(run, positions) & READ_ONCE(allowed[run->word]) &
	       READ_ONCE(active[run->word]);
}

/* Is there one? Asked of the first that the line names, and of those next to them. */
static port_always_inline bool own_has_normal(const struct cpupri *cp, u32 from_cpu,
					      const unsigned long *allowed,
					      const unsigned long *active)
{
	u32 shard = cp->plan->slot[from_cpu].shard, at = 0;
	const struct shard *own = &cp->plan->shard[shard];
	const u64 *line = cp->map->line[shard];
	u64 normal;

	if (!may_use(own, allowed))
		return false;
	do {
		normal = normal_of_word(line, at);
	} while (!normal && (at += 8) < own->nr_cpus);
	if (!normal)
		return false;
	for (const struct shard_run *run = own->run; run < own->end_run; run++)
		if (run_usable(run, normal, allowed, active))
			return true;
	return false;
}

/* All of them. */
static port_always_inline bool own_normal(const struct cpupri *cp, u32 from_cpu,
					  const unsigned long *allowed, const unsigned long *active,
					  unsigned long *found)
{
	u32 shard = cp->plan->slot[from_cpu].shard, at = 0;
	const struct shard *own = &cp->plan->shard[shard];
	const struct shard_run *run = own->run;
	const u64 *line = cp->map->line[shard];
	u64 normal = 0, any = 0;

	if (!may_use(own, allowed))
		return false;
	do {
		normal |= normal_of_word(line, at);
	} while ((at += 8) < own->nr_cpus);
	if (!normal)
		return false;
	zero_words(found, cp->words);
	do {
		u64 bits = run_usable(run, normal, allowed, active);

		any |= bits;
		found[run->word] |= bits;
	} while (++run < own->end_run);
	return any;
}

int cpupri_find_fitness(const struct cpupri *cp, int level, u32 from_cpu,
			const unsigned long *allowed, const unsigned long *active,
			unsigned long *lowest_mask, bool (*fits)(u32 cpu, void *arg), void *arg)
{
	if (level <= CPUPRI_NORMAL)
		return 0;
	if (!lowest_mask && own_has_normal(cp, from_cpu, allowed, active))
		return CPUPRI_NORMAL + 1;
	return search_all(cp, level, from_cpu, allowed, active, lowest_mask, fits, arg);
}

int cpupri_find_near(const struct cpupri *cp, int level, u32 from_cpu, const unsigned long *allowed,
		     const unsigned long *active, unsigned long *lowest_mask,
		     bool (*fits)(u32 cpu, void *arg), void *arg)
{
	if (level <= CPUPRI_NORMAL)
		return 0;
	if (!fits && own_normal(cp, from_cpu, allowed, active, lowest_mask))
		return CPUPRI_NORMAL + 1;
	return search_near(cp, level, from_cpu, allowed, active, lowest_mask, fits, arg);
}
