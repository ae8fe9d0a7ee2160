// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Each CPU has a word with a bit for each byte of the line. A write sets the bits of its bytes in
 * the words of all other CPUs. An access clears the bits of its bytes in its own CPU's word. A CPU
 * that joins late has accessed nothing yet, so every written byte is new to it.
 */
#include "feed_bytes.h"

#include <stdlib.h>

static void make_room(struct feed_bytes *b, uint32_t cpu)
{
	uint32_t n = b->n ? b->n : 2;

	while (n <= cpu)
		n *= 2;
	b->unseen = realloc(b->unseen, n * sizeof(*b->unseen));
	if (!b->unseen)
		abort();
	for (uint32_t i = b->n; i < n; i++)
		b->unseen[i] = b->written;
	b->n = n;
}

bool feed_bytes_access(struct feed_bytes *b, uint32_t cpu, uint32_t offset, uint32_t size,
		       bool write)
{
	uint64_t bytes = (size == 64 ? ~0ull : (1ull << size) - 1) << offset;
	bool foreign;

	if (cpu >= b->n)
		make_room(b, cpu);
	foreign = b->unseen[cpu] & bytes;
	if (write) {
		b->written |= bytes;
		for (uint32_t i = 0; i < b->n; i++)
			b->unseen[i] |= bytes;
	}
	b->unseen[cpu] &= ~bytes;
	return foreign;
}
