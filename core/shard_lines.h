/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * One cache line a shard, on the shard's NUMA node. Private to core/.
 *
 * Concurrency: the caller excludes everything else. Ordering: none.
 * Context: may sleep.
 */
#ifndef SHARD_LINES_H
#define SHARD_LINES_H

#include "port.h"
#include "shard_plan.h"

/**
 * shard_lines_alloc() - a zeroed line for every shard
 * @plan: the plan
 * @line: by shard: where the line's first word is stored; all NULL on failure
 *
 * Return: false when there is no memory.
 */
bool shard_lines_alloc(const struct shard_plan *plan, u64 **line);

/**
 * shard_lines_free() - give them back
 * @plan: the plan
 * @line: what shard_lines_alloc() stored
 */
void shard_lines_free(const struct shard_plan *plan, u64 *const *line);

#endif /* SHARD_LINES_H */
