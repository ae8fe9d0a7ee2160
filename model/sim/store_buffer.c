// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Decides when a store becomes visible, and to whom.
 *
 * Values: a load and a locked operation take effect, for all CPUs, when their hooks return; two
 * hooks never overlap. An atomic store takes effect for its own CPU when its hook returns. For all
 * others it takes effect when it leaves the store buffer. So a CPU that spins on a word sees it
 * change only once the writer owns the line. The compiled code performs plain stores itself, so all
 * CPUs see these at once. A program that orders its plain accesses by locks cannot see a
 * difference. If a CPU's plain access overlaps an atomic store in its buffer, the engine writes the
 * buffer's values early. The explorer (check/explore/) models x86-TSO completely.
 *
 * Store buffer: a store to a line that the core does not own enters the buffer and costs its CPU
 * one store. Entries become visible in order, one miss after the other. (Real cores prefetch
 * ownership for later entries: the model is pessimistic about long runs of remote stores.) Each
 * entry leaves in its own event, because another core may take the line between two entries. Locked
 * operations and fences wait until the buffer is empty; a store waits while it is full.
 *
 * Merging (protocol.stores_merge): consecutive stores to one line that has been requested share
 * entries, and leave together when the line arrives. The measured counter of plain stores on 8
 * sockets shows both effects.
 */
#include "store_buffer.h"

#include <stdlib.h>

#include "arena.h"
#include "backend.h"
#include "coherence_hit.h"
#include "sim.h"

/* ---- values ---- */

static void write_value(struct store *s)
{
	if (!s->delayed)
		return;
	sim_raw_write(sim_memory((void *)s->addr), s->size, s->value);
	s->delayed = false;
	sim.delayed--;
}

void store_buffer_write_values(struct cpu *c)
{
	for (uint32_t i = 0; i < c->sb_n; i++)
		write_value(store_buffer_entry(c, i));
}

uint64_t store_buffer_value(struct cpu *c, const volatile void *ptr, uint32_t size)
{
	uint64_t addr = (uint64_t)(uintptr_t)ptr;
	const struct store *s = store_buffer_delayed(c, addr, size);
	unsigned char bytes[8];

	if (!s)
		return sim_raw_read(sim_memory(ptr), size);
	if (addr < s->addr || addr + size > s->addr + s->size) {
		store_buffer_write_values(
			c); /* bytes of several entries, or of an entry and memory */
		return sim_raw_read(sim_memory(ptr), size);
	}
	sim_raw_write(bytes, s->size, s->value);
	return sim_raw_read(bytes + (addr - s->addr), size);
}

bool sim_store_waits(uint32_t cpu, const volatile void *addr)
{
	const struct cpu *c = &sim.cpu[cpu];

	for (uint32_t i = 0; i < c->sb_n; i++)
		if (arena_line((void *)store_buffer_entry(c, i)->addr) == arena_line(addr))
			return true;
	return false;
}

/* ---- the way to memory ---- */

/*
 * Return the place that a store to @addr would have in the youngest entry; 0: it needs a new entry.
 */
static uint32_t merged_as(const struct cpu *c, uint64_t addr)
{
	const struct store *last;

	if (sim.model->stores_merge == 1 || !c->sb_n)
		return 0;
	last = store_buffer_entry(c, c->sb_n - 1);
	if (arena_line((void *)last->addr) != arena_line((void *)addr))
		return 0;
	return (last->merged + 1) % sim.model->stores_merge;
}

bool store_buffer_full(const struct cpu *c, uint64_t addr)
{
	return c->sb_used == sim.model->store_buffer && !merged_as(c, addr);
}

void store_buffer_add(struct cpu *c, struct store *s)
{
	s->merged = merged_as(c, s->addr);
	if (!s->merged)
		c->sb_used++;
	*store_buffer_entry(c, c->sb_n++) = *s;
}

/* The oldest store becomes visible. @waited: how long its CPU has waited for it. */
static void store_buffer_pop(struct cpu *c, uint64_t waited)
{
	struct store *s = &c->sb[c->sb_head];

	write_value(s);
	stats_add(&sim.stats, c->number, (void *)s->addr, s->size, ACCESS_STORE, s->pc, waited,
		  SOURCE_HIT);
	c->sb_head = (c->sb_head + 1) % sim.model->stores;
	c->sb_n--;
	if (!c->sb_n || !store_buffer_entry(c, 0)->merged)
		c->sb_used--;
}

/* Does the second oldest store go to the oldest one's line? */
static bool next_is_merged(const struct cpu *c)
{
	return sim.model->stores_merge > 1 && c->sb_n > 1 &&
	       arena_line((void *)store_buffer_entry(c, 1)->addr) ==
		       arena_line((void *)store_buffer_entry(c, 0)->addr);
}

/* The oldest store leaves now. The next one follows when this one is complete. */
static void leave(struct cpu *c, uint64_t now)
{
	struct events *e = &sim.coherence.events;
	uint64_t done = now + sim.model->drain, waited = 0;

	/* A CPU may have been ahead of the others when it began to wait. */
	if (c->wait >= WAIT_FENCED && done > c->waits) {
		waited = done - c->waits;
		c->waits = done;
	}
	store_buffer_pop(c, waited);
	if (((c->wait == WAIT_EMPTY || c->wait == WAIT_FENCED) && !c->sb_n) ||
	    (c->wait == WAIT_SLOT && c->sb_used < sim.model->store_buffer)) {
		c->wait = WAIT_NOTHING;
		events_push(e, done, EVENT_RESUME, c->number);
	}
	if (c->sb_n)
		events_push(e, done, EVENT_COMMIT, c->number);
}

void store_buffer_advance(struct cpu *c, uint64_t now)
{
	struct coherence *co = &sim.coherence;
	uint32_t line = arena_line((void *)c->sb[c->sb_head].addr);
	uint32_t req = request_of(c->number, true);
	uint64_t extra;

	if (coherence_hit(co, c->number, c->core, line, true, sim.model->drain, now, now + 1,
			  &extra) ||
	    coherence_sibling_store(co, c->number, c->core, line, sim.model->drain, now)) {
		leave(c, now);
		return;
	}
	ordering_submit(co, req, line, true, false, sim.model->drain, now);
}

void store_buffer_commit(struct cpu *c, uint64_t now)
{
	uint32_t req = request_of(c->number, true);

	if (!sim.coherence.req[req].active) {
		store_buffer_advance(c, now);
		return;
	}
	coherence_resume(&sim.coherence, req);
	while (next_is_merged(c))
		store_buffer_pop(c, 0);
	leave(c, now);
}

/* ---- observers ---- */

uint64_t *store_buffers_show(void)
{
	uint64_t *before = malloc(sim.delayed * sizeof(*before)), n = 0;

	if (!before)
		abort();
	for (uint32_t i = 0; i < sim.model->nr_cpus; i++)
		for (uint32_t k = 0; k < sim.cpu[i].sb_n; k++) {
			struct store *s = store_buffer_entry(&sim.cpu[i], k);

			if (!s->delayed)
				continue;
			before[n++] = sim_raw_read(sim_memory((void *)s->addr), s->size);
			sim_raw_write(sim_memory((void *)s->addr), s->size, s->value);
		}
	return before;
}

void store_buffers_take_back(const uint64_t *before)
{
	uint64_t n = sim.delayed;

	for (uint32_t i = sim.model->nr_cpus; i--;)
		for (uint32_t k = sim.cpu[i].sb_n; k--;) {
			struct store *s = store_buffer_entry(&sim.cpu[i], k);

			if (s->delayed)
				sim_raw_write(sim_memory((void *)s->addr), s->size, before[--n]);
		}
}
