// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Searching a byte map, eight CPUs a load.
 *
 * The compare. All values are 0..127, so in a word of eight of them every byte has bit 7
 * clear, and a byte c of 127..255 minus a value never borrows from the byte above it:
 * eight subtractions are one. Bit 7 of c - x, for x in 0..127:
 *
 *   equal to v:  c = 128 with x XOR v for x: set only if x XOR v = 0, as 128 - 0 = 128 and
 *		  128 - (1..127) < 128
 *   below l:	  c = 127 + l, l in 0..128: set if 127 + l - x >= 128, that is x < l
 *
 * The eight bits 7 are then brought together by one multiplication: bit 8i, times
 * 2^(56 - 7i), lands on bit 56 + i; no two of the 64 products share a bit, so nothing
 * carries.
 *
 * One read a byte. Each word of a line is loaded once in a search, and everything that is
 * said about its CPUs comes from that load. So a CPU whose value changes is judged by its
 * old or by its new value. bytemap_find_min() looks for the lowest value and for the CPUs at
 * it in the same pass: whenever a word has a value below the best so far, it forgets the
 * CPUs found so far (they were read at a higher value) and goes on from the same loaded word.
 * Looking for the value first and for its CPUs in a second pass would find none if the
 * value rose in between, and lose a CPU that is at neither when it is looked at.
 *
 * Byte order: port_le64() puts the byte of position 8g + i into bits 8i..8i+7 everywhere.
 */
#include "bytemap.h"
#include "shard_mask.h"
#include "shard_walk.h"

#define ALL_BYTES(x) ((x)*0x0101010101010101ull)
#define HIGH_BITS    ALL_BYTES(0x80ull)

/* What to compare with, made ready for a whole word. */
struct match {
	u64 flip; /* XORed to each value */
	u64 from; /* minus that */
};

static inline struct match match_equal(u32 value)
{
	struct match m = { ALL_BYTES((u64)value), HIGH_BITS };

	return m;
}

static inline struct match match_below(u32 limit)
{
	struct match m = { 0, ALL_BYTES((u64)limit + 127) };

	return m;
}

/* Bit i: byte i of @word matches. */
static inline u64 match_word(struct match m, u64 word)
{
	u64 high = (m.from - (word ^ m.flip)) & HIGH_BITS;

	return (high >> 7) * 0x0102040810204080ull >> 56;
}

static inline u64 load_word(const u64 *line, u32 group)
{
	return port_le64(READ_ONCE(line[group]));
}

/* Positions among @allowed that match. */
static u64 match_line(struct match m, const u64 *line, u64 allowed)
{
	u64 hits = 0;

	for (u64 left = allowed; left;) {
		u32 group = port_ctz64(left) / 8;

		hits |= match_word(m, load_word(line, group)) << group * 8;
		left &= ~(0xffull << group * 8);
	}
	return hits & allowed;
}

static s64 first_cpu_of(const struct shard_plan *plan, u32 shard, u64 hits)
{
	return plan->idx_to_cpu[plan->shard[shard].first_idx + port_ctz64(hits)];
}

static u32 find_match(const struct bytemap *m, struct match match, const unsigned long *allowed,
		      u32 from_cpu, unsigned long *found, s64 *first_cpu)
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
	return find_match(m, match_equal(value), allowed, from_cpu, found, first_cpu);
}

u32 bytemap_find_below(const struct bytemap *m, u8 limit, const unsigned long *allowed,
		       u32 from_cpu, unsigned long *found, s64 *first_cpu)
{
	return find_match(m, match_below(limit), allowed, from_cpu, found, first_cpu);
}

/* The lowest byte of @word among those in @which, which is not 0. */
static u32 lowest_byte(u64 word, u64 which)
{
	u32 lowest = BYTEMAP_MAX;

	for (; which; which &= which - 1) {
		u32 value = word >> port_ctz64(which) * 8 & 0xff;

		if (value < lowest)
			lowest = value;
	}
	return lowest;
}

/*
 * Positions among @allowed at the lowest value below *@limit, which then becomes that
 * value, and *@lower true; if there is none, those at *@best. One load a word.
 */
static u64 lowest_of_line(const u64 *line, u64 allowed, u32 *limit, s64 *best, bool *lower)
{
	u64 hits = 0;

	*lower = false;
	for (u64 left = allowed; left;) {
		u32 group = port_ctz64(left) / 8;
		u64 which = left >> group * 8 & 0xff;
		u64 word = load_word(line, group);
		u64 below = match_word(match_below(*limit), word) & which;

		if (below) {
			*limit = lowest_byte(word, below);
			*best = *limit;
			*lower = true;
			hits = 0;
		}
		if (*best >= 0)
			hits |= (match_word(match_equal(*limit), word) & which) << group * 8;
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
