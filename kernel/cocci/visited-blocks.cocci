// SPDX-License-Identifier: GPL-2.0-only
// lib/schedshard/alloc.c: blocks of visited CPUs have a slab cache of their own.

@@
@@
 #include <asm/page.h>
+#include "blocks.h"

@@
identifier schedshard_alloc = schedshard_alloc;
identifier size, node;
@@
 schedshard_alloc(size_t size, int node)
 {
 	KUNIT_STATIC_STUB_REDIRECT(schedshard_alloc, size, node);
+	if (schedshard_is_block(size))
+		return kmem_cache_alloc_node(schedshard_blocks, GFP_KERNEL | __GFP_ZERO,
+					     usable_node(node));
 	...
 }
