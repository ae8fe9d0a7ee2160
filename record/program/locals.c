// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Finds where thread-local variables lie.
 *
 * In the files with which a program starts, a variable lies at the same distance from each thread's
 * thread pointer. So one thread, the caller, can compute that distance for all threads. Variables
 * of a file that was loaded later may lie in a heap object of each thread, at different distances.
 */
#include <link.h>

#include "preload.h"

/* A part that is farther below the pointer, or above it, is in the heap. */
#define MOST (64u << 20)

static int find(struct dl_phdr_info *module, size_t size, void *arg)
{
	void (*each)(uint64_t base, uint64_t distance) = *(void (**)(uint64_t, uint64_t))arg;
	uint64_t self, below;

	__asm__("movq %%fs:0, %0" : "=r"(self));
	below = self - (uint64_t)(uintptr_t)module->dlpi_tls_data;
	if (module->dlpi_tls_data && below && below < MOST)
		each(module->dlpi_addr, -below);
	return 0;
}

void preload_locals(void (*each)(uint64_t base, uint64_t distance))
{
	dl_iterate_phdr(find, &each);
}
