// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Allocates from the C library until a caller sets another allocator. */
#include "memory.h"

#include <stdlib.h>

static void *zeroed(size_t size)
{
	return calloc(1, size);
}

struct memory memory = { .zeroed = zeroed, .chunk = malloc, .drop = free };
