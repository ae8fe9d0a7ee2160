/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * lines.h - which of the program's lines the model sees.
 *
 * A word for each line of memory says who has used it (lines.c). Most accesses end with one
 * comparison, because no other CPU has used the line so far.
 */
#ifndef EXACT_LINES_H
#define EXACT_LINES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "exact.h"
#include "model.h"

/*
 * The word of a line that nobody has used is 0. That of a line in the model is LINES_MODELLED with
 * the line's number in the arena. Else it is 2 * (number of its only CPU + 1), + 1 if it wrote.
 */
#define LINES_MODELLED 0x80000000u
#define LINES_READ     0x7ffffffeu /* several have read it, nobody has written since */
#define LINES_EARLY    0x7ffffffcu /* used before there was a second thread; + 1: written */
#define LINES_MOVED    0x7ffffff8u /* some of its bytes are in other lines of the arena */
#define LINES_WATCHED  0x7ffffff5u /* lines_mine of a thread that is watched; no line has it */

extern uint32_t *lines_word HIDDEN;

/*
 * The word of a line that only this thread's CPU has used, and has written; 0 if nothing is
 * recorded.
 */
extern _Thread_local uint32_t lines_mine HIDDEN __attribute__((tls_model("initial-exec")));

/* The simulated machine. */
extern struct model exact_model HIDDEN;

int lines_begin(void);

/** lines_real - the 'real' of struct sim_threads. */
uint64_t *const *lines_real(void);

/* How lines_slow() sees an access. */
#define LINES_WRITE    1u
#define LINES_VOLATILE 2u

/* The value of lines_mine, also while lines_mine itself is LINES_WATCHED. */
extern _Thread_local uint32_t lines_own HIDDEN __attribute__((tls_model("initial-exec")));

/* Send all accesses of the calling thread to lines_slow(), or stop that. */
static inline void lines_watch(bool all)
{
	lines_mine = all ? LINES_WATCHED : lines_own;
}

/** lines_thread - the calling thread's CPU is @cpu. No effect while there is only one thread. */
static inline void lines_thread(uint32_t cpu)
{
	if (exact.nr_threads == 1)
		return;
	lines_own = (cpu + 1) << 1 | 1;
	lines_watch(lines_mine == LINES_WATCHED);
}

/** lines_first - the calling thread is the only one. */
void lines_first(void);

/** lines_second - there is a second thread from now on. Called in the first thread. */
void lines_second(void);

/** lines_slow - lines_access() of lines that other CPUs have used, too. May switch fibers. */
void lines_slow(uint64_t at, uint32_t size, uint32_t how, const void *pc);

/** lines_range - access many bytes, and count the instructions of a copy. May switch fibers. */
void lines_range(const void *addr, uint64_t size, bool write, const void *pc);

/* The calling thread is about to access memory; @how: LINES_* or 0. May switch fibers. */
static inline void lines_access(const volatile void *addr, uint32_t size, uint32_t how,
				const void *pc)
{
	uint64_t at = (uint64_t)(uintptr_t)addr;
	uint32_t mine = lines_mine, word;

	if (__builtin_expect(!mine, false))
		return;
	word = lines_word[at >> 6];
	if (__builtin_expect((how & LINES_WRITE ? word : word | 1) == mine, true))
		return;
	lines_slow(at, size, how, pc);
}

static inline void lines_plain(const volatile void *addr, uint32_t size, bool write, const void *pc)
{
	lines_access(addr, size, write ? LINES_WRITE : 0, pc);
}

uint64_t lines_load(const volatile void *addr, uint32_t size, int mo, const void *pc);
void lines_store(volatile void *addr, uint32_t size, uint64_t value, int mo, const void *pc);
uint64_t lines_rmw(volatile void *addr, uint32_t size, enum sim_rmw_op op, uint64_t operand, int mo,
		   const void *pc);
bool lines_cas(volatile void *addr, uint32_t size, uint64_t *expected, uint64_t desired, int mo,
	       const void *pc);

/** lines_locked - a locked operation of 16 bytes; the caller performs it. May switch fibers. */
void lines_locked(volatile void *addr, const void *pc);

void lines_fence(int mo, const void *pc);

/** lines_json - set the sums of all lines in @into, then pass each one to @line, with @arg. */
void lines_json(json_t *into, void (*line)(json_t *line, void *arg), void *arg);

/** lines_counts - accesses that the model saw: loads, stores, locked ones. */
void lines_counts(uint64_t *loads, uint64_t *stores, uint64_t *locked);

#endif
