/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* numa.h - placement of memory. */
#ifndef SCHEDSHARD_NUMA_H
#define SCHEDSHARD_NUMA_H

#include <stdbool.h>
#include <stddef.h>

/**
 * shard_numa_many() - does the placement of memory matter?
 *
 * The first call finds the answer, which stays the same.
 *
 * Return: true when this machine has several NUMA nodes. Context: any thread.
 */
bool shard_numa_many(void);

/**
 * shard_numa_place() - choose the node of untouched pages
 * @ptr: start of a page
 * @size: bytes
 * @node: number of a node; one that does not exist changes nothing
 *
 * The node is preferred, not forced: if it is full, the kernel takes another one. A failure changes
 * nothing and costs speed only. Context: any thread.
 */
void shard_numa_place(void *ptr, size_t size, int node);

#endif
