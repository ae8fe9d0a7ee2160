/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * memory.h - where what several processes look at is allocated: in the process's own memory, unless
 * somebody sets this before the first use.
 */
#ifndef PLUGIN_MEMORY_H
#define PLUGIN_MEMORY_H

#include <stddef.h>

/**
 * struct memory - NULL when memory is short
 * @zeroed: for ever
 * @chunk: of a stream; all are of one size
 * @drop: give such a one back
 */
struct memory {
	void *(*zeroed)(size_t size);
	void *(*chunk)(size_t size);
	void (*drop)(void *chunk);
};

extern struct memory memory;

#endif
