// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * One hash table serves all lines, instead of one matrix of caches per line, because most lines
 * move between a single pair of caches each. An entry is a line, the cache that had it and the
 * cache that took it.
 */
#include "feed_pairs.h"

#include <stdlib.h>
#include <string.h>

void feed_pairs_free(struct feed_pairs *p)
{
	free(p->slot);
	memset(p, 0, sizeof(*p));
}

static struct feed_pair *place(const struct feed_pairs *p, uint32_t line, uint32_t from,
			       uint32_t to)
{
	uint64_t key = (uint64_t)line << 32 | from << 16 | to;
	uint32_t i = (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & p->mask;

	while (p->slot[i].count &&
	       (p->slot[i].line != line || p->slot[i].from != from || p->slot[i].to != to))
		i = (i + 1) & p->mask;
	return &p->slot[i];
}

static void grow(struct feed_pairs *p)
{
	struct feed_pairs old = *p;

	p->mask = old.slot ? 2 * old.mask + 1 : 1023;
	p->slot = calloc((size_t)p->mask + 1, sizeof(*p->slot));
	if (!p->slot)
		abort();
	for (uint32_t i = 0; old.slot && i <= old.mask; i++)
		if (old.slot[i].count)
			*place(p, old.slot[i].line, old.slot[i].from, old.slot[i].to) = old.slot[i];
	free(old.slot);
}

void feed_pairs_add(struct feed_pairs *p, uint32_t line, uint32_t from, uint32_t to)
{
	struct feed_pair *pair;

	if (!p->slot || 2 * p->n > p->mask)
		grow(p);
	pair = place(p, line, from, to);
	if (!pair->count++) {
		pair->line = line;
		pair->from = (uint16_t)from;
		pair->to = (uint16_t)to;
		p->n++;
	}
}

static int by_line(const void *a, const void *b)
{
	const struct feed_pair *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

struct feed_pair *feed_pairs_sorted(const struct feed_pairs *p)
{
	struct feed_pair *sorted = malloc(((size_t)p->n + 1) * sizeof(*sorted));
	uint32_t n = 0;

	if (!sorted)
		abort();
	for (uint32_t i = 0; p->slot && i <= p->mask; i++)
		if (p->slot[i].count)
			sorted[n++] = p->slot[i];
	qsort(sorted, n, sizeof(*sorted), by_line);
	return sorted;
}

json_t *feed_pairs_json(const struct feed_pair *sorted, uint32_t n, uint32_t line)
{
	json_t *all = json_array();
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (sorted[mid].line < line)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < n && sorted[lo].line == line; lo++)
		json_array_append_new(all, json_pack("[i, i, I]", sorted[lo].from, sorted[lo].to,
						     (json_int_t)sorted[lo].count));
	return all;
}
