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
 * One pass. The lowest level is not known in advance. Whenever a word has a CPU that fits below
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
#include "shard_walk.h"

bool cpupri_init(struct cpupri *cp, const struct shard_plan *plan)
{
	cp->map = bytemap_alloc(plan, cpupri_to_byte(CPUPRI_INVALID));
	return cp->map != NULL;
}

void cpupri_cleanup(struct cpupri *cp)
{
	bytemap_free(cp->map);
	cp->map = NULL;
}

/*
 * A search under way. @limit: levels below it are better than what was found; once something
 * was found, that is its level.
 */
struct search {
	bool (*fits)(u32 cpu, void *arg);
	void *arg;
	u32 limit;
	bool any;
	bool lower; /* what was found before the current line is outdone */
};

/* Of the bytes @which of group @group, those whose CPUs fit. */
static u64 fitting(const struct search *s, const u32 *cpus, u32 group, u64 which)
{
	u64 fit = 0;

	if (!s->fits)
		return which;
	for (; which; which &= which - 1)
		if (s->fits(cpus[group * 8 + port_ctz64(which)], s->arg))
			fit |= which & -which;
	return fit;
}

/* The best of eight CPUs: one loaded word, of which the bytes @which count. */
static u64 search_word(struct search *s, const u32 *cpus, u32 group, u64 word, u64 which)
{
	u64 below = byte_match_word(byte_match_below(s->limit), word) & which;

	while (below) {
		u32 level = byte_lowest(word, below);
		u64 at = byte_match_word(byte_match_equal(level), word) & below;
		u64 fit = fitting(s, cpus, group, at);

		if (fit) {
			s->limit = level;
			s->any = true;
			s->lower = true;
			return fit;
		}
		below &= ~at;
	}
	if (!s->any)
		return 0;
	return fitting(s, cpus, group, byte_match_word(byte_match_equal(s->limit), word) & which);
}

/* Positions among @allowed at the best level so far; s->lower when that is a new one. */
static u64 search_line(struct search *s, const u32 *cpus, const u64 *line, u64 allowed)
{
	bool lower = false;
	u64 hits = 0;

	while (allowed) {
		u32 group = port_ctz64(allowed) / 8;
		u64 which = allowed >> group * 8 & 0xff;
		u64 fit;

		s->lower = false;
		fit = search_word(s, cpus, group, byte_load_word(line, group), which);
		if (s->lower) {
			lower = true;
			hits = 0;
		}
		hits |= fit << group * 8;
		allowed &= ~(0xffull << group * 8);
	}
	s->lower = lower;
	return hits;
}

static int search_all(const struct cpupri *cp, struct search *s, u32 from_cpu,
		      const unsigned long *allowed, const unsigned long *active,
		      unsigned long *found)
{
	const struct bytemap *map = cp->map;
	const struct shard_plan *plan = map->plan;
	struct shard_walk w;
	u32 shard;
	u64 word;

	shard_walk_begin(&w, plan, allowed, from_cpu);
	while (shard_walk_next(&w, &shard, &word)) {
		u64 hits;

		if (active)
			word &= shard_gather(plan, shard, active);
		hits = search_line(s, plan->shard_cpus[shard], map->line[shard], word);
		if (!hits)
			continue;
		if (!found)
			break;
		if (s->lower)
			shard_mask_zero(found, plan->nr_cpus);
		shard_scatter(plan, shard, hits, found);
	}
	return s->any ? (int)s->limit + 1 : 0;
}

int cpupri_find_fitness(const struct cpupri *cp, int level, u32 from_cpu,
			const unsigned long *allowed, const unsigned long *active,
			unsigned long *lowest_mask, bool (*fits)(u32 cpu, void *arg), void *arg)
{
	struct search s = { .fits = lowest_mask ? fits : NULL, .arg = arg };
	int found;

	if (level <= CPUPRI_NORMAL)
		return 0;
	s.limit = (u32)level;
	found = search_all(cp, &s, from_cpu, allowed, active, lowest_mask);
	if (found || !s.fits)
		return found;
	s.fits = NULL;
	return search_all(cp, &s, from_cpu, allowed, active, lowest_mask);
}
