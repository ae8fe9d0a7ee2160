// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A run may have millions of records, and a report shows only the hottest lines. So an array by
 * line contains the sums, and only the lines to show are sorted.
 */
#include "hot_lines.h"

#include <stdlib.h>

static void add_users(struct hot_line *h, const struct stats *s, uint32_t i)
{
	for (uint32_t w = 0; w < s->cpu_words && !h->shared; w++) {
		uint64_t some = stats_place(s, i)->cpus[w];
		uint32_t user = some ? 64 * w + (uint32_t)__builtin_ctzll(some) + 1 : h->user;

		h->shared = some & (some - 1) || (h->user && user != h->user);
		h->user = user;
	}
}

uint32_t hot_lines_add_up(const struct stats *s, struct hot_line **sums)
{
	struct hot_line *hot = calloc((size_t)s->nr_lines + 1, sizeof(*hot));
	uint32_t lines = 0;

	if (!hot)
		abort();
	for (uint32_t i = 0; i < s->n; i++) {
		const struct access_record *r = stats_record(s, i);
		struct hot_line *h = &hot[r->line];

		h->accesses++;
		add_users(h, s, i);
		h->records += r->records;
		h->loads += r->loads;
		h->stores += r->stores;
		h->hitm_local += r->hitm_local;
		h->hitm_remote += r->hitm_remote;
		if (r->kind == ACCESS_STORE)
			h->store_time += r->time;
		else
			h->load_time += r->time;
		if (r->load_max > h->load_max)
			h->load_max = r->load_max;
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

static int by_address(const void *a, const void *b, void *of)
{
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct access_record *x = stats_record(of, i), *y = stats_record(of, j);
	uint64_t p = stats_place(of, i)->pc, q = stats_place(of, j)->pc;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return p < q ? -1 : p > q;
}

uint32_t *hot_lines_accesses(const struct stats *s, struct hot_line *hot, uint32_t lines)
{
	uint32_t *next = calloc((size_t)s->nr_lines + 1, sizeof(*next)), *sorted, all = 0;

	if (!next)
		abort();
	for (uint32_t i = 0; i < lines; i++) {
		hot[i].first = all;
		all += hot[i].accesses;
		next[hot[i].line] = hot[i].first + 1;
	}
	sorted = malloc(((size_t)all + 1) * sizeof(*sorted));
	if (!sorted)
		abort();
	for (uint32_t i = 0; i < s->n; i++)
		if (next[stats_record(s, i)->line])
			sorted[next[stats_record(s, i)->line]++ - 1] = i;
	for (uint32_t i = 0; i < lines; i++)
		qsort_r(sorted + hot[i].first, hot[i].accesses, sizeof(*sorted), by_address,
			(void *)s);
	free(next);
	return sorted;
}

uint32_t hot_lines_cpus(const struct stats *s, uint32_t i)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < s->cpu_words; w++)
		n += (uint32_t)__builtin_popcountll(stats_place(s, i)->cpus[w]);
	return n;
}
