/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The reference implementations for the sharded structures: the simplest code that does the same.
 *
 * They are indexed by CPU number, without topology, and use the same port.h operations as core/. So
 * a difference between the two comes from layout and algorithm, never from a better atomic
 * operation.
 *
 * | object        | concurrent writers                   | readers       |
 * |---------------|--------------------------------------|---------------|
 * | plain_bitmap  | any, one locked operation per change | any, no order |
 * | plain_counter | any, one locked operation per change | any, no order |
 */
#ifndef BENCH_BASELINES_H
#define BENCH_BASELINES_H

#include "port.h"

/**
 * struct plain_bitmap - one bit per CPU, 64 CPUs per word
 * @nr: number of bits
 * @nr_words: number of words
 * @word: the bits, from a cache line boundary on
 */
struct plain_bitmap {
	u32 nr;
	u32 nr_words;
	u64 word[] port_cacheline_aligned;
};

static inline void plain_bitmap_set(struct plain_bitmap *b, u32 cpu)
{
	port_or64(&b->word[cpu >> 6], 1ULL << (cpu & 63));
}

static inline void plain_bitmap_clear(struct plain_bitmap *b, u32 cpu)
{
	port_and64(&b->word[cpu >> 6], ~(1ULL << (cpu & 63)));
}

static inline bool plain_bitmap_test(const struct plain_bitmap *b, u32 cpu)
{
	return READ_ONCE(b->word[cpu >> 6]) >> (cpu & 63) & 1;
}

/* The first set bit from @cpu on, or @b->nr; the step of a for_each loop over a CPU mask. */
static inline u32 plain_bitmap_next(const struct plain_bitmap *b, u32 cpu)
{
	u32 i = cpu >> 6;
	u64 word;

	if (cpu >= b->nr)
		return b->nr;
	word = READ_ONCE(b->word[i]) & (~0ULL << (cpu & 63));
	while (!word) {
		if (++i == b->nr_words)
			return b->nr;
		word = READ_ONCE(b->word[i]);
	}
	return i * 64 + port_ctz64(word);
}

#define plain_bitmap_for_each(cpu, b)                            \
	for ((cpu) = plain_bitmap_next((b), 0); (cpu) < (b)->nr; \
	     (cpu) = plain_bitmap_next((b), (cpu) + 1))

/**
 * struct plain_counter - one count for all CPUs, alone on its line
 * @count: the count
 */
struct plain_counter {
	u64 count port_cacheline_aligned;
};

static inline void plain_counter_inc(struct plain_counter *c)
{
	port_add64(&c->count, 1);
}

static inline u64 plain_counter_sum(const struct plain_counter *c)
{
	return READ_ONCE(c->count);
}

#endif
