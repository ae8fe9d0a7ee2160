/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* numa.h - where memory comes from: hwloc (numa_hwloc.c), or nowhere special (no_hwloc.c). */
#ifndef SCHEDSHARD_NUMA_H
#define SCHEDSHARD_NUMA_H

#include <stdbool.h>
#include <stddef.h>

/**
 * shard_numa_many() - does it matter where memory comes from?
 *
 * The answer is found at the first call and stays the same.
 *
 * Return: true when this machine has several NUMA nodes. Context: any thread.
 */
bool shard_numa_many(void);

/**
 * shard_numa_place() - choose the node of pages that nobody has touched
 * @ptr: start of a page
 * @size: bytes
 * @node: number of a node; one that does not exist changes nothing
 *
 * The node is preferred, not forced: where it is full, another one serves. Failure
 * changes nothing either, it costs speed only. Context: any thread.
 */
void shard_numa_place(void *ptr, size_t size, int node);

#endif
