/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A slab cache for the blocks of visited CPUs, of 576 bytes. Rounding up to a power of two would
 * waste 448 bytes for every process and last-level cache that it runs in.
 */
#ifndef _SCHEDSHARD_BLOCKS_H
#define _SCHEDSHARD_BLOCKS_H

#include <linux/slab.h>
#include <linux/schedshard/visited.h>

/* NULL until boot makes it, long before the first process needs a block. kvfree() frees blocks. */
extern struct kmem_cache *schedshard_blocks;

static inline bool schedshard_is_block(size_t size)
{
	return size == sizeof(struct visited_block) && schedshard_blocks;
}

#endif /* _SCHEDSHARD_BLOCKS_H */
