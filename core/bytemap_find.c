// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Searches of a byte map, eight CPUs per load. The comparison is in bytemap_match.h.
 *
 * A search loads each word of a line once, and takes everything about its CPUs from that load. So a
 * CPU whose value changes counts with its old or its new value. bytemap_find_min() looks for the
 * lowest value and for the CPUs at it in one pass. When a word contains a value below the best so
 * far, it drops the CPUs found before, which had a higher value, and continues with the same loaded
 * word. A second pass to collect the CPUs would find none if their values had risen in between. It
 * would also miss a CPU that has neither value at the moment of the read.
 */
#include "bytemap_find.h"
#include "bytemap_match.h"
#include "shard_mask.h"
#include "shard_topo.h"
#include "shard_walk.h"

/* Positions among @allowed that match. */
static u64 match_line(struct byte_match m, const u64 *line, u64 allowed)
{
	u64 hits = 0;

	for (u64 left = allowed; left;) {
		u32 group = port_ctz64(left) / 8;

		hits |= byte_match_word(m, byte_load_word(line, group)) << group * 8;
		left &= ~(0xffull << group * 8);
	}
	return hits & allowed;
}

static s64 first_cpu_of(const struct shard_plan *plan, u32 shard, u64 hits)
{
	return plan->idx_to_cpu[plan->shard[shard].first_idx + port_ctz64(hits)];
}

static u32 find_match(const struct bytemap *m, struct byte_match match,
		      const unsigned long *allowed, u32 from_cpu, unsigned long *found,
		      s64 *first_cpu)
{
	const struct shard_plan *plan = m->plan;
	struct shard_walk w;
	s64 first = -1;
	u64 word;
	u32 shard, n = 0;

	if (found)
		shard_mask_zero(found, plan->nr_cpus);
	shard_walk_begin(&w, plan, allowed, from_cpu);
	while (shard_walk_next(&w, &shard, &word)) {
		u64 hits = match_line(match, m->line[shard], word);

		if (!hits)
			continue;
		if (first < 0)
			first = first_cpu_of(plan, shard, hits);
		if (!found) {
			n = 1;
			break;
		}
		shard_scatter(plan, shard, hits, found);
		n += port_popcount64(hits);
	}
	if (first_cpu)
		*first_cpu = first;
	return n;
}

u32 bytemap_find_equal(const struct bytemap *m, u8 value, const unsigned long *allowed,
		       u32 from_cpu, unsigned long *found, s64 *first_cpu)
{
	return find_match(m, byte_match_equal(value), allowed, from_cpu, found, first_cpu);
}

u32 bytemap_find_below(const struct bytemap *m, u8 limit, const unsigned long *allowed,
		       u32 from_cpu, unsigned long *found, s64 *first_cpu)
{
	return find_match(m, byte_match_below(limit), allowed, from_cpu, found, first_cpu);
}

/*
 * Return the positions among @allowed at the lowest value below *@limit; *@limit becomes that
 * value, and *@lower true. If no value is below *@limit, return the positions at *@best. One load
 * per word.
 */
static u64 lowest_of_line(const u64 *line, u64 allowed, u32 *limit, s64 *best, bool *lower)
{
	u64 hits = 0;

	*lower = false;
	for (u64 left = allowed; left;) {
		u32 group = port_ctz64(left) / 8;
		u64 which = left >> group * 8 & 0xff;
		u64 word = byte_load_word(line, group);
		u64 below = byte_match_word(byte_match_below(*limit), word) & which;

		if (below) {
			*limit = byte_lowest(word, below);
			*best = *limit;
			*lower = true;
			hits = 0;
		}
		if (*best >= 0)
			hits |= (byte_match_word(byte_match_equal(*limit), word) & which)
				<< group * 8;
		left &= ~(0xffull << group * 8);
	}
	return hits;
}

int bytemap_find_min(const struct bytemap *m, u8 limit, const unsigned long *allowed, u32 from_cpu,
		     unsigned long *found, s64 *first_cpu)
{
	const struct shard_plan *plan = m->plan;
	s64 best = -1, first = -1;
	struct shard_walk w;
	u32 below = limit;
	u64 word;
	u32 shard;

	if (found)
		shard_mask_zero(found, plan->nr_cpus);
	shard_walk_begin(&w, plan, allowed, from_cpu);
	while (best != 0 || found) {
		bool lower;
		u64 hits;

		if (!shard_walk_next(&w, &shard, &word))
			break;
		hits = lowest_of_line(m->line[shard], word, &below, &best, &lower);
		if (!hits)
			continue;
		if (lower) {
			first = -1;
			if (found)
				shard_mask_zero(found, plan->nr_cpus);
		}
		if (first < 0)
			first = first_cpu_of(plan, shard, hits);
		if (found)
			shard_scatter(plan, shard, hits, found);
	}
	if (first_cpu)
		*first_cpu = first;
	return (int)best;
}
