// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why every execution is the machine's: a program runs on its fiber until it is about to
 * touch shared memory (a sim_*() function below), writes down what it is about to do and
 * switches to the scheduler. Only x_step() performs operations, one at a time, so
 * that memory changes at steps and nowhere else, and the order of steps is all the
 * nondeterminism there is. x_machine_reset() puts back every byte that a program can
 * have changed (the arena; bodies have no other shared state, see explore_case.h) and starts the
 * fibers afresh; with the same choices the same execution follows.
 *
 * Accesses that are not atomic are performed by the compiled code itself, after
 * the hook returns and before its next hook. To give them the machine's meaning all the same:
 * a plain load finds in memory what the CPU would see (its own buffered bytes laid
 * over memory) for as long as its fiber runs, a plain store is taken out of memory
 * again when the fiber comes back, and put into the buffer. No other program runs in between.
 *
 * A load that covers only some bytes of an own buffered store sees these bytes from
 * the buffer and the rest from memory. Processors wait for the store to reach the cache
 * instead: the machine allows more than they do, never less.
 *
 * Store buffers are FIFO, and so are the buffers here. A program whose buffer
 * holds X_BUFFER_DEPTH stores would wait in hardware; here the run is given up.
 */
#include "explore_machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "fiber.h"

#define STACK_SIZE (256u << 10)
#define NO_CPU	   (-1)
#define MAX_NAMES  64
#define HEAP_SIZE  (16u << 10) /* what one body may allocate */
#define MO_RELAXED 0
#define MO_SEQ_CST 5

struct buffered {
	uint64_t addr, val;
	const void *pc;
	uint8_t size;
	uint8_t kind; /* X_STORE or X_RMW */
	uint8_t rmw;
	bool plain;
};

struct cpu {
	struct x_op next;    /* program's next operation */
	uint64_t answer;     /* what that operation returns to the program */
	uint64_t seen[2];    /* hash of all that was returned to it, and of how many steps */
	uint32_t head, tail; /* buffered stores are buf[head..tail-1] */
	uint32_t flushed;    /* entries that have left the buffer since the start */
	char *heap;	     /* for port_alloc(): the same lines in every execution */
	size_t heap_used;
	bool done;
	struct x_op flush; /* oldest buffered store as an operation */
	struct buffered buf[X_BUFFER_DEPTH];
};

static const struct explore_case *the_case;
static enum x_model model;
static uint32_t nr_cpus;
static bool hashing;

static struct cpu cpus[EXPLORE_MAX_CPUS];
static struct fiber *fibers;
static struct fiber scheduler;
static int running = NO_CPU; /* CPU whose fiber runs */

static char *initial; /* copy of the arena after set-up */
static size_t initial_size;
static uint8_t *const_line; /* by arena line: explore_const() */
static uint64_t memory_hash[2];
static uint64_t *ghosts;
static uint64_t results[EXPLORE_RESULTS];
static struct x_failure failure;
static uint32_t steps;

static struct {
	uint64_t addr;
	size_t size;
	const char *name;
} names[MAX_NAMES];
static uint32_t nr_names;

/* -------- state hash -------- */

static uint64_t mix(uint64_t x)
{
	/* A full-avalanche permutation of 64 bits (multiply and shift, three rounds). */
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
	x = (x ^ (x >> 29)) * 0x9fb21c651e98df25ull;
	return x ^ (x >> 32);
}

/* Memory's hash is the sum over all words of a hash of (address, value): changing
 * one word changes one term. Unaligned accesses across words are hashed word by word. */
static void hash_word(uint64_t word, uint64_t sign)
{
	uint64_t val = sim_raw_read((void *)(uintptr_t)word, 8);

	memory_hash[0] += sign * mix(mix(word) + val);
	memory_hash[1] += sign * mix(mix(~word) ^ val);
}

static void hash_range(uint64_t addr, uint32_t size, uint64_t sign)
{
	for (uint64_t w = addr & ~7ull; w < addr + size; w += 8)
		hash_word(w, sign);
}

static void hash_seen(struct cpu *c, uint64_t val)
{
	c->seen[0] = mix(c->seen[0] + val) + 1;
	c->seen[1] = mix(c->seen[1] ^ (val * 0x9e3779b97f4a7c15ull)) + 3;
}

struct x_hash x_state_hash(void)
{
	struct x_hash h = { mix(memory_hash[0]), mix(memory_hash[1] + 1) };

	for (uint32_t i = 0; i < nr_cpus; i++) {
		const struct cpu *c = &cpus[i];
		uint32_t buffered = c->tail - c->head;

		/* What is in the buffer follows from what the program has seen and
		 * from how many of its stores are still in it. */
		h.lo = mix(h.lo + c->seen[0] + buffered);
		h.hi = mix((h.hi ^ c->seen[1]) + buffered);
	}
	return h;
}

/* -------- memory -------- */

static void mem_write(uint64_t addr, uint32_t size, uint64_t val)
{
	if (hashing)
		hash_range(addr, size, -1ull);
	sim_raw_write((void *)(uintptr_t)addr, size, val);
	if (hashing)
		hash_range(addr, size, 1);
}

static uint64_t mem_read(uint64_t addr, uint32_t size)
{
	return sim_raw_read((void *)(uintptr_t)addr, size);
}

static bool overlap(uint64_t a, uint32_t as, uint64_t b, uint32_t bs)
{
	return a < b + bs && b < a + as;
}

static bool buffer_overlaps(const struct cpu *c, uint64_t addr, uint32_t size)
{
	for (uint32_t i = c->head; i < c->tail; i++) {
		if (overlap(c->buf[i].addr, c->buf[i].size, addr, size))
			return true;
	}
	return false;
}

/* Lay a CPU's buffered stores, oldest first, over a copy of memory at @addr. */
static void lay_over(const struct cpu *c, uint64_t addr, uint32_t size, uint8_t *bytes)
{
	for (uint32_t i = c->head; i < c->tail; i++) {
		const struct buffered *b = &c->buf[i];

		/* No operation that reads these bytes overtakes a buffered atomic one. */
		if (b->kind != X_STORE)
			continue;
		for (uint32_t k = 0; k < b->size; k++) {
			uint64_t at = b->addr + k - addr;

			if (at < size)
				bytes[at] = (uint8_t)(b->val >> (8 * k));
		}
	}
}

/* What the CPU sees at @addr. Little endian, as is every machine with TSO. */
static uint64_t view(const struct cpu *c, uint64_t addr, uint32_t size)
{
	uint64_t val = 0;

	if (!buffer_overlaps(c, addr, size))
		return mem_read(addr, size);
	memcpy(&val, (void *)(uintptr_t)addr, size);
	lay_over(c, addr, size, (uint8_t *)&val);
	return val;
}

/* -------- set-up -------- */

void explore_name(const void *ptr, size_t size, const char *name)
{
	if (nr_names < MAX_NAMES) {
		names[nr_names].addr = (uint64_t)(uintptr_t)ptr;
		names[nr_names].size = size;
		names[nr_names++].name = name;
	}
}

void explore_const(const void *ptr, size_t size)
{
	uint32_t last = arena_line((const char *)ptr + size - 1);

	for (uint32_t l = arena_line(ptr); l <= last; l++)
		const_line[l] = 1;
}

/* Of a body: lines of its CPU's own heap, which reset() makes zero again. */
static void *heap_alloc(size_t size)
{
	size_t bytes = (size + LINE_SIZE - 1) & ~(size_t)(LINE_SIZE - 1);
	struct cpu *c;

	if (running == NO_CPU)
		return NULL;
	c = &cpus[running];
	if (bytes > HEAP_SIZE - c->heap_used) {
		fprintf(stderr, "schedshard: case %s allocates more than %u bytes in a body\n",
			the_case->name, HEAP_SIZE);
		abort();
	}
	c->heap_used += bytes;
	return c->heap + c->heap_used - bytes;
}

#define MAX_LINES (1u << 16) /* 4 MiB of shared memory, a thousand times what cases use */

void x_machine_init(const struct explore_case *c, uint32_t cpus_wanted, enum x_model m, bool hash)
{
	the_case = c;
	nr_cpus = cpus_wanted;
	model = m;
	hashing = hash;
	nr_names = 0;
	if (!fibers) {
		fibers = fiber_pool_alloc(EXPLORE_MAX_CPUS, STACK_SIZE);
		const_line = malloc(MAX_LINES);
		if (!fibers || !const_line)
			abort();
	}
	memset(const_line, 0, MAX_LINES);
	arena_port_alloc = heap_alloc;
	arena_init();
	ghosts = arena_alloc(EXPLORE_GHOSTS * sizeof(*ghosts), -1, "ghost", "uint64_t");
	c->setup(nr_cpus);
	for (uint32_t i = 0; i < nr_cpus; i++)
		cpus[i].heap = arena_alloc(HEAP_SIZE, -1, "allocated", NULL);
	if (arena_lines() > MAX_LINES)
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
	the_case->body((uint32_t)((struct cpu *)arg - cpus));
}

static void run_on(struct cpu *c)
{
	running = (int)(c - cpus);
	fiber_switch(&scheduler, &fibers[running]);
	if (fibers[running].done) {
		c->done = true;
		c->next.kind = X_NONE;
	}
	running = NO_CPU;
}

void x_machine_reset(void)
{
	memcpy((void *)(uintptr_t)ARENA_BASE, initial, initial_size);
	memset(results, 0, sizeof(results));
	memory_hash[0] = 0;
	memory_hash[1] = 0;
	failure.found = false;
	steps = 0;
	for (uint32_t i = 0; i < nr_cpus; i++) {
		struct cpu *c = &cpus[i];

		c->seen[0] = 0;
		c->seen[1] = 0;
		c->head = 0;
		c->tail = 0;
		c->flushed = 0;
		c->heap_used = 0;
		c->done = false;
		fiber_start(&fibers[i], body, c, &scheduler);
		run_on(c);
	}
}

/* -------- processes -------- */

const struct x_op *x_pending(unsigned int proc)
{
	struct cpu *c = &cpus[X_CPU(proc)];

	if (!X_IS_BUFFER(proc))
		return &c->next;
	if (c->head == c->tail) {
		c->flush.kind = X_NONE;
	} else {
		const struct buffered *b = &c->buf[c->head];

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

	for (uint32_t i = 0; i < nr_cpus; i++) {
		const struct cpu *c = &cpus[i];

		if (c->head != c->tail)
			mask |= 1u << X_BUFFER(i);
		if (!c->done && c->flushed >= c->next.after)
			mask |= 1u << i;
	}
	return mask;
}

uint32_t x_unfinished(void)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < nr_cpus; i++) {
		if (!cpus[i].done)
			mask |= 1u << i;
	}
	return mask;
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
	case X_CAS: /* also when it fails: then it counts as a write of what was there */
	case X_FLUSH:
		return X_TOUCH_WRITE;
	default:
		return X_TOUCH_NONE;
	}
}

static void enter_buffer(struct cpu *c, const struct x_op *op, uint64_t addr, uint32_t size,
			 uint64_t val)
{
	if (c->tail == X_BUFFER_DEPTH) {
		/* Flushed entries leave their place only when the buffer is empty. */
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
	c->buf[c->tail++] = (struct buffered){
		.addr = addr,
		.val = val,
		.pc = op->pc,
		.size = (uint8_t)size,
		.kind = op->kind,
		.rmw = op->rmw,
		.plain = op->plain,
	};
}

static void step_plain_load(struct cpu *c, const struct x_op *op, struct x_event *ev)
{
	void *mem = (void *)(uintptr_t)op->addr;
	uint8_t kept[16], seen[16] = { 0 };
	uint64_t words[2];

	memcpy(kept, mem, op->size);
	memcpy(seen, mem, op->size);
	lay_over(c, op->addr, op->size, seen);
	memcpy(words, seen, sizeof(words));
	ev->val = words[0];
	hash_seen(c, words[0]);
	hash_seen(c, words[1]);
	memcpy(mem, seen, op->size);
	run_on(c);
	memcpy(mem, kept, op->size);
}

static void step_plain_store(struct cpu *c, const struct x_op *op, struct x_event *ev)
{
	void *mem = (void *)(uintptr_t)op->addr;
	uint32_t nr = (op->size + 7) / 8;
	uint8_t kept[16];

	memcpy(kept, mem, op->size);
	hash_seen(c, 0);
	if (hashing)
		hash_range(op->addr, op->size, -1ull);
	/* The store takes its place in the buffer now, since the program's next operation,
	 * which run_on() makes known, may have to wait for it; its value comes after. */
	for (uint32_t i = 0; i < nr && op->buffered; i++)
		enter_buffer(c, op, op->addr + 8 * i, op->size < 8 ? op->size : 8, 0);
	run_on(c);
	for (uint32_t i = nr; i-- > 0;) {
		ev->val = mem_read(op->addr + 8 * i, op->size < 8 ? op->size : 8);
		if (op->buffered)
			c->buf[c->tail - nr + i].val = ev->val;
	}
	if (op->buffered)
		memcpy(mem, kept, op->size);
	if (hashing)
		hash_range(op->addr, op->size, 1);
}

/* A locked operation takes effect. Return: what it found. */
static uint64_t perform_rmw(const struct x_op *op, struct x_event *ev)
{
	uint64_t val;

	ev->old = mem_read(op->addr, op->size);
	if (op->kind == X_CAS)
		val = ev->old == op->expected ? op->val : ev->old;
	else
		val = sim_rmw_result(op->rmw, ev->old, op->val);
	mem_write(op->addr, op->size, val);
	ev->val = mem_read(op->addr, op->size); /* cut to the operand's size */
	return ev->old;
}

static void step_atomic(struct cpu *c, const struct x_op *op, struct x_event *ev)
{
	c->answer = 0;
	ev->val = op->val;
	if (op->buffered) {
		enter_buffer(c, op, op->addr, op->size, op->val);
	} else if (op->kind == X_LOAD) {
		c->answer = view(c, op->addr, op->size);
		ev->val = c->answer;
	} else if (op->kind == X_STORE) {
		mem_write(op->addr, op->size, op->val);
	} else if (op->kind != X_FENCE) {
		c->answer = perform_rmw(op, ev);
	}
	hash_seen(c, c->answer);
	run_on(c);
}

static void step_flush(struct cpu *c, const struct x_op *op, struct x_event *ev)
{
	ev->val = op->val;
	if (op->posted)
		perform_rmw(op, ev);
	else
		mem_write(op->addr, op->size, op->val);
	c->flushed++;
	c->head++;
	if (c->head == c->tail) {
		c->head = 0;
		c->tail = 0;
	}
}

void x_step(unsigned int proc, struct x_event *ev)
{
	struct cpu *c = &cpus[X_CPU(proc)];
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
				.after = op.after,
				.touch = (uint8_t)x_op_touch(&op) };
	steps++;
	if (X_IS_BUFFER(proc))
		step_flush(c, &op, ev);
	else if (op.plain && op.kind == X_LOAD)
		step_plain_load(c, &op, ev);
	else if (op.plain)
		step_plain_store(c, &op, ev);
	else
		step_atomic(c, &op, ev);
}

void x_final_check(void)
{
	if (the_case->check)
		the_case->check(nr_cpus);
}

const struct x_failure *x_failure(void)
{
	return &failure;
}

const uint64_t *x_results(void)
{
	return results;
}

void x_object_name(uint64_t addr, char *buf, size_t size)
{
	const struct arena_object *o;

	for (uint32_t i = 0; i < nr_names; i++) {
		if (addr - names[i].addr < names[i].size) {
			uint64_t at = addr - names[i].addr;

			snprintf(buf, size, at ? "%s+%llu" : "%s", names[i].name,
				 (unsigned long long)at);
			return;
		}
	}
	o = arena_object_of(arena_line((void *)(uintptr_t)addr));
	snprintf(buf, size, "%s+%llu", o->name,
		 (unsigned long long)(addr - ARENA_BASE - o->offset));
}

/* -------- called by programs, on their fibers -------- */

void x_fail_at(int cpu, const char *text)
{
	if (failure.found)
		return;
	failure.found = true;
	failure.cpu = cpu;
	failure.steps = steps;
	snprintf(failure.text, sizeof(failure.text), "%s", text);
}

void explore_fail(const char *fmt, ...)
{
	char text[sizeof(failure.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	x_fail_at(running, text);
}

void explore_result(uint32_t slot, uint64_t val)
{
	results[slot] = val;
}

uint64_t explore_result_of(uint32_t slot)
{
	return results[slot];
}

/* Entries of the own buffer that must have left it before these bytes can be read. */
static uint32_t after_posted(const struct cpu *c, uint64_t addr, uint32_t size)
{
	for (uint32_t i = c->tail; i-- > c->head;) {
		const struct buffered *b = &c->buf[i];

		if (b->kind != X_STORE && overlap(b->addr, b->size, addr, size))
			return c->flushed + (i - c->head) + 1;
	}
	return 0;
}

/* Hand the operation to the scheduler; it is done when this returns. */
static uint64_t propose(struct x_op op)
{
	struct cpu *c = &cpus[running];
	bool writes = op.kind == X_STORE || op.kind == X_RMW || op.kind == X_CAS;

	if (writes && const_line[arena_line((void *)(uintptr_t)op.addr)])
		explore_fail("store to an object that the case calls constant");
	if (op.kind == X_LOAD)
		op.after = after_posted(c, op.addr, op.size);
	else if (!op.buffered && !op.ghost)
		op.after = c->flushed + c->tail - c->head;
	c->next = op;
	fiber_switch(&fibers[running], &scheduler);
	return c->answer;
}

/* On a CPU, and in memory that another CPU can change? */
static bool shared(const volatile void *addr)
{
	return running != NO_CPU && arena_contains(addr);
}

static bool shared_load(const volatile void *addr)
{
	return shared(addr) && !const_line[arena_line(addr)];
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
	if (!shared_load(addr))
		return sim_raw_read(addr, size);
	return propose(make_op(X_LOAD, addr, size, pc));
}

void sim_store(volatile void *addr, unsigned int size, uint64_t val, int mo, const void *pc)
{
	struct x_op op = make_op(X_STORE, addr, size, pc);

	if (!shared(addr)) {
		sim_raw_write(addr, size, val);
		return;
	}
	/* A seq_cst store is xchg, or mov and mfence: nothing is left in the buffer behind it. */
	op.buffered = model != X_SC && mo != MO_SEQ_CST;
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
	 * The compiler does not tell whether the result is wanted. In port.h those that
	 * give one are seq_cst, those that give none are relaxed.
	 */
	op.buffered = model == X_POSTED && mo == MO_RELAXED;
	op.rmw = (uint8_t)rmw;
	op.val = operand;
	return propose(op);
}

bool sim_cas(volatile void *addr, unsigned int size, uint64_t *expected, uint64_t desired, int mo,
	     const void *pc)
{
	struct x_op op = make_op(X_CAS, addr, size, pc);
	uint64_t found;

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

void sim_fence(int mo, const void *pc)
{
	/* Weaker fences order loads with loads and stores with stores, which TSO does by itself. */
	if (running != NO_CPU && model != X_SC && mo == MO_SEQ_CST)
		propose(make_op(X_FENCE, NULL, 0, pc));
}

void sim_plain(const volatile void *addr, unsigned int size, bool write, const void *pc)
{
	struct x_op op = make_op(write ? X_STORE : X_LOAD, addr, size, pc);

	if (write ? !shared(addr) : !shared_load(addr))
		return;
	op.plain = true;
	op.buffered = write && model != X_SC;
	propose(op);
}

void explore_ghost_set(uint32_t slot, uint64_t val)
{
	struct x_op op = make_op(X_STORE, &ghosts[slot], 8, __builtin_return_address(0));

	if (running == NO_CPU) {
		ghosts[slot] = val;
		return;
	}
	op.val = val;
	op.ghost = true;
	propose(op);
}

uint64_t explore_ghost_get(uint32_t slot)
{
	struct x_op op = make_op(X_LOAD, &ghosts[slot], 8, __builtin_return_address(0));

	if (running == NO_CPU)
		return ghosts[slot];
	op.ghost = true;
	return propose(op);
}
