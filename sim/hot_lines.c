// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "hot_lines.h"

#include <stdlib.h>

static int by_address(const void *a, const void *b)
{
	const struct access_record *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

uint32_t hot_lines_add_up(struct access_record *rec, uint32_t n, struct hot_line *hot)
{
	uint32_t lines = 0;

	qsort(rec, n, sizeof(*rec), by_address);
	for (uint32_t i = 0; i < n; i++) {
		struct hot_line *h;

		if (!lines || hot[lines - 1].line != rec[i].line)
			hot[lines++] = (struct hot_line){ .line = rec[i].line, .first = i };
		h = &hot[lines - 1];
		h->records += rec[i].records;
		h->loads += rec[i].loads;
		h->stores += rec[i].stores;
		h->hitm_local += rec[i].hitm_local;
		h->hitm_remote += rec[i].hitm_remote;
		h->load_time += rec[i].load_time;
		if (rec[i].load_max > h->load_max)
			h->load_max = rec[i].load_max;
	}
	return lines;
}

uint32_t hot_lines_cpus(const struct access_record *r, uint32_t words)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < words; w++)
		n += (uint32_t)__builtin_popcountll(r->cpus[w]);
	return n;
}
