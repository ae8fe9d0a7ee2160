/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A slab cache for the blocks of visited CPUs: of their 576 bytes a power of two would waste 448,
 * for every process and last-level cache that it runs in.
 */
#ifndef _SCHEDSHARD_BLOCKS_H
#define _SCHEDSHARD_BLOCKS_H

#include <linux/slab.h>
#include <linux/schedshard/visited.h>

/* NULL until it is made, long before the first process needs one. Blocks are freed by kvfree(). */
extern struct kmem_cache *schedshard_blocks;

static inline bool schedshard_is_block(size_t size)
{
	return size == sizeof(struct visited_block) && schedshard_blocks;
}

#endif /* _SCHEDSHARD_BLOCKS_H */
