// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The functions of tsan_abi.h, which instrumented code calls. They call those of backend.h. */
#include "arena.h"
#include "backend.h"

/*
 * Nine of ten accesses go to the body's own stack and heap. No backend simulates them: they end
 * here, after a few instructions without a stack frame.
 */
static inline void hook_plain(void *addr, unsigned int size, bool write, const void *pc)
{
	if (arena_contains(addr))
		sim_plain(addr, size, write, pc);
}

/* An access to a range touches its lines one by one, like the copy loop that it stands for. */
static void hook_range(char *a, unsigned long size, bool write, const void *pc)
{
	if (!arena_contains(a))
		return;
	while (size) {
		unsigned long chunk = 8 - ((uintptr_t)a & 7);

		if (chunk > size)
			chunk = size;
		sim_plain(a, (unsigned int)chunk, write, pc);
		a += chunk;
		size -= chunk;
	}
}

#define hook_begin()
#define hook_enter(pc)
#define hook_leave(to)
#define hook_load  sim_load
#define hook_store sim_store
#define hook_rmw   sim_rmw
#define hook_cas   sim_cas
#define hook_fence sim_fence
#include "tsan_abi.h"
