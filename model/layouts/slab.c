// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * kmalloc sizes are the powers of two from 8 on, and 96 and 192. As in Linux, objects of 96 and 192
 * bytes are not aligned to a line.
 */
#include "slab.h"

static size_t kmalloc_size(size_t bytes)
{
	size_t size = 8;

	if (bytes > 64 && bytes <= 96)
		return 96;
	if (bytes > 128 && bytes <= 192)
		return 192;
	while (size < bytes)
		size *= 2;
	return size;
}

bool mask_slab_init(struct mask_slab *s, u32 nr_cpus, u32 nr_masks, int node)
{
	s->words = (nr_cpus + 63) / 64;
	s->stride = kmalloc_size(s->words * sizeof(unsigned long));
	s->bytes = s->stride * nr_masks;
	s->used = 0;
	s->base = port_alloc(s->bytes, node);
	return s->base;
}

void mask_slab_free(struct mask_slab *s)
{
	port_free(s->base, s->bytes);
	s->base = NULL;
}

unsigned long *mask_slab_take(struct mask_slab *s)
{
	return (unsigned long *)(s->base + s->stride * s->used++);
}
