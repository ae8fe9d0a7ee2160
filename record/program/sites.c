// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Keeps a tree of calls in a lock-free hash table, like that of pages.c. An entry contains the
 * index of the call that led to it. If a process is killed while it makes an entry, other processes
 * make a second entry for that call.
 */
#include "sites.h"

#include <stdbool.h>

#include "memory.h"

#define TABLE_BITS 20
#define PROBES	   32u
/* The model distinguishes 32,768 accesses of one line, with true and false sharing each. */
#define WAYS	    1024u
#define WAYS_HASHES 4096u
/* The object number of entry 0. pages.c hands out smaller numbers only. */
#define FIRST 0x650000000000ull

enum { FREE, BEING_MADE, MADE };

/* Entry 0 stays empty: index 0 means that no caller is known, or that the table is full. */
struct site {
	uint64_t pc;
	uint32_t parent, state;
};

int sites_init(struct sites *s)
{
	s->all = memory.zeroed(sizeof(*s->all) << TABLE_BITS);
	s->ways = memory.zeroed(WAYS_HASHES * sizeof(*s->ways));
	return s->all && s->ways ? 0 : -1;
}

/* Return a site's index, or 0. @make: make it if there is none; @is_new: set if it was made */
static uint32_t entry_of(struct sites *s, uint32_t parent, uint64_t pc, bool make, bool *is_new)
{
	uint64_t at = (pc + parent * 0x632be59bd9b4e019ull) * 0x9e3779b97f4a7c15ull;

	at >>= 64 - TABLE_BITS;
	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t n = (uint32_t)(at + i) & ((1u << TABLE_BITS) - 1), state = FREE;
		struct site *e = &s->all[n];

		if (!n)
			continue;
		if (!make && __atomic_load_n(&e->state, __ATOMIC_RELAXED) == FREE)
			return 0;
		if (__atomic_compare_exchange_n(&e->state, &state, BEING_MADE, false,
						__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
			e->pc = pc;
			e->parent = parent;
			/* Pairs with the acquires of this function and of sites_json(). */
			__atomic_store_n(&e->state, MADE, __ATOMIC_RELEASE);
			*is_new = true;
			return n;
		}
		if (state == MADE && e->pc == pc && e->parent == parent)
			return n;
	}
	return 0;
}

static uint32_t *ways_of(const struct sites *s, uint64_t pc)
{
	return &s->ways[pc * 0x9e3779b97f4a7c15ull >> 48 & (WAYS_HASHES - 1)];
}

bool sites_full(const struct sites *s, uint64_t pc)
{
	return __atomic_load_n(ways_of(s, pc), __ATOMIC_RELAXED) >= WAYS;
}

uint64_t sites_lost(struct sites *s, uint64_t pc)
{
	__atomic_fetch_add(&s->lost, 1, __ATOMIC_RELAXED);
	return pc;
}

uint32_t sites_entry(struct sites *s, uint32_t parent, uint64_t pc, bool make)
{
	bool is_new = false;

	return entry_of(s, parent, pc, make, &is_new);
}

uint64_t sites_number(struct sites *s, uint32_t parent, uint64_t pc)
{
	bool is_new = false;
	uint32_t entry = entry_of(s, parent, pc, !sites_full(s, pc), &is_new);

	if (is_new)
		__atomic_fetch_add(ways_of(s, pc), 1, __ATOMIC_RELAXED);
	return entry ? FIRST + entry : sites_lost(s, pc);
}

void sites_json(const struct sites *s, json_t *into)
{
	json_t *all = json_array();

	for (uint32_t n = 1; n < 1u << TABLE_BITS; n++) {
		const struct site *e = &s->all[n];

		if (__atomic_load_n(&e->state, __ATOMIC_ACQUIRE) != MADE)
			continue;
		json_array_append_new(
			all, json_pack("[I, I, I]", (json_int_t)(FIRST + n), (json_int_t)e->pc,
				       (json_int_t)(e->parent ? FIRST + e->parent : 0)));
	}
	json_object_set_new(into, "sites", all);
	json_object_set_new(into, "lost_sites", json_integer((json_int_t)s->lost));
}
