// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why every execution is one of the modelled machine. A program runs on its fiber until its next
 * access to shared memory (a sim_*() function in explore_program.c). The program records the access
 * and switches to the scheduler. Only x_step() performs operations, one at a time. So memory
 * changes only at steps, and only their order is nondeterministic. x_machine_reset() restores the
 * arena, because bodies share no other memory (see explore_case.h), and restarts the fibers. The
 * same choices then give the same execution.
 *
 * The compiled code performs non-atomic accesses itself, after the hook returns and before its next
 * hook. These accesses still behave as on the machine. While the fiber runs, a plain load finds in
 * memory what the CPU would see (memory overlaid with its own buffered bytes). When the fiber
 * switches back, the machine removes a plain store from memory and puts it into the buffer. No
 * other program runs in between.
 *
 * Store buffers are FIFO, and so are the buffers here. In hardware a program with X_BUFFER_DEPTH
 * stores in its buffer would wait; here the explorer aborts.
 */
#include "explore_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"

#define STACK_SIZE (256u << 10)

static char *initial; /* copy of the arena after set-up */
static size_t initial_size;

/* Allocate lines for a body from its CPU's heap, which x_machine_reset() clears. */
static void *heap_alloc(size_t size)
{
	size_t bytes = (size + LINE_SIZE - 1) & ~(size_t)(LINE_SIZE - 1);
	struct x_cpu *c;

	if (xw.running == X_NO_CPU)
		return NULL;
	c = &xw.cpus[xw.running];
	if (bytes > X_HEAP_SIZE - c->heap_used) {
		fprintf(stderr, "schedshard: case %s allocates more than %u bytes in a body\n",
			xw.the_case->name, X_HEAP_SIZE);
		abort();
	}
	c->heap_used += bytes;
	if (xw.model == X_WEAK)
		x_weak_allocated(c, (uint64_t)(uintptr_t)(c->heap + c->heap_used - bytes),
				 (uint32_t)bytes);
	return c->heap + c->heap_used - bytes;
}

void x_machine_init(const struct explore_case *c, uint32_t cpus_wanted, enum x_model m, bool hash)
{
	xw.the_case = c;
	xw.nr_cpus = cpus_wanted;
	xw.model = m;
	xw.hashing = hash;
	x_forget_names();
	if (!xw.fibers) {
		xw.fibers = fiber_pool_alloc(EXPLORE_MAX_CPUS, STACK_SIZE);
		xw.const_line = malloc(X_MAX_LINES);
		if (!xw.fibers || !xw.const_line)
			abort();
	}
	memset(xw.const_line, 0, X_MAX_LINES);
	x_weak_init();
	arena_port_alloc = heap_alloc;
	arena_init();
	xw.ghosts = arena_alloc(EXPLORE_GHOSTS * sizeof(*xw.ghosts), -1, "ghost", "uint64_t");
	c->setup(xw.nr_cpus);
	for (uint32_t i = 0; i < xw.nr_cpus; i++)
		xw.cpus[i].heap = arena_alloc(X_HEAP_SIZE, -1, "allocated", NULL);
	if (arena_lines() > X_MAX_LINES)
		abort();
	free(initial);
	initial_size = arena_bytes();
	initial = malloc(initial_size);
	if (!initial)
		abort();
	memcpy(initial, (void *)(uintptr_t)ARENA_BASE, initial_size);
	x_machine_reset();
}

static void body(void *arg)
{
	xw.the_case->body((uint32_t)((struct x_cpu *)arg - xw.cpus));
}

static void run_on(struct x_cpu *c)
{
	xw.running = (int)(c - xw.cpus);
	fiber_switch(&xw.scheduler, &xw.fibers[xw.running]);
	if (xw.fibers[xw.running].done) {
		c->done = true;
		c->next.kind = X_NONE;
	}
	xw.running = X_NO_CPU;
}

void x_machine_reset(void)
{
	memcpy((void *)(uintptr_t)ARENA_BASE, initial, initial_size);
	memset(xw.results, 0, sizeof(xw.results));
	xw.memory_hash[0] = 0;
	xw.memory_hash[1] = 0;
	xw.failure.found = false;
	xw.gave_up = false;
	xw.steps = 0;
	x_weak_reset();
	for (uint32_t i = 0; i < xw.nr_cpus; i++) {
		struct x_cpu *c = &xw.cpus[i];

		c->seen[0] = 0;
		c->seen[1] = 0;
		c->head = 0;
		c->tail = 0;
		c->flushed = 0;
		c->heap_used = 0;
		c->done = false;
		fiber_start(&xw.fibers[i], body, c, &xw.scheduler);
		run_on(c);
	}
}

const struct x_op *x_pending(unsigned int proc)
{
	struct x_cpu *c = &xw.cpus[X_CPU(proc)];

	if (!X_IS_BUFFER(proc))
		return &c->next;
	if (c->head == c->tail) {
		c->flush.kind = X_NONE;
	} else {
		const struct x_buffered *b = &c->buf[c->head];

		c->flush = (struct x_op){ .kind = X_FLUSH,
					  .addr = b->addr,
					  .size = b->size,
					  .val = b->val,
					  .rmw = b->rmw,
					  .posted = b->kind == X_RMW,
					  .pc = b->pc,
					  .plain = b->plain };
	}
	return &c->flush;
}

uint32_t x_enabled(void)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < xw.nr_cpus; i++) {
		const struct x_cpu *c = &xw.cpus[i];

		if (c->head != c->tail)
			mask |= 1u << X_BUFFER(i);
		if (!c->done && c->flushed >= c->next.after)
			mask |= 1u << i;
	}
	return mask;
}

uint32_t x_alternatives(unsigned int proc)
{
	return xw.model == X_WEAK ? x_weak_alternatives(&xw.cpus[X_CPU(proc)]) : 1;
}

enum x_touch x_op_touch(const struct x_op *op)
{
	if (op->buffered)
		return X_TOUCH_NONE;
	switch (op->kind) {
	case X_LOAD:
		return X_TOUCH_READ;
	case X_STORE:
	case X_RMW:
	case X_CAS: /* if it fails, it counts as a write of the value found */
	case X_FLUSH:
		return X_TOUCH_WRITE;
	case X_FENCE: /* in the model "weak" full barriers are ordered with each other */
		return xw.model == X_WEAK ? X_TOUCH_WRITE : X_TOUCH_NONE;
	default:
		return X_TOUCH_NONE;
	}
}

static void enter_buffer(struct x_cpu *c, const struct x_op *op, uint64_t addr, uint32_t size,
			 uint64_t val)
{
	if (c->tail == X_BUFFER_DEPTH) {
		/* Flushed entries keep their place until the buffer is empty. */
		uint32_t n = c->tail - c->head;

		if (n == X_BUFFER_DEPTH) {
			fprintf(stderr, "schedshard: a case has more than %d buffered stores\n",
				X_BUFFER_DEPTH);
			abort();
		}
		memmove(c->buf, c->buf + c->head, n * sizeof(c->buf[0]));
		c->head = 0;
		c->tail = n;
	}
	c->buf[c->tail++] = (struct x_buffered){
		.addr = addr,
		.val = val,
		.pc = op->pc,
		.size = (uint8_t)size,
		.kind = op->kind,
		.rmw = op->rmw,
		.plain = op->plain,
	};
}

static void step_plain_load(struct x_cpu *c, const struct x_op *op, struct x_event *ev)
{
	void *mem = (void *)(uintptr_t)op->addr;
	uint8_t kept[16], seen[16] = { 0 };
	uint64_t words[2];

	memcpy(kept, mem, op->size);
	memcpy(seen, mem, op->size);
	x_lay_over(c, op->addr, op->size, seen);
	memcpy(words, seen, sizeof(words));
	ev->val = words[0];
	x_hash_seen(c, words[0]);
	x_hash_seen(c, words[1]);
	if (xw.model == X_WEAK)
		x_weak_plain_load(c, op, words[0]);
	memcpy(mem, seen, op->size);
	run_on(c);
	memcpy(mem, kept, op->size);
}

static void step_plain_store(struct x_cpu *c, const struct x_op *op, struct x_event *ev)
{
	void *mem = (void *)(uintptr_t)op->addr;
	uint32_t nr = (op->size + 7) / 8;
	uint8_t kept[16];

	memcpy(kept, mem, op->size);
	x_hash_seen(c, 0);
	if (xw.hashing)
		x_hash_range(op->addr, op->size, -1ull);
	/*
	 * The store takes its place in the buffer now, because the program's next operation, which
	 * run_on() announces, may have to wait for it. The value follows.
	 */
	for (uint32_t i = 0; i < nr && op->buffered; i++)
		enter_buffer(c, op, op->addr + 8 * i, op->size < 8 ? op->size : 8, 0);
	if (xw.model == X_WEAK)
		x_weak_plain_store(c, op);
	run_on(c);
	if (xw.model == X_WEAK)
		x_weak_plain_stored(op);
	for (uint32_t i = nr; i-- > 0;) {
		ev->val = x_mem_read(op->addr + 8 * i, op->size < 8 ? op->size : 8);
		if (op->buffered)
			c->buf[c->tail - nr + i].val = ev->val;
	}
	if (op->buffered)
		memcpy(mem, kept, op->size);
	if (xw.hashing)
		x_hash_range(op->addr, op->size, 1);
}

/* Perform a locked operation. Return: the value found. */
static uint64_t perform_rmw(const struct x_op *op, struct x_event *ev)
{
	uint64_t val;

	ev->old = x_mem_read(op->addr, op->size);
	if (op->kind == X_CAS)
		val = ev->old == op->expected ? op->val : ev->old;
	else
		val = sim_rmw_result(op->rmw, ev->old, op->val);
	x_mem_write(op->addr, op->size, val);
	ev->val = x_mem_read(op->addr, op->size); /* truncated to the operand's size */
	return ev->old;
}

static void step_atomic(struct x_cpu *c, const struct x_op *op, uint32_t alt, struct x_event *ev)
{
	c->answer = 0;
	ev->val = op->val;
	if (xw.model == X_WEAK) {
		c->answer = x_weak_perform(c, op, alt, ev);
	} else if (op->buffered) {
		enter_buffer(c, op, op->addr, op->size, op->val);
	} else if (op->kind == X_LOAD) {
		c->answer = x_view(c, op->addr, op->size);
		ev->val = c->answer;
	} else if (op->kind == X_STORE) {
		x_mem_write(op->addr, op->size, op->val);
	} else if (op->kind != X_FENCE) {
		c->answer = perform_rmw(op, ev);
	}
	x_hash_seen(c, c->answer);
	run_on(c);
}

static void step_flush(struct x_cpu *c, const struct x_op *op, struct x_event *ev)
{
	ev->val = op->val;
	if (op->posted)
		perform_rmw(op, ev);
	else
		x_mem_write(op->addr, op->size, op->val);
	c->flushed++;
	c->head++;
	if (c->head == c->tail) {
		c->head = 0;
		c->tail = 0;
	}
}

void x_step(unsigned int proc, uint32_t alt, struct x_event *ev)
{
	struct x_cpu *c = &xw.cpus[X_CPU(proc)];
	struct x_op op = *x_pending(proc);

	*ev = (struct x_event){ .proc = (uint8_t)proc,
				.kind = op.kind,
				.addr = op.addr,
				.size = op.size,
				.pc = op.pc,
				.plain = op.plain,
				.ghost = op.ghost,
				.buffered = op.buffered,
				.posted = op.posted,
				.alt = (uint8_t)alt,
				.after = op.after,
				.touch = (uint8_t)x_op_touch(&op) };
	xw.steps++;
	if (X_IS_BUFFER(proc))
		step_flush(c, &op, ev);
	else if (op.plain && op.kind == X_LOAD)
		step_plain_load(c, &op, ev);
	else if (op.plain)
		step_plain_store(c, &op, ev);
	else
		step_atomic(c, &op, alt, ev);
}

void x_final_check(void)
{
	if (xw.the_case->check)
		xw.the_case->check(xw.nr_cpus);
}
