// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The functions that the code of a case calls, most of them through the compiler's instrumentation.
 * Each access is first proposed to the scheduler, and has been performed when propose() returns. In
 * set-up and in the final check, which run on the main stack, accesses happen at once.
 *
 * Only memory from the arena is shared; all other memory, such as the stack, is private to the
 * program. Loads of constant lines happen at once, because their time makes no difference. A store
 * to a constant line is a failure.
 */
#include "explore_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "arena.h"

#define MO_RELAXED 0
#define MO_ACQUIRE 2
#define MO_RELEASE 3
#define MO_ACQ_REL 4
#define MO_SEQ_CST 5

void explore_const(const void *ptr, size_t size)
{
	uint32_t last = arena_line((const char *)ptr + size - 1);

	for (uint32_t l = arena_line(ptr); l <= last; l++)
		xw.const_line[l] = 1;
}

void explore_fail(const char *fmt, ...)
{
	char text[sizeof(xw.failure.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	x_fail_at(xw.running, text);
}

void explore_give_up(void)
{
	xw.gave_up = true;
	if (xw.running == X_NO_CPU)
		abort();
	xw.fibers[xw.running].done = true;
	fiber_switch(&xw.fibers[xw.running], &xw.scheduler);
}

bool explore_gave_up(void)
{
	return xw.gave_up;
}

void explore_result(uint32_t slot, uint64_t val)
{
	xw.results[slot] = val;
}

uint64_t explore_result_of(uint32_t slot)
{
	return xw.results[slot];
}

/* Return how many entries must leave the CPU's buffer before a load can read these bytes. */
static uint32_t after_posted(const struct x_cpu *c, uint64_t addr, uint32_t size)
{
	for (uint32_t i = c->tail; i-- > c->head;) {
		const struct x_buffered *b = &c->buf[i];

		if (b->kind != X_STORE && x_overlap(b->addr, b->size, addr, size))
			return c->flushed + (i - c->head) + 1;
	}
	return 0;
}

/* Propose an operation to the scheduler, which has performed it when this returns. */
static uint64_t propose(struct x_op op)
{
	struct x_cpu *c = &xw.cpus[xw.running];
	bool writes = op.kind == X_STORE || op.kind == X_RMW || op.kind == X_CAS;

	if (writes && xw.const_line[arena_line((void *)(uintptr_t)op.addr)])
		explore_fail("store to an object that the case calls constant");
	if (xw.model == X_WEAK) {
		if (op.kind != X_FENCE)
			x_weak_address(c, op.addr);
	} else if (op.kind == X_LOAD)
		op.after = after_posted(c, op.addr, op.size);
	else if (!op.buffered && !op.ghost)
		op.after = c->flushed + c->tail - c->head;
	c->next = op;
	fiber_switch(&xw.fibers[xw.running], &xw.scheduler);
	return c->answer;
}

/* Is a CPU running, and can another CPU change this memory? */
static bool shared(const volatile void *addr)
{
	return xw.running != X_NO_CPU && arena_contains(addr);
}

static bool shared_load(const volatile void *addr)
{
	return shared(addr) && !xw.const_line[arena_line(addr)];
}

static bool has_buffers(void)
{
	return xw.model == X_TSO || xw.model == X_POSTED;
}

static struct x_op make_op(enum x_kind kind, const volatile void *addr, unsigned int size,
			   const void *pc)
{
	return (struct x_op){ .kind = (uint8_t)kind,
			      .addr = (uint64_t)(uintptr_t)addr,
			      .size = (uint8_t)size,
			      .pc = pc };
}

uint64_t sim_load(const volatile void *addr, unsigned int size, int mo, const void *pc)
{
	struct x_op op = make_op(X_LOAD, addr, size, pc);

	if (!shared_load(addr))
		return sim_raw_read(addr, size);
	op.mo = (uint8_t)mo;
	return propose(op);
}

void sim_store(volatile void *addr, unsigned int size, uint64_t val, int mo, const void *pc)
{
	struct x_op op = make_op(X_STORE, addr, size, pc);

	if (!shared(addr)) {
		sim_raw_write(addr, size, val);
		return;
	}
	/* A seq_cst store is xchg, or mov and mfence: the buffer is empty after it. */
	op.buffered = has_buffers() && mo != MO_SEQ_CST;
	op.mo = (uint8_t)mo;
	op.val = val;
	propose(op);
}

uint64_t sim_rmw(volatile void *addr, unsigned int size, enum sim_rmw_op rmw, uint64_t operand,
		 int mo, const void *pc)
{
	struct x_op op = make_op(X_RMW, addr, size, pc);

	if (!shared(addr)) {
		uint64_t old = sim_raw_read(addr, size);

		sim_raw_write(addr, size, sim_rmw_result(rmw, old, operand));
		return old;
	}
	/*
	 * The compiler does not say whether the program uses the result. In port.h operations with
	 * a result are seq_cst, those without are relaxed.
	 */
	op.buffered = xw.model == X_POSTED && mo == MO_RELAXED;
	op.mo = (uint8_t)mo;
	op.rmw = (uint8_t)rmw;
	op.val = operand;
	return propose(op);
}

bool sim_cas(volatile void *addr, unsigned int size, uint64_t *expected, uint64_t desired, int mo,
	     const void *pc)
{
	struct x_op op = make_op(X_CAS, addr, size, pc);
	uint64_t found;

	op.mo = (uint8_t)mo;
	op.val = desired;
	op.expected = *expected;
	if (shared(addr)) {
		found = propose(op);
	} else {
		found = sim_raw_read(addr, size);
		if (found == op.expected)
			sim_raw_write(addr, size, desired);
	}
	*expected = found;
	return found == op.expected;
}

void sim_index(void);

void sim_relax(void)
{
}

/*
 * The program computed an index from a word's bits: a load that uses the index comes after the
 * word's load.
 */
void sim_index(void)
{
	if (xw.running != X_NO_CPU && xw.model == X_WEAK)
		x_weak_barrier(&xw.cpus[xw.running], true, false);
}

void sim_fence(int mo, const void *pc)
{
	if (xw.running == X_NO_CPU || xw.model == X_SC)
		return;
	/*
	 * smp_mb(), and in models where atomic operations are not barriers the barriers beside
	 * them.
	 */
	if (mo == MO_SEQ_CST || (mo == MO_ACQ_REL && xw.model != X_TSO))
		propose(make_op(X_FENCE, NULL, 0, pc));
	/* smp_rmb() and smp_wmb(): TSO orders loads with loads, and stores with stores. */
	else if (xw.model == X_WEAK)
		x_weak_barrier(&xw.cpus[xw.running], mo == MO_ACQUIRE, mo == MO_RELEASE);
}

void sim_plain(const volatile void *addr, unsigned int size, bool write, const void *pc)
{
	struct x_op op = make_op(write ? X_STORE : X_LOAD, addr, size, pc);

	if (write ? !shared(addr) : !shared_load(addr))
		return;
	op.plain = true;
	op.buffered = write && has_buffers();
	propose(op);
}

void explore_ghost_set(uint32_t slot, uint64_t val)
{
	struct x_op op = make_op(X_STORE, &xw.ghosts[slot], 8, __builtin_return_address(0));

	if (xw.running == X_NO_CPU) {
		xw.ghosts[slot] = val;
		return;
	}
	op.val = val;
	op.ghost = true;
	propose(op);
}

uint64_t explore_ghost_get(uint32_t slot)
{
	struct x_op op = make_op(X_LOAD, &xw.ghosts[slot], 8, __builtin_return_address(0));

	if (xw.running == X_NO_CPU)
		return xw.ghosts[slot];
	op.ghost = true;
	return propose(op);
}
