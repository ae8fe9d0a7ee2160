/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * feed_pairs.h - who took which line from whom, by last-level cache.
 *
 * Concurrency: the model's thread only.
 */
#ifndef PLUGIN_FEED_PAIRS_H
#define PLUGIN_FEED_PAIRS_H

#include <jansson.h>
#include <stdint.h>

/**
 * struct feed_pairs - a hash table of transfers; all zero: none
 * @slot: line, cache that had it, cache that took it; count 0 for a free slot
 * @mask: slots - 1
 * @n: used slots
 */
struct feed_pairs {
	struct feed_pair {
		uint32_t line;
		uint16_t from, to;
		uint64_t count;
	} * slot;
	uint32_t mask, n;
};

void feed_pairs_free(struct feed_pairs *p);

/** feed_pairs_add - one more transfer of a line between two caches. Aborts without memory. */
void feed_pairs_add(struct feed_pairs *p, uint32_t line, uint32_t from, uint32_t to);

/**
 * feed_pairs_sorted - return all @n entries, sorted by line, for the caller to free. Aborts without
 * memory.
 */
struct feed_pair *feed_pairs_sorted(const struct feed_pairs *p);

/** feed_pairs_json - [from, to, count] of each pair of one line's caches, of the @n sorted ones. */
json_t *feed_pairs_json(const struct feed_pair *sorted, uint32_t n, uint32_t line);

#endif
