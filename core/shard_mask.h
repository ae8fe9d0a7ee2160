/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Cpumasks: arrays of unsigned long, one bit per CPU number. Private to core/. Context: any.
 * Ordering: none. A mask may change during a read, word by word; the caller owns a resulting mask.
 *
 * On a 32-bit machine a mask's word is in the low half of a u64. A run (struct shard_run) lies in
 * one word of a mask: a rotation of the u64 moves the run's bits to their positions, and the
 * opposite rotation moves them back into the low half.
 */
#ifndef SHARD_MASK_H
#define SHARD_MASK_H

#include "port.h"
#include "shard_plan.h"

#define SHARD_MASK_BITS ((u32)(8 * sizeof(unsigned long))) /* CPUs per word of a mask */

static inline u64 shard_low_bits(u32 n)
{
	return n ? ~0ull >> (64 - n) : 0;
}

static inline u32 shard_mask_words(u32 nr_cpus)
{
	return (nr_cpus + SHARD_MASK_BITS - 1) / SHARD_MASK_BITS;
}

/* Word @i of a mask, without the bits of CPUs from @nr_cpus on. */
static inline u64 shard_mask_word(const unsigned long *mask, u32 i, u32 nr_cpus)
{
	u32 left = nr_cpus - i * SHARD_MASK_BITS;
	u64 word = READ_ONCE(mask[i]);

	return left < SHARD_MASK_BITS ? word & shard_low_bits(left) : word;
}

static inline bool shard_mask_test(const unsigned long *mask, u32 cpu)
{
	return READ_ONCE(mask[cpu / SHARD_MASK_BITS]) >> cpu % SHARD_MASK_BITS & 1;
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

/* The bits of a mask's word @word that belong to the run, at their positions. */
static inline u64 shard_run_positions(const struct shard_run *run, u64 word)
{
	return shard_turn_right(word, run->turn) & run->positions;
}

/* The positions of @word that lie in the run, as bits of the run's word of a mask. */
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
		mask[run->word] |= (unsigned long)shard_run_bits(run, word);
}

#endif /* SHARD_MASK_H */
