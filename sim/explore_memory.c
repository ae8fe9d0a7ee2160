// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Memory as CPUs see it, and the hash by which states are told apart.
 *
 * A load that covers only some bytes of an own buffered store sees these bytes from
 * the buffer and the rest from memory. Processors wait for the store to reach the cache
 * instead: the machine allows more than they do, never less.
 *
 * The hash of memory is a sum over all words, so that a write changes it by two terms,
 * what was there and what is there now; it starts at 0 for the initial memory. The hash of
 * a program is over all that it was given, in order, which also counts its steps.
 */
#include "explore_internal.h"

#include <string.h>

static uint64_t mix(uint64_t x)
{
	/* A full-avalanche permutation of 64 bits (multiply and shift, three rounds). */
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
	x = (x ^ (x >> 29)) * 0x9fb21c651e98df25ull;
	return x ^ (x >> 32);
}

static void hash_word(uint64_t word, uint64_t sign)
{
	uint64_t val = sim_raw_read((void *)(uintptr_t)word, 8);

	xw.memory_hash[0] += sign * mix(mix(word) + val);
	xw.memory_hash[1] += sign * mix(mix(~word) ^ val);
}

void x_hash_range(uint64_t addr, uint32_t size, uint64_t sign)
{
	for (uint64_t w = addr & ~7ull; w < addr + size; w += 8)
		hash_word(w, sign);
}

void x_hash_seen(struct x_cpu *c, uint64_t val)
{
	c->seen[0] = mix(c->seen[0] + val) + 1;
	c->seen[1] = mix(c->seen[1] ^ (val * 0x9e3779b97f4a7c15ull)) + 3;
}

void x_hash_add(struct x_hash *h, uint64_t val)
{
	h->lo = mix(h->lo + val) + 1;
	h->hi = mix(h->hi ^ (val * 0x9e3779b97f4a7c15ull)) + 3;
}

struct x_hash x_state_hash(void)
{
	struct x_hash h = { mix(xw.memory_hash[0]), mix(xw.memory_hash[1] + 1) };

	for (uint32_t i = 0; i < xw.nr_cpus; i++) {
		const struct x_cpu *c = &xw.cpus[i];
		uint32_t buffered = c->tail - c->head;

		/* What is in the buffer follows from what the program has seen and
		 * from how many of its stores are still in it. */
		h.lo = mix(h.lo + c->seen[0] + buffered);
		h.hi = mix((h.hi ^ c->seen[1]) + buffered);
	}
	if (xw.model == X_WEAK)
		x_weak_hash(&h);
	return h;
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

/* Lay a CPU's buffered stores, oldest first, over a copy of memory at @addr. */
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

/* What the CPU sees at @addr. Little endian, as is every machine with TSO. */
uint64_t x_view(const struct x_cpu *c, uint64_t addr, uint32_t size)
{
	uint64_t val = 0;

	if (!buffer_overlaps(c, addr, size))
		return x_mem_read(addr, size);
	memcpy(&val, (void *)(uintptr_t)addr, size);
	x_lay_over(c, addr, size, (uint8_t *)&val);
	return val;
}
