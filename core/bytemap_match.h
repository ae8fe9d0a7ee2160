/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Compares eight bytes of a byte map at once. Private to core/. Context: any. Ordering: none.
 *
 * Values are 0..127. A byte c of 127..255 minus a value never borrows from the byte above it, so
 * one subtraction compares eight bytes. Bit 7 of c - x, for x in 0..127:
 *
 *   equal to v:  c = 128 with x XOR v for x. It is set only if x XOR v = 0, as 128 - 0 = 128
 *	       and 128 - (1..127) < 128
 *   below l:     c = 127 + l, l in 0..128: set if 127 + l - x >= 128, that is x < l
 *
 * One multiplication collects the eight bits 7: bit 8i, times 2^(56 - 7i), lands on bit 56 + i. No
 * two of the 64 products share a bit, so nothing carries.
 *
 * port_le64() puts the byte of position 8g + i into bits 8i..8i+7 in either byte order.
 */
#ifndef BYTEMAP_MATCH_H
#define BYTEMAP_MATCH_H

#include "bytemap.h"

#define BYTES_ALL(x) (0x0101010101010101ull * (x))
#define BYTES_HIGH   BYTES_ALL(0x80ull)

/* The operand of a compare, for a whole word. */
struct byte_match {
	u64 flip; /* XORed to each value */
	u64 from; /* minus that */
};

static inline struct byte_match byte_match_equal(u32 value)
{
	struct byte_match m = { BYTES_ALL((u64)value), BYTES_HIGH };

	return m;
}

static inline struct byte_match byte_match_below(u32 limit)
{
	struct byte_match m = { 0, BYTES_ALL((u64)limit + 127) };

	return m;
}

/* Bit 8i + 7: byte i of @word matches. A quicker test than byte_match_word() != 0. */
static inline u64 byte_match_any(struct byte_match m, u64 word)
{
	return (m.from - (word ^ m.flip)) & BYTES_HIGH;
}

/* Bit i: byte i of @ones is 1; the others are 0. */
static inline u64 byte_bits(u64 ones)
{
	return ones * 0x0102040810204080ull >> 56;
}

/* Bit i: byte i of @word matches. */
static inline u64 byte_match_word(struct byte_match m, u64 word)
{
	return byte_bits(byte_match_any(m, word) >> 7);
}

static inline u64 byte_load_word(const u64 *line, u32 group)
{
	return port_le64(READ_ONCE(line[group]));
}

/* The lowest byte of @word among those in @which, which is not 0. */
static inline u32 byte_lowest(u64 word, u64 which)
{
	u32 lowest = BYTEMAP_MAX;

	for (; which && lowest; which &= which - 1) {
		u32 value = word >> port_ctz64(which) * 8 & 0xff;

		if (value < lowest)
			lowest = value;
	}
	return lowest;
}

#endif /* BYTEMAP_MATCH_H */
