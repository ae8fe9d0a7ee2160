// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A write sets its bytes for every other CPU, and an access clears its bytes for its own CPU. So a
 * bit means what the header says at any time. A CPU that joins late has accessed nothing: every
 * written byte is new to it. So a line needs one word per CPU; a version per byte would take 64.
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
		b->writer = cpu + 1;
		for (uint32_t i = 0; i < b->n; i++)
			b->unseen[i] |= bytes;
	}
	b->unseen[cpu] &= ~bytes;
	return foreign;
}
