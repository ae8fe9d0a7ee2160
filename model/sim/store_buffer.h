/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * store_buffer.h - a CPU's store buffer: the values that only this CPU sees so far, and how they
 * reach memory. Private to the timing backend.
 */
#ifndef SIM_STORE_BUFFER_H
#define SIM_STORE_BUFFER_H

#include "engine_state.h"

static inline struct store *store_buffer_entry(const struct cpu *c, uint32_t i)
{
	return &c->sb[(c->sb_head + i) % sim.model->stores];
}

static inline bool overlaps(const struct store *s, uint64_t addr, uint32_t size)
{
	return s->addr < addr + size && addr < s->addr + s->size;
}

/* The youngest store of @c to @addr whose value is not in memory yet, or NULL. */
static inline struct store *store_buffer_delayed(const struct cpu *c, uint64_t addr, uint32_t size)
{
	for (uint32_t i = c->sb_n; i--;) {
		struct store *s = store_buffer_entry(c, i);

		if (s->delayed && overlaps(s, addr, size))
			return s;
	}
	return NULL;
}

/* Does a store that is still in this CPU's buffer supply the value at @addr? */
static inline bool store_buffer_forwards(const struct cpu *c, const volatile void *addr)
{
	for (uint32_t i = 0; i < c->sb_n; i++) {
		uint64_t a = store_buffer_entry(c, i)->addr;

		if (a >> 3 == (uint64_t)(uintptr_t)addr >> 3)
			return true;
	}
	return false;
}

/** store_buffer_full - must a store to @addr wait for an entry? */
bool store_buffer_full(const struct cpu *c, uint64_t addr);

/** store_buffer_add - add @s as the youngest store. The buffer must not be full. */
void store_buffer_add(struct cpu *c, struct store *s);

/** store_buffer_write_values - write the buffered values to memory; the entries stay. */
void store_buffer_write_values(struct cpu *c);

/** store_buffer_value - return what @c itself reads: memory overlaid with its buffered stores. */
uint64_t store_buffer_value(struct cpu *c, const volatile void *ptr, uint32_t size);

/**
 * store_buffer_advance - let the oldest entry leave, or request its line.
 * @c: its buffer is not empty, and no request or event of the buffer is under way
 * @now: picoseconds
 *
 * EVENT_COMMIT comes for the next entry, and EVENT_RESUME for a CPU whose wait ends.
 */
void store_buffer_advance(struct cpu *c, uint64_t now);

/** store_buffer_commit - handle EVENT_COMMIT: the oldest entry has its line, or may be sent. */
void store_buffer_commit(struct cpu *c, uint64_t now);

/**
 * store_buffers_show - write the values of all store buffers to memory.
 *
 * Return: what was in memory before, for store_buffers_take_back(); the caller frees it.
 */
uint64_t *store_buffers_show(void);

/** store_buffers_take_back - undo store_buffers_show(). */
void store_buffers_take_back(const uint64_t *before);

#endif
