/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * slab.h - CPU masks as Linux's allocator would place them: one after the other, each in the
 * smallest kmalloc size that fits. On 480 CPUs a mask has its own line. On 16 CPUs eight masks
 * share a line, in every layout.
 *
 * Context: may sleep, not concurrent.
 */
#ifndef LAYOUTS_SLAB_H
#define LAYOUTS_SLAB_H

#include "port.h"

/**
 * struct mask_slab - room for a number of masks
 * @base: the memory
 * @stride: bytes from one mask to the next
 * @words: 64-bit words per mask
 * @bytes: size of @base
 * @used: masks in use
 */
struct mask_slab {
	u8 *base;
	size_t stride;
	u32 words;
	size_t bytes;
	u32 used;
};

/**
 * mask_slab_init - allocate the memory; false if there is no memory.
 */
bool mask_slab_init(struct mask_slab *s, u32 nr_cpus, u32 nr_masks, int node);
void mask_slab_free(struct mask_slab *s);

/** mask_slab_take - return the next mask, empty. */
unsigned long *mask_slab_take(struct mask_slab *s);

#endif
