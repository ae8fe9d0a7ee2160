// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why most accesses need no model: one CPU alone uses most lines, and a line that nobody writes
 * stays where it is. So a line enters the model when a second CPU uses it and one of the two has
 * written it. The model then learns that the first CPU's core has the line, modified or not. Data
 * that the first thread wrote before there was a second thread is an exception. While all threads
 * only read such data, its lines stay outside of the model, and so does their one transfer to each
 * reader.
 *
 * The words of all lines are one sparse mapping, in which a page stands for 64 KiB of memory. The
 * command starts the process without address space randomisation, so that addresses repeat.
 */
#include "lines.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "arena.h"
#include "away.h"
#include "blocks.h"
#include "feed_lines.h"
#include "model.h"
#include "sim.h"
#include "sim_threads.h"
#include "spin.h"
#include "ways.h"

#define ADDRESS_BITS 47
/* Time of a free hit: not 0, so that no loop of hits stops the clock. */
#define FREE_PS	   1u
#define PAGE_SHIFT 12

extern const char __executable_start;

struct model exact_model;
static struct model own; /* the model as the machine's file describes it */

uint32_t *lines_word;

static uint16_t *page_cpu;  /* per page: the CPU that used it first, + 1 */
static uint32_t *rest_word; /* the words of LINES_MOVED lines for the bytes that stay */
static struct feed_lines lines;
static uint64_t *real; /* per line of the arena: the memory that it stands for */
static uint32_t nr_real;
static uint64_t *const *real_is = (uint64_t *const *)&real;
static uint64_t loads, stores, locked;

static void *sparse(uint64_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void mark_moved(const struct feed_pad *pad)
{
	for (uint64_t line = pad->low >> LINE_SHIFT; line <= (pad->high - 1) >> LINE_SHIFT; line++)
		lines_word[line] = LINES_MOVED;
}

uint64_t *const *lines_real(void)
{
	return real_is;
}

int lines_begin(void)
{
	const struct feed_setup *s = &exact.watch.setup;

	own = exact_model;
	lines_word = sparse((1ull << (ADDRESS_BITS - LINE_SHIFT)) * sizeof(*lines_word));
	page_cpu = sparse((1ull << (ADDRESS_BITS - PAGE_SHIFT)) * sizeof(*page_cpu));
	rest_word = s->nr_pads ? sparse((1ull << (ADDRESS_BITS - LINE_SHIFT)) * sizeof(*rest_word))
			       : lines_word;
	if (!lines_word || !page_cpu || !rest_word || feed_lines_init(&lines, s))
		return -1;
	for (uint32_t i = 0; i < s->nr_pads; i++)
		mark_moved(&s->pad[i]);
	return 0;
}

void lines_first(void)
{
	lines_mine = lines_own = LINES_EARLY | 1;
}

void lines_second(void)
{
	lines_own = (exact_self->cpu + 1) << 1 | 1;
	lines_mine = lines_own;
}

/* ---- into the model ---- */

static void stands_for(uint32_t line, uint64_t address)
{
	if (line >= nr_real) {
		uint32_t n = nr_real ? nr_real : 4096;

		while (n <= line)
			n *= 2;
		real = realloc(real, n * sizeof(*real));
		if (!real)
			abort();
		nr_real = n;
	}
	real[line] = address;
}

static char *simulated(uint64_t at)
{
	char *in = feed_lines_at(&lines, at);

	stands_for(arena_line(in), at - (uintptr_t)in % LINE_SIZE);
	return in;
}

/* @at: an address of the line; @word: the line's word */
static uint32_t modelled(uint64_t at, uint32_t *word)
{
	uint32_t cpu = page_cpu[at >> PAGE_SHIFT];
	uint32_t number;

	if (cpu)
		feed_lines_home(&lines, at, exact_node(cpu - 1));
	number = arena_line(simulated(at));
	*word = LINES_MODELLED | number;
	return number;
}

/*
 * Find the word of an access to a line that has moved bytes. The moved bytes and those that stay
 * are in separate lines with separate words, and like any other line each needs no model while one
 * CPU alone uses it.
 */
static uint32_t *word_of_part(uint64_t *at)
{
	uint64_t to = feed_lines_moved(&lines, *at);
	uint32_t *word = (to == *at ? rest_word : lines_word) + (to >> LINE_SHIFT);

	*at = to;
	return word;
}

/*
 * Update the line's word for this access. Return: the line's address in the model, or NULL if it is
 * not in the model, where the access costs only its instruction.
 */
static char *place(uint64_t at, bool write)
{
	uint32_t *word = &lines_word[at >> LINE_SHIFT], was;
	uint32_t cpu = sim_cpu();
	uint64_t to = at;

	if (*word == LINES_MOVED)
		word = word_of_part(&to);
	was = *word;
	if (was & LINES_MODELLED)
		return (char *)(uintptr_t)(ARENA_BASE +
					   ((uint64_t)(was & ~LINES_MODELLED) << LINE_SHIFT) +
					   to % LINE_SIZE);
	if (!was) {
		uint16_t *page = &page_cpu[at >> PAGE_SHIFT];

		if (!*page)
			*page = (uint16_t)(cpu + 1);
		*word = (lines_own & ~1u) | write;
		return NULL;
	}
	if ((was & ~1u) == (lines_own & ~1u)) {
		if (write && !(was & 1))
			*word |= 1;
		return NULL;
	}
	if (was == LINES_READ) {
		if (!write)
			return NULL;
		modelled(at, word);
	} else if ((was & ~1u) == LINES_EARLY) {
		*word = write || !cpu ? (cpu + 1) << 1 | write : LINES_READ;
		return NULL;
	} else if (!write && !(was & 1)) {
		*word = LINES_READ;
		return NULL;
	} else {
		sim_has_line(modelled(at, word), (was >> 1) - 1, was & 1);
	}
	return place(at, write);
}

/*
 * An access by this library, such as that of a lock, counts at the call of the library. The call
 * has at least two bytes, so reads can count at the last one, and writes at the one before.
 */
static const void *counter(const void *pc, bool write)
{
	const void *from = ways_own(pc) && exact_self->from ? exact_self->from : pc;
	uint64_t at = (uint64_t)(uintptr_t)from - 1 - (from != pc && write);

	return (const char *)&__executable_start + (ways_mine ? ways_site(at) : at);
}

/*
 * Take the instructions that follow an access in its block out of the count until the access is
 * done. An access that hits, and is not near one that missed, takes no time beyond its instruction,
 * as if the line were private. Return: how many instructions.
 */
static uint32_t later(const void *pc)
{
	uint32_t n = blocks_after(pc);

	if (n > exact_ran)
		n = exact_ran;
	exact_ran -= n;
	sched_work(0);
	exact_model.load_hit = exact_near ? own.load_hit : FREE_PS;
	exact_model.forward = exact_near ? own.forward : FREE_PS;
	exact_model.store = exact_near ? own.store : FREE_PS;
	return n;
}

/* Count an access that the model saw. @rest: what later() returned */
static void note(const char *in, uint32_t size, bool write, const void *pc, uint32_t rest)
{
	if (feed_lines_note(&lines, sim_cpu(), in, size, write, counter(pc, write)))
		exact_near = FEED_NEAR;
	exact_ran += rest;
	if (away_since)
		away_leave();
}

static void plain(uint64_t at, uint32_t size, uint32_t how, const void *pc)
{
	bool write = how & LINES_WRITE;
	char *in = place(at, write);
	uint32_t rest;

	if (write)
		spin_wrote((void *)(uintptr_t)at);
	else
		spin_event((void *)(uintptr_t)at);
	if (!in)
		return;
	*(write ? &stores : &loads) += 1;
	rest = later(pc);
	sim_plain(in, size, write, counter(pc, write));
	note(in, size, write, pc, rest);
}

void lines_slow(uint64_t at, uint32_t size, uint32_t how, const void *pc)
{
	if (at >> ADDRESS_BITS)
		return; /* the program is about to fail by itself */
	while (size) {
		uint32_t part = LINE_SIZE - at % LINE_SIZE;

		if (part > size)
			part = size;
		plain(at, part, how, pc);
		at += part;
		size -= part;
	}
}

void lines_range(const void *addr, uint64_t size, bool write, const void *pc)
{
	uint64_t at = (uint64_t)(uintptr_t)addr;

	/* One instruction per 32 bytes, the size of a vector register. */
	sched_work((uint32_t)(size / 32 + 1));
	while (size) {
		uint64_t part = LINE_SIZE - at % LINE_SIZE;

		if (part > size)
			part = size;
		lines_plain((const void *)(uintptr_t)at, (uint32_t)part, write, pc);
		at += part;
		size -= part;
	}
}

/* ---- atomics ---- */

static char *atomic_place(const volatile void *addr, bool write)
{
	return place((uint64_t)(uintptr_t)addr, write);
}

uint64_t lines_load(const volatile void *addr, uint32_t size, int mo, const void *pc)
{
	char *in = atomic_place(addr, false);
	uint64_t value;
	uint32_t rest;

	spin_event(addr);
	if (!in)
		return sim_raw_read(addr, size);
	rest = later(pc);
	loads++;
	value = sim_load(in, size, mo, counter(pc, false));
	note(in, size, false, pc, rest);
	return value;
}

/*
 * Begin a locked operation. If the line is not in the model, threads that are behind run first, and
 * may bring it there. @loop: instructions that its cost includes; @rest: the result of later().
 * Return: the line's address in the model, or NULL if it is not there; then the cost is charged.
 */
static char *locked_place(volatile void *addr, uint32_t loop, const void *pc, uint32_t *rest)
{
	char *in = atomic_place(addr, true);

	*rest = later(pc);
	if (in)
		return in;
	sim_locked_alone();
	exact_free = loop;
	/* Other threads had their turn, and may have brought the line into the model. */
	in = atomic_place(addr, true);
	if (!in)
		exact_ran += *rest;
	return in;
}

void lines_store(volatile void *addr, uint32_t size, uint64_t value, int mo, const void *pc)
{
	uint32_t rest = 0;
	char *in;

	if (mo == __ATOMIC_SEQ_CST) {
		in = locked_place(addr, EXACT_FREE, pc, &rest);
	} else {
		in = atomic_place(addr, true);
		if (in)
			rest = later(pc);
	}
	spin_wrote(addr);
	if (!in) {
		sim_raw_write(addr, size, value);
		return;
	}
	stores++;
	sim_store(in, size, value, mo, counter(pc, true));
	note(in, size, true, pc, rest);
}

/* A locked operation that leaves the value as it was counts as a read. */
static void changed(volatile void *addr, bool value)
{
	if (value)
		spin_wrote(addr);
	else
		spin_event(addr);
}

/* The model saw a locked operation. */
static void note_locked(const char *in, uint32_t size, const void *pc, uint32_t rest, uint32_t loop)
{
	locked++;
	exact_free = loop;
	note(in, size, true, pc, rest);
}

uint64_t lines_rmw(volatile void *addr, uint32_t size, enum sim_rmw_op op, uint64_t operand, int mo,
		   const void *pc)
{
	uint32_t rest;
	char *in = locked_place(addr, EXACT_FREE, pc, &rest);
	uint64_t old;

	if (!in) {
		old = sim_raw_rmw(addr, size, op, operand);
		changed(addr, old != sim_rmw_result(op, old, operand));
		return old;
	}
	old = sim_rmw(in, size, op, operand, mo, counter(pc, true));
	changed(addr, old != sim_rmw_result(op, old, operand));
	note_locked(in, size, pc, rest, EXACT_FREE);
	return old;
}

bool lines_cas(volatile void *addr, uint32_t size, uint64_t *expected, uint64_t desired, int mo,
	       const void *pc)
{
	uint32_t rest;
	char *in = locked_place(addr, EXACT_FREE_SWAP, pc, &rest);
	bool done;

	if (!in) {
		done = sim_raw_cas(addr, size, expected, desired);
		changed(addr, done && *expected != desired);
		return done;
	}
	done = sim_cas(in, size, expected, desired, mo, counter(pc, true));
	changed(addr, done && *expected != desired);
	note_locked(in, size, pc, rest, EXACT_FREE_SWAP);
	return done;
}

void lines_locked(volatile void *addr, const void *pc)
{
	uint32_t rest;
	char *in = locked_place(addr, EXACT_FREE, pc, &rest);

	if (in)
		sim_rmw(in, 8, SIM_RMW_OR, 0, __ATOMIC_SEQ_CST, counter(pc, true));
	if (in)
		note_locked(in, 16, pc, rest, EXACT_FREE_SWAP);
}

void lines_fence(int mo, const void *pc)
{
	sched_work(0);
	sim_fence(mo, pc);
}

/* ---- the result ---- */

bool access_contended(uint64_t line);
bool access_page_contended(uint64_t place);
/* record/program/heap.c asks these, because the report names only objects on contended lines. */
bool access_contended(uint64_t line)
{
	uint32_t word;

	if (line >> (ADDRESS_BITS - LINE_SHIFT))
		return false;
	word = lines_word[line];
	return word & LINES_MODELLED || word == LINES_MOVED;
}

bool access_page_contended(uint64_t place)
{
	for (uint64_t at = place; at < place + (1ull << PAGE_SHIFT); at += LINE_SIZE)
		if (access_contended(at >> LINE_SHIFT))
			return true;
	return false;
}

/* heap.c and notes.c of record/program/ call this: here a place in memory is its address. */
uint64_t pages_find(uint64_t address);
uint64_t pages_find(uint64_t address)
{
	return address;
}

uint64_t pages_name(uint64_t address);
uint64_t pages_name(uint64_t address)
{
	return address;
}

uint32_t pages_tenants(void);
uint32_t pages_tenants(void)
{
	return 0;
}

void lines_counts(uint64_t *l, uint64_t *s, uint64_t *r)
{
	*l = loads;
	*s = stores;
	*r = locked;
}

void lines_json(json_t *into, void (*line)(json_t *line, void *arg), void *arg)
{
	feed_lines_json(&lines, &exact_model, into, line, arg);
}
