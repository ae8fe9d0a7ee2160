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
 * Three ways through the map, one meaning: a machine of one shard in order of CPU numbers needs
 * no gathering; few allowed CPUs are looked up one by one; else shard by shard, nearest first.
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

/* Up to so many allowed CPUs are looked up one by one: two loads each. */
#define SPARSE 20u

static u64 pack_run(const struct shard_run *run)
{
	return run->cpu | (u64)run->pos << 32 | (u64)run->len << 40;
}

/* One shard, whose CPU at position p is CPU number p. */
static bool positions_are_numbers(const struct shard_plan *plan)
{
	return plan->nr_shards == 1 && plan->nr_runs == 1 && plan->run[0].cpu == 0;
}

bool cpupri_init(struct cpupri *cp, const struct shard_plan *plan)
{
	size_t runs = plan->nr_runs * sizeof(u64);
	u32 *first_run;
	u64 *run;

	cp->bytes = runs + (plan->nr_shards + 1) * sizeof(u32);
	cp->nr_cpus = plan->nr_cpus;
	cp->words = shard_mask_words(plan->nr_cpus);
	run = (u64 *)port_alloc(cp->bytes, -1);
	if (!run)
		return false;
	cp->map = bytemap_alloc(plan, cpupri_to_byte(CPUPRI_INVALID));
	if (!cp->map) {
		port_free(run, cp->bytes);
		return false;
	}
	for (u32 i = 0; i < plan->nr_runs; i++)
		run[i] = pack_run(&plan->run[i]);
	first_run = (u32 *)(run + plan->nr_runs);
	for (u32 shard = 0; shard < plan->nr_shards; shard++)
		first_run[shard] = plan->shard[shard].first_run;
	first_run[plan->nr_shards] = plan->nr_runs;
	cp->run = run;
	cp->first_run = first_run;
	cp->only_line = positions_are_numbers(plan) ? cp->map->line[0] : NULL;
	return true;
}

void cpupri_cleanup(struct cpupri *cp)
{
	bytemap_free(cp->map);
	port_free((void *)(size_t)cp->run, cp->bytes);
	cp->map = NULL;
	cp->run = NULL;
}

/*
 * A search under way. @limit: levels below it are better than what was found; once something
 * was found, that is its level.
 */
struct search {
	const struct cpupri *cp;
	const unsigned long *allowed;
	const unsigned long *active;
	unsigned long *found;
	bool (*fits)(u32 cpu, void *arg);
	void *arg;
	u32 from_cpu;
	u32 limit;
	bool near;
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

/* The whole machine is one line in order of CPU numbers: nothing to gather. */
static void search_only_line(struct search *s)
{
	u64 which = READ_ONCE(s->allowed[0]) & READ_ONCE(s->active[0]);
	const u32 *cpus = s->cp->map->plan->idx_to_cpu;
	u64 hits = search_line(s, cpus, s->cp->only_line, which & shard_low_bits(s->cp->nr_cpus));

	if (s->found)
		s->found[0] = hits;
}

/* One CPU, read by itself. */
static bool search_cpu(struct search *s, u32 cpu)
{
	const u8 *byte = s->cp->map->byte[cpu];
	u32 level;

	if (!byte) /* a hole */
		return false;
	level = READ_ONCE(*byte);
	if (level > s->limit || (level == s->limit && !s->any))
		return false;
	if (s->fits && !s->fits(cpu, s->arg))
		return false;
	s->lower = level < s->limit;
	s->limit = level;
	s->any = true;
	return true;
}

/* Few CPUs: each is looked up. What was found in words before is in @found already. */
static void search_sparse(struct search *s)
{
	const unsigned long *allowed = s->allowed, *active = s->active;
	u32 words = s->cp->words, nr_cpus = s->cp->nr_cpus;
	unsigned long *found = s->found;

	for (u32 i = 0; i < words; i++) {
		u64 left = shard_mask_word(allowed, i, nr_cpus), hits = 0;

		if (left)
			left &= READ_ONCE(active[i]);
		for (; left; left &= left - 1) {
			s->lower = false;
			if (!search_cpu(s, i * 64 + port_ctz64(left)))
				continue;
			if (!found)
				return;
			if (s->lower) {
				memset(found, 0, i * sizeof(*found));
				hits = 0;
			}
			hits |= left & -left;
		}
		if (found)
			found[i] = hits;
	}
}

static bool is_sparse(const struct search *s)
{
	const unsigned long *allowed = s->allowed;
	u32 n = 0, words = s->cp->words, nr_cpus = s->cp->nr_cpus;

	for (u32 i = 0; i < words && n <= SPARSE; i++)
		n += port_popcount64(shard_mask_word(allowed, i, nr_cpus));
	return n <= SPARSE;
}

/* @run's bits of a mask, at their positions. */
static u64 gather_run(u64 run, const unsigned long *mask)
{
	u32 cpu = (u32)run, len = (u32)(run >> 40), shift = cpu % 64;
	u64 bits = READ_ONCE(mask[cpu / 64]) >> shift;

	if (shift + len > 64)
		bits |= (u64)READ_ONCE(mask[cpu / 64 + 1]) << (64 - shift);
	return bits & shard_low_bits(len);
}

/* The shard's allowed and active CPUs, by position. */
static u64 gather(const struct search *s, u32 shard)
{
	const struct cpupri *cp = s->cp;
	u64 word = 0;

	for (u32 i = cp->first_run[shard]; i < cp->first_run[shard + 1]; i++) {
		u64 run = cp->run[i], bits = gather_run(run, s->allowed);

		if (bits)
			bits &= gather_run(run, s->active);
		word |= bits << (run >> 32 & 0xff);
	}
	return word;
}

static void search_shards(struct search *s)
{
	const struct bytemap *map = s->cp->map;
	const struct shard_plan *plan = map->plan;
	struct shard_near_iter it;
	u32 shard = shard_near_begin(&it, plan, s->from_cpu);

	do {
		u64 word = gather(s, shard), hits;

		if (!word)
			continue;
		hits = search_line(s, plan->shard_cpus[shard], map->line[shard], word);
		if (!hits)
			continue;
		if (!s->found)
			return;
		if (s->lower)
			shard_mask_zero(s->found, s->cp->nr_cpus);
		shard_scatter(plan, shard, hits, s->found);
		if (s->near && s->limit == CPUPRI_NORMAL)
			return;
	} while (shard_near_next(&it, &shard));
}

static int search(struct search *s, int level, bool (*fits)(u32 cpu, void *arg))
{
	s->fits = fits;
	s->limit = (u32)level;
	if (s->cp->only_line)
		search_only_line(s);
	else if (is_sparse(s))
		search_sparse(s);
	else
		search_shards(s);
	return s->any ? (int)s->limit + 1 : 0;
}

static int search_twice(struct search *s, int level, bool (*fits)(u32 cpu, void *arg))
{
	int found = 0;

	if (level <= CPUPRI_NORMAL)
		return 0;
	if (fits && s->found)
		found = search(s, level, fits);
	return found ? found : search(s, level, NULL);
}

int cpupri_find_fitness(const struct cpupri *cp, int level, u32 from_cpu,
			const unsigned long *allowed, const unsigned long *active,
			unsigned long *lowest_mask, bool (*fits)(u32 cpu, void *arg), void *arg)
{
	struct search s = { .cp = cp,
			    .allowed = allowed,
			    .active = active,
			    .found = lowest_mask,
			    .arg = arg,
			    .from_cpu = from_cpu };

	return search_twice(&s, level, fits);
}

int cpupri_find_near(const struct cpupri *cp, int level, u32 from_cpu, const unsigned long *allowed,
		     const unsigned long *active, unsigned long *lowest_mask,
		     bool (*fits)(u32 cpu, void *arg), void *arg)
{
	struct search s = { .cp = cp,
			    .allowed = allowed,
			    .active = active,
			    .found = lowest_mask,
			    .arg = arg,
			    .from_cpu = from_cpu,
			    .near = true };

	return search_twice(&s, level, fits);
}
