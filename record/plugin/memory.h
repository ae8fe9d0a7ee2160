/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * memory.h - allocates objects that several processes may share. The default is the process's own
 * memory. A caller may set another allocator before the first use.
 */
#ifndef PLUGIN_MEMORY_H
#define PLUGIN_MEMORY_H

#include <stddef.h>

/**
 * struct memory - each function returns NULL if there is no memory
 * @zeroed: allocate zeroed memory, which is never freed
 * @chunk: allocate a chunk of a stream; all chunks have one size
 * @drop: free a chunk
 */
struct memory {
	void *(*zeroed)(size_t size);
	void *(*chunk)(size_t size);
	void (*drop)(void *chunk);
};

extern struct memory memory;

#endif
