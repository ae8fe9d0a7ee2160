// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The model "weak": loads pass loads, stores pass stores, loads pass stores.
 *
 * Programs are C code, so a load must return a value at once. The machine does not reorder
 * accesses: it performs them in order and keeps old values. Each word of memory has a history of
 * stores. A load may return any value in that history that is not older than what its CPU knows. A
 * view represents this knowledge: for each word the oldest store that the CPU may still read.
 *
 *   current   bounds the CPU's next load
 *   read      joined views of all stores that it has read
 *   stored    joined views of its own stores
 *   before    part of the view of each of its later stores
 *   strong    as before: what full barriers knew, here or on a CPU whose stores it has read
 *   fences    one for all CPUs: what full barriers know of each other
 *   seen      one for all CPUs: stores that a CPU has read, or that a full barrier followed
 *
 *   load               may return what "current" allows; read += view of the store it returned,
 *                      unless that was its own; "current" of its word rises to it (coherence)
 *   acquire, smp_rmb() current += read
 *   store              is the newest of its word; its view: itself, before, strong, the view of the
 *                      store that it overwrites; stored += its view
 *   smp_wmb()          before += stored
 *   release            the store's view += stored, read
 *   full barrier       current += read, stored, fences; fences, strong += current
 *   atomic, no result  a store that is made from the newest value
 *   atomic, result     such a store between two full barriers
 *   compare-exchange   as an atomic with a result when it exchanges; else a load
 *   ghost, looked at   current, read += seen: a CPU that reads the clock loads later than that
 *
 * The model allows store buffering, message passing with either barrier missing, and IRIW and
 * similar shapes without full barriers. The value of a failed compare-and-exchange may be old.
 *
 * The model forbids what Linux's memory model (tools/memory-model) forbids: a reported fault must
 * be real, even if some faults are missed. The argument: a cycle that the memory model forbids
 * contains an edge against the order in which this machine performed the accesses. The only such
 * edge leads from a load to a store S that the load did not see, although S had been performed.
 * Along the rest of the cycle views propagate S:
 *
 *  - from S to a store that a barrier orders after it,
 *  - from a store to its reader,
 *  - from a reader to a later store that is a release or follows a full barrier,
 *  - from a full barrier along readers and their later stores (always, so the machine need not know
 *    dependencies),
 *  - from a store to the one that overwrites it,
 *  - through "fences" from full barrier to full barrier, and
 *  - into "current" where a barrier or a dependency orders two loads.
 *
 * So the load knew S.
 *
 * The model omits the following, and misses faults that need it:
 *
 *  - A store never passes an earlier load of its CPU (load buffering): the load would have to
 *    return a value that is not yet known. So a missing barrier between a load and a later store is
 *    not found.
 *  - Stores to one word take effect in the order in which they are performed. A store that a later
 *    store of its CPU passes is hidden from loads, but not from atomic operations and stores of
 *    other CPUs (2+2W).
 *  - Address dependencies. A load from the allocation that a loaded pointer points into comes after
 *    the pointer's load and everything before it. Each load after port_ctz64() of a word comes
 *    after everything before the load of the word. This orders more than the true dependencies. An
 *    index that was itself loaded counts as no dependency: a case that relies on one would report
 *    false faults.
 *  - Eight aligned bytes are one word, whichever of them an access touches.
 *
 * port_alloc() zeroes memory that held other data: no CPU may read it without knowing the zeroing.
 *
 * Data races: the model reports a plain load of bytes to which another CPU has stored without this
 * CPU's knowledge. It also reports a plain store to such bytes, and, like the other models, two
 * adjacent conflicting accesses.
 */
#include "explore_weak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"

#define MO_RELAXED 0
#define MO_ACQUIRE 2
#define MO_RELEASE 3
#define MO_SEQ_CST 5

struct x_weak xk;

static uint16_t word_at[TABLE_SIZE]; /* by hash of the address: the word's number plus 1 */

static void give_up(const char *what)
{
	fprintf(stderr, "schedshard: case %s: %s for the model weak\n", xw.the_case->name, what);
	abort();
}

void x_weak_init(void)
{
	xk.nr_words = 0;
	memset(xk.first.owner, NOBODY, sizeof(xk.first.owner));
	memset(word_at, 0, sizeof(word_at));
}

void x_weak_reset(void)
{
	for (uint32_t w = 0; w < xk.nr_words; w++)
		xk.words[w].newest = 0;
	xk.nr_messages = 0;
	memset(&xk.fences, 0, sizeof(xk.fences));
	memset(&xk.seen, 0, sizeof(xk.seen));
	for (uint32_t i = 0; i < EXPLORE_MAX_CPUS; i++)
		memset(&xk.cpus[i], 0, offsetof(struct weak_cpu, pointer));
}

static struct weak_cpu *of(const struct x_cpu *c)
{
	return &xk.cpus[c - xw.cpus];
}

static void join(struct view *v, const struct view *with)
{
	for (uint32_t w = 0; w < xk.nr_words; w++)
		v->at[w] = v->at[w] > with->at[w] ? v->at[w] : with->at[w];
}

/* The number of a word, or -1 if no program has stored to it; @make: begin its history. */
static int word_of(uint64_t addr, bool make)
{
	uint64_t at = addr & ~7ull;
	uint32_t slot = (uint32_t)((at >> 3) * 0x9e3779b1u) % TABLE_SIZE;

	for (; word_at[slot]; slot = (slot + 1) % TABLE_SIZE) {
		if (xk.words[word_at[slot] - 1].addr == at)
			return word_at[slot] - 1;
	}
	if (!make)
		return -1;
	if (xk.nr_words == MAX_WORDS)
		give_up("stores to too many words");
	xk.words[xk.nr_words] = (struct word){ .addr = at, .initial = x_mem_read(at, 8) };
	word_at[slot] = (uint16_t)++xk.nr_words;
	return (int)xk.nr_words - 1;
}

/* The bytes of a word that an access touches, as a mask. */
static uint8_t bytes_of(uint64_t addr, uint32_t size)
{
	return (uint8_t)(((1u << size) - 1) << (addr & 7));
}

static uint64_t cut(uint64_t word, uint64_t addr, uint32_t size)
{
	word >>= 8 * (addr & 7);
	return size < 8 ? word & ((1ull << 8 * size) - 1) : word;
}

static bool in_one_word(const struct x_op *op)
{
	return (op->addr & 7) + op->size <= 8;
}

/*
 * Find the store that a load returns in alternative @alt; 0: the newest. Stores that did not touch
 * the bytes do not count. Return: false if there are fewer alternatives.
 */
static bool candidate(const struct x_cpu *c, const struct x_op *op, int w, uint32_t alt,
		      uint32_t *store)
{
	uint8_t bytes = bytes_of(op->addr, op->size);
	uint32_t oldest = of(c)->current.at[w];

	for (uint32_t k = xk.words[w].newest;; k--) {
		bool counts =
			k == oldest || k == xk.words[w].newest || (message_of(w, k)->bytes & bytes);

		/*
		 * A CAS exchanges only the newest value, so an older one that equals @expected is
		 * not an alternative.
		 */
		if (op->kind == X_CAS && k != xk.words[w].newest &&
		    cut(value_of(w, k), op->addr, op->size) == op->expected)
			counts = false;
		if (counts && !alt--) {
			*store = k;
			return true;
		}
		if (k == oldest)
			return false;
	}
}

uint32_t x_weak_alternatives(const struct x_cpu *c)
{
	const struct x_op *op = &c->next;
	uint32_t n = 1, store;
	int w;

	if ((op->kind != X_LOAD && op->kind != X_CAS) || op->plain || op->ghost || !in_one_word(op))
		return 1;
	w = word_of(op->addr, false);
	if (w < 0)
		return 1;
	while (candidate(c, op, w, n, &store))
		n++;
	return n;
}

/* ---- what programs do ---- */

void x_weak_barrier(struct x_cpu *c, bool loads, bool stores)
{
	struct weak_cpu *k = of(c);

	if (loads)
		join(&k->current, &k->read);
	if (stores)
		join(&k->before, &k->stored);
}

static void full_barrier(struct weak_cpu *k)
{
	join(&k->current, &k->read);
	join(&k->current, &k->stored);
	join(&k->current, &xk.fences);
	join(&xk.fences, &k->current);
	join(&xk.seen, &k->current);
	join(&k->strong, &k->current);
}

/* The program loaded a pointer: accesses to its allocation depend on it. */
static void note_pointer(struct weak_cpu *k, uint64_t val)
{
	const struct arena_object *o;
	uint32_t i;

	if (!arena_contains((void *)(uintptr_t)val) ||
	    arena_line((void *)(uintptr_t)val) >= arena_lines())
		return;
	o = arena_object_of(arena_line((void *)(uintptr_t)val));
	for (i = 0; i < k->nr_pointers; i++) {
		if (k->pointer[i].to == o)
			break;
	}
	if (i == MAX_POINTERS)
		give_up("a program loads too many pointers");
	if (i == k->nr_pointers) {
		k->nr_pointers++;
		k->pointer[i] = (struct pointer){ .to = o };
	}
	join(&k->pointer[i].read, &k->read);
}

void x_weak_address(struct x_cpu *c, uint64_t addr)
{
	const struct arena_object *o = arena_object_of(arena_line((void *)(uintptr_t)addr));
	struct weak_cpu *k = of(c);

	for (uint32_t i = 0; i < k->nr_pointers; i++) {
		if (k->pointer[i].to == o) {
			join(&k->current, &k->pointer[i].read);
			return;
		}
	}
}

static void load_from(struct weak_cpu *k, int w, uint32_t store, uint8_t bytes)
{
	const struct message *m = message_of(w, store);
	uint8_t self = (uint8_t)(k - xk.cpus);
	bool others = false;

	for (uint32_t i = 0; i < 8; i++) {
		if ((bytes >> i & 1) && m->owner[i] != self && m->owner[i] != NOBODY)
			others = true;
	}
	if (others) {
		join(&k->read, &m->known);
		join(&k->strong, &m->strong);
		join(&xk.seen, &m->known);
	}
	if (k->current.at[w] < store)
		k->current.at[w] = (uint8_t)store;
}

/* Perform an atomic load. Return: the value. */
static uint64_t load(struct x_cpu *c, const struct x_op *op, uint32_t alt)
{
	struct weak_cpu *k = of(c);
	uint64_t val = x_mem_read(op->addr, op->size);

	for (uint64_t at = op->addr & ~7ull; at < op->addr + op->size; at += 8) {
		uint64_t from = at > op->addr ? at : op->addr;
		uint64_t end = op->addr + op->size < at + 8 ? op->addr + op->size : at + 8;
		int w = word_of(at, false);
		uint32_t store;

		if (w < 0)
			continue;
		store = xk.words[w].newest;
		if (in_one_word(op)) {
			if (!candidate(c, op, w, alt, &store))
				abort();
			val = cut(value_of(w, store), op->addr, op->size);
		}
		if (!store && xk.words[w].allocated)
			x_fail_at((int)(c - xw.cpus), "allocated memory is read before it is zero");
		load_from(k, w, store, bytes_of(from, (uint32_t)(end - from)));
	}
	if (op->mo == MO_ACQUIRE || op->mo > MO_RELEASE)
		join(&k->current, &k->read);
	if (op->size == 8)
		note_pointer(k, val);
	return val;
}

/* Record a store to a part of one word; memory contains it already or receives it at once. */
static void store_word(struct weak_cpu *k, uint64_t addr, uint32_t size, bool release)
{
	int w = word_of(addr, true);
	struct word *word = &xk.words[w];
	const struct message *old = message_of(w, word->newest);
	struct message *m = &xk.messages[xk.nr_messages];

	if (xk.nr_messages == MAX_MESSAGES || word->newest == MAX_STORES)
		give_up("too many stores");
	*m = (struct message){ .bytes = bytes_of(addr, size),
			       .known = old->known,
			       .strong = old->strong };
	memcpy(m->owner, old->owner, sizeof(m->owner));
	for (uint32_t i = 0; i < size; i++)
		m->owner[(addr & 7) + i] = (uint8_t)(k - xk.cpus);
	join(&k->strong, &m->strong);
	m->strong = k->strong;
	join(&m->known, &k->before);
	join(&m->known, &m->strong);
	if (release) {
		join(&m->known, &k->stored);
		join(&m->known, &k->read);
	}
	word->message[++word->newest] = (uint16_t)xk.nr_messages++;
	m->known.at[w] = (uint8_t)word->newest;
	k->current.at[w] = (uint8_t)word->newest;
	join(&k->stored, &m->known);
}

/* Record the value that memory now has as that of the newest store. */
static void settle(uint64_t addr)
{
	int w = word_of(addr, false);

	message_of(w, xk.words[w].newest)->val = x_mem_read(xk.words[w].addr, 8);
}

static void store(struct x_cpu *c, uint64_t addr, uint32_t size, int mo)
{
	uint32_t head = 8 - (uint32_t)(addr & 7);

	if (head > size)
		head = size;
	store_word(of(c), addr, head, mo >= MO_RELEASE);
	if (size > head)
		store_word(of(c), addr + head, size - head, mo >= MO_RELEASE);
}

static void write_memory(const struct x_op *op, uint64_t val)
{
	x_mem_write(op->addr, op->size, val);
	settle(op->addr);
	if (!in_one_word(op))
		settle((op->addr & ~7ull) + 8);
}

/* Perform a locked operation. Return: the value found, which is the newest. */
static uint64_t perform_rmw(struct x_cpu *c, const struct x_op *op, struct x_event *ev)
{
	struct weak_cpu *k = of(c);
	int w = word_of(op->addr, true);
	uint64_t val = op->val;

	ev->old = x_mem_read(op->addr, op->size);
	if (op->kind == X_RMW)
		val = sim_rmw_result(op->rmw, ev->old, op->val);
	if (op->mo == MO_SEQ_CST)
		full_barrier(k);
	if (op->mo != MO_RELAXED && op->mo != MO_RELEASE) {
		load_from(k, w, xk.words[w].newest, bytes_of(op->addr, op->size));
		join(&k->current, &k->read);
		note_pointer(k, ev->old);
	}
	store(c, op->addr, op->size, op->mo);
	write_memory(op, val);
	ev->val = x_mem_read(op->addr, op->size);
	if (op->mo == MO_SEQ_CST)
		full_barrier(k);
	return ev->old;
}

static uint64_t compare_exchange(struct x_cpu *c, const struct x_op *op, uint32_t alt,
				 struct x_event *ev)
{
	struct x_op failing = *op;

	if (!alt && x_mem_read(op->addr, op->size) == op->expected)
		return perform_rmw(c, op, ev);
	failing.mo = MO_RELAXED; /* a failed CAS orders nothing */
	ev->old = load(c, &failing, alt);
	ev->val = ev->old;
	ev->touch = X_TOUCH_READ;
	return ev->old;
}

uint64_t x_weak_perform(struct x_cpu *c, const struct x_op *op, uint32_t alt, struct x_event *ev)
{
	struct weak_cpu *k = of(c);

	ev->old_value = alt > 0;
	ev->val = op->val;
	if (op->ghost) {
		if (op->kind == X_STORE) {
			x_mem_write(op->addr, op->size, op->val);
			return 0;
		}
		join(&k->current, &xk.seen);
		join(&k->read, &xk.seen);
		ev->val = x_mem_read(op->addr, op->size);
		return ev->val;
	}
	switch (op->kind) {
	case X_LOAD:
		ev->val = load(c, op, alt);
		return ev->val;
	case X_STORE:
		if (op->mo == MO_SEQ_CST)
			full_barrier(k);
		store(c, op->addr, op->size, op->mo);
		write_memory(op, op->val);
		if (op->mo == MO_SEQ_CST)
			full_barrier(k);
		return 0;
	case X_RMW:
		return perform_rmw(c, op, ev);
	case X_CAS:
		return compare_exchange(c, op, alt, ev);
	default:
		full_barrier(k);
		return 0;
	}
}

/* ---- plain accesses ---- */

/* New memory of a body contained other data before; the allocator's zeroing is a plain store. */
void x_weak_allocated(struct x_cpu *c, uint64_t addr, uint32_t size)
{
	for (uint64_t at = addr; at < addr + size; at += 8) {
		store_word(of(c), at, 8, false);
		settle(at);
		xk.words[word_of(at, false)].allocated = true;
	}
}

/* Check whether another CPU has stored to these bytes without this CPU's knowledge. */
static void check_known(const struct weak_cpu *k, uint64_t addr, uint32_t size)
{
	int w = word_of(addr, false);
	uint8_t self = (uint8_t)(k - xk.cpus), bytes = bytes_of(addr, size);

	if (w < 0)
		return;
	for (uint32_t i = k->current.at[w] + 1u; i <= xk.words[w].newest; i++) {
		const struct message *m = message_of(w, i);
		uint8_t by = m->owner[__builtin_ctz(m->bytes)];

		if ((m->bytes & bytes) && by != self)
			x_fail_race(addr, by, self);
	}
}

#define for_each_word(at, n, addr, size)                                                    \
	for (uint64_t at = (addr), n;                                                       \
	     at < (addr) + (size) &&                                                        \
	     (n = 8 - (at & 7), n = n < (addr) + (size)-at ? n : (addr) + (size)-at, true); \
	     at += n)

void x_weak_plain_load(struct x_cpu *c, const struct x_op *op, uint64_t val)
{
	for_each_word(at, n, op->addr, op->size) check_known(of(c), at, (uint32_t)n);
	if (op->size == 8)
		note_pointer(of(c), val);
}

void x_weak_plain_store(struct x_cpu *c, const struct x_op *op)
{
	for_each_word(at, n, op->addr, op->size)
	{
		check_known(of(c), at, (uint32_t)n);
		store_word(of(c), at, (uint32_t)n, false);
	}
}

void x_weak_plain_stored(const struct x_op *op)
{
	for_each_word(at, n, op->addr, op->size) settle(at);
}
