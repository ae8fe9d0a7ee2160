/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef SCHEDSHARD_NUMA_H
#define SCHEDSHARD_NUMA_H

#include <stdbool.h>
#include <stddef.h>

/**
 * shard_numa_many() - does this machine have several NUMA nodes with memory?
 *
 * The first call reads the answer from /sys; it never changes after that.
 *
 * Return: true if it has. Context: any thread.
 */
bool shard_numa_many(void);

/**
 * shard_numa_place() - choose the node of untouched pages
 * @ptr: start of a page
 * @size: bytes
 * @node: number of a node; if there is no such node, nothing changes
 *
 * The node is preferred, not forced: if it is full, the kernel takes another one. A failure costs
 * only speed. Context: any thread.
 */
void shard_numa_place(void *ptr, size_t size, int node);

#endif
