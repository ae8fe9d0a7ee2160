// SPDX-License-Identifier: GPL-2.0-only
/* A core_initcall() writes the pointer once, at boot. */
#include <linux/cache.h>
#include <linux/init.h>
#include "blocks.h"

struct kmem_cache *schedshard_blocks __ro_after_init;

static int __init make_blocks(void)
{
	schedshard_blocks = kmem_cache_create("schedshard_block", sizeof(struct visited_block),
					      PORT_CACHELINE, SLAB_PANIC, NULL);
	return 0;
}
core_initcall(make_blocks);
