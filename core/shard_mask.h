/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Ordinary masks: arrays of unsigned long, one bit a CPU number. Private to core/.
 *
 * Concurrency: words are read once each, so that a mask may change meanwhile; they
 * are written plainly, so that a result must be the caller's own.
 * Ordering: none. Context: any.
 */
#ifndef SHARD_MASK_H
#define SHARD_MASK_H

#include "port.h"
#include "shard_plan.h"

static inline u64 shard_low_bits(u32 n)
{
	return n ? ~0ull >> (64 - n) : 0;
}

static inline u32 shard_mask_words(u32 nr_cpus)
{
	return (nr_cpus + 63) / 64;
}

/* Word @i of a mask of @nr_cpus bits; what lies beyond them in the last word is hidden. */
static inline u64 shard_mask_word(const unsigned long *mask, u32 i, u32 nr_cpus)
{
	u64 word = READ_ONCE(mask[i]);

	return nr_cpus - i * 64 < 64 ? word & shard_low_bits(nr_cpus - i * 64) : word;
}

static inline void shard_mask_zero(unsigned long *mask, u32 nr_cpus)
{
	memset(mask, 0, shard_mask_words(nr_cpus) * sizeof(*mask));
}

static inline u64 shard_turn_right(u64 x, u32 bits)
{
	return x >> bits % 64 | x << (0 - bits) % 64;
}

static inline u64 shard_turn_left(u64 x, u32 bits)
{
	return x << bits % 64 | x >> (0 - bits) % 64;
}

/* The bits of a mask's word @word that are of the run, at their positions. */
static inline u64 shard_run_positions(const struct shard_run *run, u64 word)
{
	return shard_turn_right(word, run->turn) & run->positions;
}

/* The run's part of positions @word, as bits of its word of a mask. */
static inline u64 shard_run_bits(const struct shard_run *run, u64 word)
{
	return shard_turn_left(word & run->positions, run->turn);
}

/* Add the positions @word of a shard with these runs to a mask. */
static port_always_inline void shard_runs_scatter(const struct shard_run *run,
						  const struct shard_run *end, u64 word,
						  unsigned long *mask)
{
	for (; run < end; run++)
		mask[run->word] |= shard_run_bits(run, word);
}

#endif /* SHARD_MASK_H */
