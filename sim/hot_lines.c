// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A run may have millions of records, and a report shows the lines at its top. So the sums are
 * indexed by line, and only what is shown is copied and sorted.
 */
#include "hot_lines.h"

#include <stdlib.h>

uint32_t hot_lines_add_up(const struct stats *s, const struct access_record *rec, uint32_t n,
			  struct hot_line **sums)
{
	struct hot_line *hot = calloc((size_t)s->nr_lines + 1, sizeof(*hot));
	uint32_t lines = 0;

	if (!hot)
		abort();
	for (uint32_t i = 0; i < n; i++) {
		struct hot_line *h = &hot[rec[i].line];

		h->accesses++;
		h->records += rec[i].records;
		h->loads += rec[i].loads;
		h->stores += rec[i].stores;
		h->hitm_local += rec[i].hitm_local;
		h->hitm_remote += rec[i].hitm_remote;
		h->load_time += rec[i].load_time;
		if (rec[i].load_max > h->load_max)
			h->load_max = rec[i].load_max;
	}
	for (uint32_t line = 0; line < s->nr_lines; line++) {
		if (!hot[line].accesses)
			continue;
		hot[lines] = hot[line];
		hot[lines++].line = line;
	}
	*sums = hot;
	return lines;
}

static int by_address(const void *a, const void *b)
{
	const struct access_record *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

struct access_record *hot_lines_accesses(const struct stats *s, const struct access_record *rec,
					 uint32_t n, struct hot_line *hot, uint32_t lines)
{
	uint32_t *next = calloc((size_t)s->nr_lines + 1, sizeof(*next)), all = 0;
	struct access_record *sorted;

	if (!next)
		abort();
	for (uint32_t i = 0; i < lines; i++) {
		hot[i].first = all;
		all += hot[i].accesses;
		next[hot[i].line] = hot[i].first + 1;
	}
	sorted = stats_records((size_t)all + 1);
	if (!sorted)
		abort();
	for (uint32_t i = 0; i < n; i++)
		if (next[rec[i].line])
			sorted[next[rec[i].line]++ - 1] = rec[i];
	for (uint32_t i = 0; i < lines; i++)
		qsort(sorted + hot[i].first, hot[i].accesses, sizeof(*sorted), by_address);
	free(next);
	return sorted;
}

uint32_t hot_lines_cpus(const struct access_record *r, uint32_t words)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < words; w++)
		n += (uint32_t)__builtin_popcountll(r->cpus[w]);
	return n;
}
