// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why a switch loses no context: jump_fcontext() gives the side that arrives a handle on the
 * context of the side that jumped. Each arrival first stores that handle into the fiber that
 * jumped. Until then that fiber cannot be resumed, and no code tries to, because only one thread
 * runs. The jump's data pointer names the fiber that jumped.
 */
#include "fiber.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *make_fcontext(void *stack_top, size_t size, void (*fn)(struct fiber_transfer t));

static void trampoline(struct fiber_transfer t)
{
	struct fiber *from = t.data, *self = from->to;

	from->ctx = t.ctx;
	self->fn(self->arg);
	self->done = true;
	fiber_switch(self, self->return_to);
	abort(); /* a finished fiber was resumed */
}

/*
 * Return the offset of a stack. Stacks that begin at the same offset in a page compete for the same
 * few sets of the host's L1 cache, and with hundreds of fibers each switch misses. So they start at
 * different lines.
 */
static size_t colour(size_t i)
{
	return i % 32 * 128;
}

struct fiber *fiber_pool_alloc(size_t n, size_t stack_size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t stride = stack_size + page;
	struct fiber *pool = calloc(n, sizeof(*pool));
	char *stacks;

	if (!pool)
		return NULL;
	stacks = mmap(NULL, n * stride, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stacks == MAP_FAILED) {
		free(pool);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		/*
		 * The guard page turns a stack overflow into a fault. Without it the fiber would
		 * overwrite its neighbour's stack.
		 */
		mprotect(stacks + i * stride, page, PROT_NONE);
		pool[i].stack_top = stacks + (i + 1) * stride - colour(i);
		pool[i].stack_size = stack_size - colour(i);
	}
	return pool;
}

void fiber_pool_free(struct fiber *pool, size_t n)
{
	size_t stride;

	if (!pool)
		return;
	/* Fiber 0 has colour 0: its stack has the size that the caller asked for. */
	stride = pool[0].stack_size + (size_t)sysconf(_SC_PAGESIZE);
	munmap(pool[0].stack_top - stride, n * stride);
	free(pool);
}

void fiber_start(struct fiber *f, void (*fn)(void *arg), void *arg, struct fiber *return_to)
{
	f->fn = fn;
	f->arg = arg;
	f->return_to = return_to;
	f->done = false;
	f->ctx = make_fcontext(f->stack_top, f->stack_size, trampoline);
}

#ifdef __x86_64__
#define HWCAP2_FSGSBASE 2
#define SET_FS		0x1002 /* of arch_prctl() */

void fiber_local(const struct fiber *to)
{
	static int has_instruction = -1;

	if (has_instruction < 0)
		has_instruction = !!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE);
	if (has_instruction)
		__asm__ volatile("wrfsbase %0" : : "r"(to->local) : "memory");
	else
		syscall(SYS_arch_prctl, SET_FS, to->local);
}
#else
void fiber_local(const struct fiber *to)
{
	abort(); /* no fiber has its own thread pointer here */
}
#endif
