// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The allocator is the C library's until a caller sets another one. */
#include "memory.h"

#include <stdlib.h>

static void *zeroed(size_t size)
{
	return calloc(1, size);
}

struct memory memory = { .zeroed = zeroed, .chunk = malloc, .drop = free };
