/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Allocates one cache line per shard, on the shard's home node. Private to core/. Nothing may use
 * the lines while one of these functions runs. Context: may sleep.
 */
#ifndef SHARD_LINES_H
#define SHARD_LINES_H

#include "port.h"
#include "shard_plan.h"

/*
 * Allocate a zeroed line for every shard; @line[shard] receives its address. Return: false if there
 * is no memory; then all pointers are NULL.
 */
bool shard_lines_alloc(const struct shard_plan *plan, u64 **line);

/* The first shard after @s that is on another node. Shards of one node are one allocation. */
u32 shard_node_end(const struct shard_plan *plan, u32 s);

/* A size rounded up to whole lines. */
static inline size_t shard_whole_lines(size_t bytes)
{
	return (bytes + PORT_CACHELINE - 1) & ~(size_t)(PORT_CACHELINE - 1);
}

/* Free the lines of shard_lines_alloc(). */
void shard_lines_free(const struct shard_plan *plan, u64 *const *line);

#endif /* SHARD_LINES_H */
