// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Keeps memory as CPUs see it, and the hashes of memory and programs.
 *
 * A load may overlap only partly with a buffered store of its CPU. The load then reads these bytes
 * from the buffer and the others from memory. Processors instead wait until the store reaches the
 * cache, so the machine allows more than they do, never less.
 *
 * The hash of memory is a sum over all words, 0 for the initial memory. A write changes two terms
 * of it: it subtracts the old word and adds the new one. The hash of a program covers all values
 * that it received, in order, and so also the number of its steps. explore_hash.c combines them.
 */
#include "explore_internal.h"

#include <string.h>

static void hash_word(uint64_t word, uint64_t sign)
{
	uint64_t val = sim_raw_read((void *)(uintptr_t)word, 8);

	xw.memory_hash[0] += sign * x_mix(x_mix(word) + val);
	xw.memory_hash[1] += sign * x_mix(x_mix(~word) ^ val);
}

void x_hash_range(uint64_t addr, uint32_t size, uint64_t sign)
{
	for (uint64_t w = addr & ~7ull; w < addr + size; w += 8)
		hash_word(w, sign);
}

void x_hash_seen(struct x_cpu *c, uint64_t val)
{
	c->seen[0] = x_mix(c->seen[0] + val) + 1;
	c->seen[1] = x_mix(c->seen[1] ^ (val * 0x9e3779b97f4a7c15ull)) + 3;
}

void x_mem_write(uint64_t addr, uint32_t size, uint64_t val)
{
	if (xw.hashing)
		x_hash_range(addr, size, -1ull);
	sim_raw_write((void *)(uintptr_t)addr, size, val);
	if (xw.hashing)
		x_hash_range(addr, size, 1);
}

uint64_t x_mem_read(uint64_t addr, uint32_t size)
{
	return sim_raw_read((void *)(uintptr_t)addr, size);
}

static bool buffer_overlaps(const struct x_cpu *c, uint64_t addr, uint32_t size)
{
	for (uint32_t i = c->head; i < c->tail; i++) {
		if (x_overlap(c->buf[i].addr, c->buf[i].size, addr, size))
			return true;
	}
	return false;
}

/* Apply a CPU's buffered stores, oldest first, to a copy of memory at @addr. */
void x_lay_over(const struct x_cpu *c, uint64_t addr, uint32_t size, uint8_t *bytes)
{
	for (uint32_t i = c->head; i < c->tail; i++) {
		const struct x_buffered *b = &c->buf[i];

		/* No operation that reads these bytes overtakes a buffered atomic one. */
		if (b->kind != X_STORE)
			continue;
		for (uint32_t k = 0; k < b->size; k++) {
			uint64_t at = b->addr + k - addr;

			if (at < size)
				bytes[at] = (uint8_t)(b->val >> (8 * k));
		}
	}
}

/* Return what the CPU sees at @addr. Assumes little endian, as on every machine with TSO. */
uint64_t x_view(const struct x_cpu *c, uint64_t addr, uint32_t size)
{
	uint64_t val = 0;

	if (!buffer_overlaps(c, addr, size))
		return x_mem_read(addr, size);
	memcpy(&val, (void *)(uintptr_t)addr, size);
	x_lay_over(c, addr, size, (uint8_t *)&val);
	return val;
}
