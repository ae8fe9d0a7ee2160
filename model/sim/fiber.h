/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * fiber.h - one stack per simulated CPU, switched in user space.
 *
 * A thin layer over Boost.Context's C entry points. Not thread safe: all fibers of
 * a process run on one thread.
 */
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include <stdbool.h>
#include <stddef.h>

struct fiber {
	void *ctx;	       /* saved context while the fiber is not running */
	void (*fn)(void *arg); /* body; runs once for each fiber_start() */
	void *arg;
	struct fiber *return_to; /* continues when the body returns */
	struct fiber *to;	 /* the fiber that it switched to last */
	char *stack_top;
	size_t stack_size;
	void *local; /* thread pointer to set when the fiber runs; NULL: do not change it */
	bool done;
};

/**
 * fiber_pool_alloc - stacks for @n fibers, each with a guard page below.
 * @n: number of fibers
 * @stack_size: bytes, a multiple of the page size
 *
 * Return: the array of fibers, or NULL when memory is short.
 */
struct fiber *fiber_pool_alloc(size_t n, size_t stack_size);
void fiber_pool_free(struct fiber *pool, size_t n);

/**
 * fiber_start - prepare a fiber to run @fn(@arg) from the beginning.
 * @f: a fiber of a pool, not running; its earlier state is lost
 * @return_to: the fiber that continues when @fn returns
 *
 * Nothing runs until the first fiber_switch() to @f.
 */
void fiber_start(struct fiber *f, void (*fn)(void *arg), void *arg, struct fiber *return_to);

/* Boost.Context's C interface, declared here because its headers are C++. */
struct fiber_transfer {
	void *ctx;  /* context of the side that jumped */
	void *data; /* the data that this side passed: its struct fiber */
};
#if __has_attribute(noplt) /* only gcc has it; without it each switch makes one more jump */
#define FIBER_NO_PLT __attribute__((noplt))
#else
#define FIBER_NO_PLT
#endif
struct fiber_transfer jump_fcontext(void *to, void *data) FIBER_NO_PLT;

/**
 * fiber_local - let this thread of the host use the thread-local memory of @to.
 */
void fiber_local(const struct fiber *to);

/**
 * fiber_switch - leave @from, run @to until something switches back.
 * @from: the fiber running now; a zeroed struct fiber stands for the thread's own stack
 *
 * Inline: the host mispredicts a return after a switch, so there should be few returns.
 */
static inline void fiber_switch(struct fiber *from, struct fiber *to)
{
	struct fiber_transfer t;

	from->to = to;
	if (__builtin_expect(to->local != NULL, false))
		fiber_local(to);
	t = jump_fcontext(to->ctx, from);
	((struct fiber *)t.data)->ctx = t.ctx;
}

#endif
