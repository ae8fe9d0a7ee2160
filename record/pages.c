// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * An open table without locks, as that of lines (access.c): an entry is made once, by
 * compare-and-exchange. A page that finds no place is never new: the model then takes all nodes in
 * turn for its lines.
 */
#include "pages.h"

#include <stdlib.h>

#define PAGE_SHIFT 12
#define TABLE_BITS 20
#define PROBES	   16u

static uint64_t *table;

int pages_init(void)
{
	table = calloc(1u << TABLE_BITS, sizeof(*table));
	return table ? 0 : -1;
}

bool pages_is_new(uint64_t place)
{
	uint64_t page = place >> PAGE_SHIFT;
	uint64_t at = page * 0x9e3779b97f4a7c15ull >> (64 - TABLE_BITS);

	for (uint32_t i = 0; i < PROBES; i++) {
		uint64_t *slot = &table[(at + i) & ((1u << TABLE_BITS) - 1)];
		uint64_t seen = __atomic_load_n(slot, __ATOMIC_RELAXED);

		if (!seen && __atomic_compare_exchange_n(slot, &seen, page + 1, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
		if (seen == page + 1)
			return false;
	}
	return false;
}
